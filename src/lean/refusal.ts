import { parseBody } from "./wire.js";

/** What a refusal says of itself, by header or in its body. */
interface Told {
  readonly __type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly Message?: unknown;
}

/** An answer of the service's that is no success, of the same shape as an SDK client's error. */
class Refusal extends Error {
  readonly $metadata: { readonly httpStatusCode: number; readonly attempts: 1 };

  constructor(name: string, message: string, httpStatusCode: number, details: object) {
    super(message);
    Object.assign(this, details);
    this.name = name;
    this.$metadata = { httpStatusCode, attempts: 1 };
  }
}

/** The error that an answer with this status stands for. Pure. */
export function refusalOf(status: number, type: string | undefined, text: string): Error {
  let told: Told & object = {};
  try {
    told = parseBody(text);
  } catch {
    // Half an answer, or a proxy's page. The SDK's client has the same name for it.
    told = { code: "SyntaxError", message: "The answer is no JSON object." };
  }
  const { __type, code, message, Message, ...details } = told;
  const name = nameIn(type ?? code ?? __type) ?? "UnknownError";
  return new Refusal(name, String(message ?? Message ?? `HTTP status ${status}.`), status, details);
}

/** `com.amazonaws.dynamodb.v20120810#Name`, or `Name:http://...`, as the name alone. */
function nameIn(type: unknown): string | undefined {
  if (typeof type !== "string") return undefined;
  const name = type.split(",")[0]?.split(":")[0]?.split("#").at(-1);
  return name === "" ? undefined : name;
}
