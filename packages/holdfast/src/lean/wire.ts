import type { AttributeValue, Item } from "../platform/table.js";

/** The members of an output or refusal that contain attribute values. */
interface Body {
  Attributes?: Item;
  Item?: Item;
  Items?: Item[];
  LastEvaluatedKey?: Item;
  CancellationReasons?: { Item?: Item | null }[];
}

/** An input as DynamoDB's JSON, in which bytes are base64. Pure. */
export function bodyOf(input: object): string {
  // JSON.stringify calls a replacer for every value, so the replacer is used only for input with bytes.
  return holdsBytes(input) ? JSON.stringify(input, asBase64) : JSON.stringify(input);
}

/** Parses a body of DynamoDB's JSON. Throws for text other than a JSON object. Pure. */
export function parseBody(text: string): object {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null)
    throw new SyntaxError("The text is not a JSON object.");
  const body = parsed as Body;
  const refused = body.CancellationReasons?.map(({ Item: item }) => item) ?? [];
  const single = [body.Attributes, body.Item, body.LastEvaluatedKey];
  for (const item of [...single, ...(body.Items ?? []), ...refused]) {
    if (item !== undefined && item !== null) decode(item);
  }
  return body;
}

function holdsBytes(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ArrayBuffer.isView(value) || Object.values(value).some(holdsBytes);
}

// Reads the bytes from their parent: JSON.stringify has already called a Buffer's `toJSON`.
function asBase64(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const own = this[key];
  if (!ArrayBuffer.isView(own)) return value;
  return Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("base64");
}

/** Replaces base64 by bytes in a parsed body. */
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
