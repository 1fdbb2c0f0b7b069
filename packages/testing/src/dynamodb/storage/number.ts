import { withoutZerosAtEnd } from "../../zeros.js";
import { invalid } from "../errors.js";

/**
 * DynamoDB's numbers: exact decimals of up to 38 significant digits. A double would silently be wrong above
 * 2^53.
 */
interface Decimal {
  readonly digits: bigint;
  /** The value is `digits` times ten to the power of this. */
  readonly exponent: number;
}

const NUMBER = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const SIMPLE_INTEGER = /^(?:0|-?[1-9]\d{0,37})$/;
const MOST_DIGITS = 38;
const LARGEST_MAGNITUDE = 125;
const SMALLEST_MAGNITUDE = -130;
const LARGEST_EXPONENT_READ = 2 ** 31 - 1;

/** The digits without the zeros at their end, which only move the point. */
function trimmed(digits: bigint, exponent: number): Decimal {
  if (digits === 0n) return { digits, exponent: 0 };
  const text = digits.toString();
  const kept = withoutZerosAtEnd(text);
  return { digits: BigInt(kept), exponent: exponent + text.length - kept.length };
}

function parse(text: string): Decimal {
  const match = NUMBER.exec(text);
  if (match === null) throw invalid("A value provided cannot be converted into a number");
  const [, sign = "", whole = "", fraction = "", power = "0"] = match;
  const exponent = Number(power);
  if (Math.abs(exponent) > LARGEST_EXPONENT_READ) {
    throw invalid("A value provided cannot be converted into a number");
  }
  const digits = BigInt(whole + fraction);
  return trimmed(sign === "-" ? -digits : digits, exponent - fraction.length);
}

function countDigits(digits: bigint): number {
  return (digits < 0n ? -digits : digits).toString().length;
}

function inRange(value: Decimal): Decimal {
  if (value.digits === 0n) return value;
  const length = countDigits(value.digits);
  const magnitude = length - 1 + value.exponent;
  if (magnitude > LARGEST_MAGNITUDE) {
    throw invalid(
      "Number overflow. Attempting to store a number with magnitude larger than supported range",
    );
  }
  if (magnitude < SMALLEST_MAGNITUDE) {
    throw invalid(
      "Number underflow. Attempting to store a number with magnitude smaller than supported range",
    );
  }
  if (length > MOST_DIGITS) throw invalid("DynamoDB only supports precision up to 38 digits");
  return value;
}

function print(value: Decimal): string {
  const sign = value.digits < 0n ? "-" : "";
  const digits = (value.digits < 0n ? -value.digits : value.digits).toString();
  if (value.exponent >= 0) return sign + digits + "0".repeat(value.exponent);
  const places = -value.exponent;
  const padded = digits.padStart(places + 1, "0");
  return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}`;
}

/** Brings both numbers to the same exponent, so that their digits can be compared and added. */
function aligned(left: Decimal, right: Decimal): readonly [bigint, bigint, number] {
  const exponent = Math.min(left.exponent, right.exponent);
  const scaled = (value: Decimal): bigint =>
    value.digits * 10n ** BigInt(value.exponent - exponent);
  return [scaled(left), scaled(right), exponent];
}

/** The normal form of a number; throws where DynamoDB would refuse the number. */
export function normalNumber(text: string): string {
  return SIMPLE_INTEGER.test(text) ? text : print(inRange(parse(text)));
}

// Most numbers are, and the other arithmetic takes a thirtieth of a simulation.
function areSimple(left: string, right: string): boolean {
  return SIMPLE_INTEGER.test(left) && SIMPLE_INTEGER.test(right);
}

/** Returns -1 if `left` is less than `right`, 0 if both are equal, and 1 if `left` is greater. */
export function compareNumbers(left: string, right: string): number {
  const [leftDigits, rightDigits] = areSimple(left, right)
    ? [BigInt(left), BigInt(right)]
    : aligned(parse(left), parse(right));
  return leftDigits < rightDigits ? -1 : leftDigits > rightDigits ? 1 : 0;
}

/** The exact sum; throws if the sum needs more than 38 digits. */
export function addNumbers(left: string, right: string): string {
  if (areSimple(left, right)) return normalNumber(String(BigInt(left) + BigInt(right)));
  const [leftDigits, rightDigits, exponent] = aligned(parse(left), parse(right));
  return print(inRange(trimmed(leftDigits + rightDigits, exponent)));
}

/** The exact difference; throws if the difference needs more than 38 digits. */
export function subtractNumbers(left: string, right: string): string {
  return addNumbers(left, right.startsWith("-") ? right.slice(1) : `-${right}`);
}

/** The size of a number in an item, in bytes: one byte for two digits, plus one or two. */
export function numberBytes(text: string): number {
  const { digits, exponent } = parse(text);
  if (digits === 0n) return 1;
  // Digits are stored in pairs from the decimal point, so a number may need one pair more than half its digits.
  const length = countDigits(digits) + (exponent % 2 === 0 ? 0 : 1);
  return Math.ceil(length / 2) + 1 + (digits < 0n ? 1 : 0);
}
