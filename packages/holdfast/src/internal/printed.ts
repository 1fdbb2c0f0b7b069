type Inspect = (value: unknown, options: unknown) => string;

/**
 * Makes an object readable in a log: `console.log` prints `label` and these facts, and `JSON.stringify` writes the facts.
 * Private fields print as nothing.
 */
export function printAs(target: object, label: string, facts: () => object): void {
  const print = (_depth: unknown, options: unknown, inspect: Inspect): string =>
    `${label} ${inspect(facts(), options)}`;
  Object.defineProperty(target, Symbol.for("nodejs.util.inspect.custom"), { value: print });
  Object.defineProperty(target, "toJSON", { value: () => withDigits(facts()) });
}

/**
 * Makes `JSON.stringify` write the BigInts of a result or an event as strings of digits. `JSON.stringify` throws for a
 * BigInt. Returns the same object.
 */
export function serialisable<T extends object>(facts: T): T {
  return Object.defineProperty(facts, "toJSON", { value: () => withDigits(facts) });
}

function withDigits(facts: object): object {
  const written = Object.entries(facts).map(([key, value]) => [
    key,
    typeof value === "bigint" ? String(value) : value,
  ]);
  return Object.fromEntries(written);
}
