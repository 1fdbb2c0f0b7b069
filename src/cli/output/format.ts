import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  lockClientFailOpen,
} from "../../formats/index.js";
import type { FormatTypes, Inspection, LockFormat, LockName } from "../../index.js";
import { usageError } from "./exit-codes.js";

/** How records look in the table, and how its keys are called, as commander leaves it. */
export interface FormatOptions {
  readonly format?: string;
  readonly pk?: string;
  readonly sk?: string;
  readonly longestLease?: string;
  readonly maxClockSkew?: string;
  readonly fences?: string;
}

/** Which part of a name of two the command's argument is not. */
export interface SortOptions {
  readonly sort?: string;
}

/** The formats of locks, as `--format` calls them. */
export const LOCK_FORMATS = [
  "native",
  "aws-lock-client",
  "dynamolock",
  "dynamodb-lease",
  "lock-client-fail-open",
] as const;

/** Locks of any format: what it has no room for is absent. */
export type AnyLocks = FormatTypes;

/** The format of other clients that is asked for; undefined for native records. Throws a usage error. */
export function formatOf(options: FormatOptions): LockFormat | undefined {
  const { format = "native", pk, sk, longestLease, maxClockSkew } = options;
  const fences = fencesOf(options);
  if (format !== "dynamodb-lease" && (longestLease || maxClockSkew)) {
    throw usageError("--longest-lease and --max-clock-skew belong to --format dynamodb-lease.");
  }
  const own = {
    ...(pk ? { partitionKeyName: pk } : {}),
    ...(sk && sk !== "none" ? { sortKeyName: sk } : {}),
    ...fences,
  };
  switch (format) {
    case "aws-lock-client":
      return awsLockClient(own as object);
    case "dynamolock":
      return dynamolock(own as object);
    case "lock-client-fail-open":
      return lockClientFailOpen(own as object);
    case "dynamodb-lease":
      if (pk || sk) {
        throw usageError(
          "A table of --format dynamodb-lease has the key `key`: leave --pk and --sk out.",
        );
      }
      return dynamodbLease({
        longestLease: longestLease || undefined,
        maxClockSkew: maxClockSkew || undefined,
        ...fences,
      });
    default:
      return undefined;
  }
}

// The others number their grants themselves, or are no locks.
const WITHOUT_FENCES = ["aws-lock-client", "dynamolock", "dynamodb-lease"];

function fencesOf({ format = "native", fences }: FormatOptions): { fences?: "companion" } {
  if (!fences) return {};
  if (WITHOUT_FENCES.includes(format)) return { fences: fences as "companion" };
  throw usageError(
    `--fences is for a --format whose records have none: ${WITHOUT_FENCES.join(", ")}; not for ${format}.`,
  );
}

/** The name that is meant: of two parts with `--sort`. */
export function nameOf(name: string, { sort }: SortOptions): LockName {
  return sort === undefined ? name : [name, sort];
}

/** A name for people. */
export function nameText(name: LockName): string {
  return typeof name === "string" ? name : name.join("/");
}

/** A lock for people: its name, and which of several of that name. */
export function lockText({ name, namespace }: Inspection<AnyLocks>): string {
  return `${nameText(name)}${inNamespace(namespace)}`;
}

/** Which of several locks of a name, after that name. */
export function inNamespace(namespace: string | undefined): string {
  return namespace === undefined ? "" : ` in the namespace "${namespace}"`;
}

/** User data from the command line: text to native records, its bytes to those of other clients. */
export function dataOf(text: string | undefined, { format = "native" }: FormatOptions): unknown {
  if (text === undefined || format === "native") return text;
  return new TextEncoder().encode(text);
}

/** User data for people: bytes as the text that they are, or else in hexadecimal digits. */
export function dataText(data: unknown): string {
  if (!(data instanceof Uint8Array)) return JSON.stringify(data);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    return `0x${Buffer.from(data).toString("hex")}`;
  }
}

/** Throws a usage error for what a command cannot do but with native records. */
export function assertNative({ format = "native" }: FormatOptions, what: string): void {
  if (format === "native") return;
  throw usageError(`${what} knows native records alone, and not those of --format ${format}.`);
}
