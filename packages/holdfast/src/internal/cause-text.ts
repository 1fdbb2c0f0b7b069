import { shown } from "./shown.js";

/** The members of a thrown value that are read. */
interface Thrown {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly errors?: readonly unknown[];
  readonly $metadata?: { readonly httpStatusCode?: unknown };
}

// Names without information.
const PLAIN_NAMES = ["Error", "AggregateError"];

/**
 * Describes an underlying error for the message of the error that wraps it: ` (NAME: message)`, cut to one line.
 * Pure. Returns the empty string for an error without information.
 */
export function causeText(cause: unknown): string {
  try {
    return textOf(cause);
  } catch {
    // A program can throw an object whose getters throw. That must not end what reports it.
    return "";
  }
}

function textOf(cause: unknown): string {
  const { name, code, message = cause, errors, $metadata } = (cause ?? {}) as Thrown;
  // The library's own abort: the caller or a timeout ended the call.
  if (name === "AbortError") return "";
  const status = $metadata?.httpStatusCode;
  // The runtime tried each address of a host. The first failure says as much as all failures.
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

/** Describes why a service does not answer: ` at ENDPOINT (CAUSE)`, each part if known. Pure. */
export function noAnswerText(answer: {
  readonly cause?: unknown;
  readonly endpoint?: string | undefined;
}): string {
  const { cause, endpoint } = answer;
  const at = endpoint === undefined ? "" : ` at ${shown(endpoint)}`;
  return `${at}${causeText(cause)}`;
}

// The SDK adds advice for its developers below the first line.
function firstLine(message: unknown): string {
  if (typeof message !== "string") return "";
  const [line = ""] = message.split("\n", 1);
  return line.trim().replace(/\.$/, "");
}
