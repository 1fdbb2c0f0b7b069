/** Returns the text of any value for a message. `String()` throws for some objects, and a template for a symbol. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return Object(value) === value ? "an object" : String(value);
}
