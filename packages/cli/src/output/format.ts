import type { FormatTypes, LockName } from "@holdfast/formats";
import type { Inspection } from "holdfast";
import { usageError } from "./exit-codes.js";
import { seconds } from "./output.js";

/** The options for the format of records and the names of keys, in commander's form. */
export interface FormatOptions {
  readonly format?: string;
  readonly pk?: string;
  readonly sk?: string;
  readonly longestLease?: string;
  readonly maxClockSkew?: string;
  readonly fences?: string;
  readonly observations?: string;
}

/** Which part of a name of two the command's argument is not. */
export interface SortOptions {
  readonly sort?: string;
}

/** The formats of locks, by their `--format` names. */
export const LOCK_FORMATS = [
  "native",
  "aws-lock-client",
  "dynamolock",
  "dynamodb-lease",
  "lock-client-fail-open",
] as const;

/** Locks of any format, without the members of unsupported features. */
export type AnyLocks = FormatTypes;

/** The name of the lock: a composite name with `--sort`. */
export function nameOf(name: string, { sort }: SortOptions): LockName {
  return sort === undefined ? name : [name, sort];
}

/** A name for people. */
export function nameText(name: LockName): string {
  return typeof name === "string" ? name : name.join("/");
}

/** A lock in readable form: name, and namespace if any. */
export function lockText({ name, namespace }: Inspection<AnyLocks>): string {
  return `${nameText(name)}${inNamespace(namespace)}`;
}

/** The namespace after a name, for formats with several locks of one name. */
export function inNamespace(namespace: string | undefined): string {
  return namespace === undefined ? "" : ` in the namespace "${namespace}"`;
}

/** When a lease ends, or since when it is over, from the milliseconds until its end. */
export function endText(endsInMs: number): string {
  return endsInMs > 0 ? `in ${seconds(endsInMs)}` : `${seconds(-endsInMs)} ago`;
}

/** The request to the present holder, in words that follow its label. Pure. */
export function requestText({
  request,
}: Pick<Inspection<AnyLocks>, "request">): string | undefined {
  if (request === undefined) return undefined;
  const { kind, by } = request;
  return by === undefined ? ASKED[kind] : `${ASKED[kind]} by ${by}`;
}

const ASKED = Object.freeze({
  interrupt: "interrupted",
  announced: "wanted",
  release: "asked to release",
  resign: "asked to resign",
  prefer: "a preferred candidate stands by",
});

/** The request to the present holder, and what its lock is owed, in words that follow its label. Pure. */
export function pendingText(found: Pending): string | undefined {
  const texts = [requestText(found), found.isOwed === true ? OWED : undefined];
  return texts.filter((text) => text !== undefined).join("; ") || undefined;
}

type Pending = Pick<Inspection<AnyLocks>, "request" | "isOwed">;

/** Calls of `coalesce()` wait for a run. */
export const OWED = "a run is owed";

/** The request and the debt after the state or the label of a holder. */
export function withPending(text: string, found: Pending): string {
  const pending = pendingText(found);
  return pending === undefined ? text : `${text}; ${pending}`;
}

/** User data from the command line: text for native records, bytes for formats of other clients. */
export function dataOf(text: string | undefined, { format = "native" }: FormatOptions): unknown {
  if (text === undefined || format === "native") return text;
  return new TextEncoder().encode(text);
}

/** User data in readable form: JSON, or bytes as text if possible, else as hexadecimal digits. */
export function dataText(data: unknown): string {
  if (!(data instanceof Uint8Array)) return JSON.stringify(data);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    return `0x${Buffer.from(data).toString("hex")}`;
  }
}

/** Throws a usage error for a command without support for other formats. */
export function assertNative({ format = "native" }: FormatOptions, what: string): void {
  if (format === "native") return;
  throw usageError(`${what} supports only native records, not --format ${format}.`);
}
