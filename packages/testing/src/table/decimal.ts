import { HoldfastError } from "holdfast";

/**
 * DynamoDB's numbers: decimals of up to 38 digits, compared and added exactly. A fence in a double would
 * silently be wrong above 2^53, and the test table exists to find such faults.
 */
interface Decimal {
  readonly digits: bigint;
  /** The value of the number is `digits` times 10 to the power of `exponent`. */
  readonly exponent: number;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;
const PLAIN_INTEGER = /^(?:0|-?[1-9]\d{0,37})$/;
const MOST_DIGITS = 38;

function refuse(text: string, why: string): never {
  throw new HoldfastError("misconfigured", `The number ${JSON.stringify(text)} ${why}.`);
}

// Most numbers are, and the loops below take a thirtieth of a simulation.
function arePlain(left: string, right: string): boolean {
  return PLAIN_INTEGER.test(left) && PLAIN_INTEGER.test(right);
}

function parse(text: string): Decimal {
  const match = DECIMAL.exec(text);
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match ?? [];
  if (match === null || whole + fraction === "") refuse(text, "cannot be read");
  const digits = BigInt(whole + fraction);
  return trim(sign === "-" ? -digits : digits, Number(exponent) - fraction.length);
}

function trim(digits: bigint, exponent: number): Decimal {
  if (digits === 0n) return { digits, exponent: 0 };
  let [left, power] = [digits, exponent];
  while (left % 10n === 0n) {
    left /= 10n;
    power += 1;
  }
  return { digits: left, exponent: power };
}

/** Brings both numbers to the same exponent, so that their digits can be compared and added. */
function align(left: Decimal, right: Decimal): readonly [bigint, bigint, number] {
  const exponent = Math.min(left.exponent, right.exponent);
  const scaled = (value: Decimal): bigint =>
    value.digits * 10n ** BigInt(value.exponent - exponent);
  return [scaled(left), scaled(right), exponent];
}

function print(value: Decimal): string {
  const negative = value.digits < 0n;
  const digits = (negative ? -value.digits : value.digits).toString();
  const sign = negative ? "-" : "";
  if (value.exponent >= 0) return sign + digits + "0".repeat(value.exponent);
  const places = -value.exponent;
  const padded = digits.padStart(places + 1, "0");
  return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}`;
}

/** Returns the normal form of a number. Throws if DynamoDB would refuse the number. */
export function normalDecimal(text: string): string {
  if (PLAIN_INTEGER.test(text)) return text;
  const value = parse(text);
  const length = value.digits.toString().replace("-", "").length;
  if (length > MOST_DIGITS) refuse(text, `has more than ${MOST_DIGITS} digits`);
  const magnitude = length + value.exponent;
  if (value.digits !== 0n && (magnitude > 126 || magnitude < -129)) refuse(text, "is out of range");
  return print(value);
}

/** Returns -1 if `left` is less than `right`, 0 if both are equal, and 1 if `left` is greater. */
export function compareDecimals(left: string, right: string): number {
  const [leftDigits, rightDigits] = arePlain(left, right)
    ? [BigInt(left), BigInt(right)]
    : align(parse(left), parse(right));
  return leftDigits < rightDigits ? -1 : leftDigits > rightDigits ? 1 : 0;
}

/** Adds a whole number, by default one, exactly. */
export function sum(text: string, by = 1): string {
  if (arePlain(text, String(by))) return normalDecimal(String(BigInt(text) + BigInt(by)));
  const [digits, added, exponent] = align(parse(text), { digits: BigInt(by), exponent: 0 });
  return normalDecimal(print(trim(digits + added, exponent)));
}
