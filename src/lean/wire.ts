import type { AttributeValue, Item } from "../platform/table.js";

/** An output, or the body of a refusal, as far as it holds values. */
interface Body {
  Attributes?: Item;
  Item?: Item;
  Items?: Item[];
  LastEvaluatedKey?: Item;
}

/** An input as DynamoDB's JSON, in which bytes are base64. Pure. */
export function bodyOf(input: object): string {
  // A replacer is asked about every value: only where there is one to replace.
  return holdsBytes(input) ? JSON.stringify(input, asBase64) : JSON.stringify(input);
}

/** What a body of DynamoDB's JSON says. Throws for what is no JSON object. Pure. */
export function parseBody(text: string): object {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null) throw new SyntaxError("It is no JSON object.");
  const body = parsed as Body;
  for (const item of [body.Attributes, body.Item, body.LastEvaluatedKey, ...(body.Items ?? [])]) {
    if (item !== undefined) decode(item);
  }
  return body;
}

function holdsBytes(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ArrayBuffer.isView(value) || Object.values(value).some(holdsBytes);
}

// Bytes are asked for where they stand: a Buffer's own `toJSON` would have been called before.
function asBase64(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const own = this[key];
  if (!ArrayBuffer.isView(own)) return value;
  return Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("base64");
}

/** Puts bytes in the place of base64, in what was just parsed. */
function decode(values: Item | AttributeValue[]): void {
  const within = values as Record<string, AttributeValue>;
  for (const [at, value] of Object.entries(within)) {
    if ("B" in value) within[at] = { B: bytesOf(value.B) };
    else if ("BS" in value) within[at] = { BS: value.BS.map(bytesOf) };
    else if ("M" in value) decode(value.M);
    else if ("L" in value) decode(value.L as AttributeValue[]);
  }
}

// Parsed and not yet decoded, bytes are a string; copied, since a Buffer's memory is shared.
function bytesOf(base64: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(base64 as string, "base64"));
}
