import { HoldfastError } from "../errors.js";

/** The names of the options of one call. An object, so that the compiler refuses a missing name and a wrong name. */
export type OptionNames<O> = { readonly [K in keyof O]-?: true };

/**
 * Throws `invalid-argument` unless `options` is an object with known names only. Without this check a misspelt `lease`
 * would leave the default in place, and nothing would say so. `call` names the function for people, as `acquire()`. Also
 * checks the option `signal`, which means the same everywhere, so that no function that takes it can forget to.
 */
export function checkNames<O extends object>(call: string, options: O, known: OptionNames<O>): O {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw refuse(`The options of ${call} must be an object.`);
  }
  const isKnown = known as Readonly<Record<string, unknown>>;
  // Inherited members, such as `constructor`, are not `true`.
  const unknown = Object.keys(options).find((name) => isKnown[name] !== true);
  if (unknown === undefined) {
    const { signal } = options as { readonly signal?: unknown };
    if (signal === undefined || signal instanceof AbortSignal || isKnown["signal"] !== true)
      return options;
    throw refuse("The option `signal` must be an AbortSignal.");
  }
  const names = Object.keys(known).map((name) => `\`${name}\``);
  throw refuse(
    `The option \`${unknown}\` of ${call} does not exist. The options are ${names.join(", ")}.`,
  );
}

function refuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
