type Inspect = (value: unknown, options: unknown) => string;

/**
 * Makes an object readable in a log: `console.log` prints `label` and these facts, and `JSON.stringify` writes the facts.
 * Private fields print as nothing, and `JSON.stringify` throws for a fence, which is a BigInt.
 */
export function printAs(target: object, label: string, facts: () => object): void {
  const print = (_depth: unknown, options: unknown, inspect: Inspect): string =>
    `${label} ${inspect(facts(), options)}`;
  Object.defineProperty(target, Symbol.for("nodejs.util.inspect.custom"), { value: print });
  writeAs(target, facts);
}

/** As {@link printAs}, for `JSON.stringify` alone: a BigInt becomes a string of digits. */
export function writeAs(target: object, facts: () => object): void {
  Object.defineProperty(target, "toJSON", { value: () => withDigits(facts()) });
}

function withDigits(facts: object): object {
  const written = Object.entries(facts).map(([key, value]) => [
    key,
    typeof value === "bigint" ? String(value) : value,
  ]);
  return Object.fromEntries(written);
}
