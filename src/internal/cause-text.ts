import { shown } from "./shown.js";

/** What is known of a thrown value, whoever threw it. */
interface Thrown {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly errors?: readonly unknown[];
  readonly $metadata?: { readonly httpStatusCode?: unknown };
}

// They say nothing of their own.
const PLAIN_NAMES = ["Error", "AggregateError"];

/**
 * What an error underneath says, for the message of the one above it: ` (NAME: message)`, cut; the empty text
 * where it says nothing. Pure.
 */
export function causeText(cause: unknown): string {
  const { name, code, message, errors, $metadata } = (cause ?? {}) as Thrown;
  // Ours: the call was ended from outside.
  if (name === "AbortError") return "";
  const status = $metadata?.httpStatusCode;
  // One connection was tried to each address of a host; the first failure says as much as all.
  const inner = message === "" ? (errors?.[0] as Thrown | undefined)?.message : undefined;
  const said = firstLine(inner ?? message);
  const title = [code, name].find(
    (text) => typeof text === "string" && !PLAIN_NAMES.includes(text) && !said.includes(text),
  );
  const parts = [
    typeof status === "number" && status !== 200 ? `HTTP status ${status}` : "",
    typeof title === "string" ? title : "",
    said,
  ];
  const text = parts.filter((part) => part !== "").join(": ");
  return text === "" ? "" : ` (${shown(text)})`;
}

// The SDK puts advice for its own developers below.
function firstLine(message: unknown): string {
  if (typeof message !== "string") return "";
  const [line = ""] = message.split("\n", 1);
  return line.trim().replace(/\.$/, "");
}
