import { HoldfastError } from "../errors.js";
import { valueText } from "./value-text.js";

/**
 * The names of the options of one call; `"flag"`: the value is true or false. An object, so that the compiler refuses a
 * missing name and a wrong one.
 */
export type OptionNames<O> = { readonly [K in keyof O]-?: true | "flag" };

/** Joins names. A bundler drops a pure call that nobody uses, but no object that is made by spreading others. */
export function withNames<A extends object, const B extends object, const C extends object>(
  some: A,
  more: B,
  others?: C,
): A & B & C {
  return { ...some, ...more, ...(others as C) };
}

/**
 * Throws `invalid-argument` unless `options` is an object with known names only. Without this check a misspelt `lease`
 * would leave the default in place, and nothing would say so. `call` names the function for people, as `acquire()`. Also
 * checks the option `signal`, which means the same everywhere, so that no function that takes it can forget to.
 */
export function checkNames<O extends object>(call: string, options: O, known: OptionNames<O>): O {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw refuse(`The options of ${call} must be an object.`);
  }
  for (const [name, value] of Object.entries(options)) {
    const kind = (known as Readonly<Record<string, unknown>>)[name];
    // Inherited members, such as `constructor`, are neither.
    if (kind !== true && kind !== "flag") {
      const names = Object.keys(known).join("`, `");
      throw refuse(
        `The option \`${name}\` of ${call} does not exist. The options are \`${names}\`.`,
      );
    }
    const isRight =
      name === "signal"
        ? value instanceof AbortSignal
        : kind === true || typeof value === "boolean";
    // A text such as "false" would count as true.
    if (value === undefined || isRight) continue;
    throw refuse(
      `The option \`${name}\` must be ${kind === true ? "an AbortSignal" : "true or false"}.`,
    );
  }
  return options;
}

/** Throws `invalid-argument` for a value that is neither a function nor undefined. */
export function checkCallback<F>(option: string, value: F): F {
  if (value === undefined || typeof value === "function") return value;
  throw refuse(`The option \`${option}\` must be a function.`);
}

/** Throws `invalid-argument` for a value that is none of these words. */
export function checkOneOf<T extends string>(option: string, value: T, words: readonly T[]): T {
  if (words.includes(value)) return value;
  const must = words.map((word) => `"${word}"`).join(" or ");
  throw refuse(`The option \`${option}\` must be ${must}; it is ${valueText(value)}.`);
}

/** The error for a wrong argument or option. */
export function refuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
