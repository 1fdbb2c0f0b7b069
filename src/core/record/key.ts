import { HoldfastError } from "../../errors.js";
import type { Kind, LeaseFormat, RecordRef } from "./format.js";
import type { LockName } from "./format-types.js";
import { checkName, checkNamespace } from "./name.js";

/** Which record a name that a user gave is about. Throws `invalid-argument`. */
export function refOf(format: LeaseFormat, name: LockName, kind: Kind = "lock"): RecordRef {
  const parts = typeof name === "string" || !Array.isArray(name) ? [name] : name;
  for (const part of parts) checkName(part);
  return format.refOf(kind, name);
}

/** The same of a record before which there can be a queue. Throws `invalid-argument`. */
export function queueRefOf(
  format: LeaseFormat,
  name: string,
  namespace: string | undefined,
): RecordRef {
  if (format.queue === undefined) {
    const why =
      format.name === "native"
        ? "A fair lock needs a table with a sort key, for the queue's entries: see the option `keys`."
        : `A table of format "${format.name}" has no queue: its other clients would pass whoever waits in it.`;
    throw new HoldfastError("invalid-argument", why);
  }
  const known = namespace === undefined ? undefined : checkNamespace(namespace);
  return format.refOf("lock", checkName(name), known);
}

/** Throws `invalid-argument` for a format whose records cannot say that they live by a session. */
export function assertSessions(format: LeaseFormat): void {
  if (format.hasSessions !== false) return;
  throw new HoldfastError(
    "invalid-argument",
    `Records of format "${format.name}" have no room for sessions: every lock renews its own record.`,
  );
}
