import { parseBody } from "./wire.js";

/** The error in a refusal's header or body. */
interface Told {
  readonly __type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly Message?: unknown;
}

/** A refusal by the service, in the shape of an SDK error. */
class Refusal extends Error {
  readonly $metadata: { readonly httpStatusCode: number; readonly attempts: 1 };

  constructor(name: string, message: string, httpStatusCode: number, details: object) {
    super(message);
    Object.assign(this, details);
    this.name = name;
    this.$metadata = { httpStatusCode, attempts: 1 };
  }
}

/** Makes the error for an answer with this status; `type` is from the answer's header, if there is one. Pure. */
export function refusalOf(status: number, type: string | undefined, text: string): Error {
  let told: Told & object = {};
  try {
    told = parseBody(text);
  } catch {
    // A truncated answer, or a proxy's page. The SDK uses the same name. A type in the header changes nothing: without
    // its item, a refused condition says nothing about the record.
    return new Refusal("SyntaxError", "The answer is no JSON object.", status, {});
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
