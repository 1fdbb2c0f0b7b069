import { QUEUE, requireCapability } from "./capability.js";
import type { Kind, LeaseFormat, RecordRef } from "./format.js";
import type { LockName } from "./format-types.js";
import { checkName, checkNamespace, KEY_BYTES } from "./name.js";

/** Returns the record of a name that a user gave. Throws `invalid-argument`. */
export function refOf(format: LeaseFormat, name: LockName, kind: Kind = "lock"): RecordRef {
  const parts = typeof name === "string" || !Array.isArray(name) ? [name] : name;
  const [first, ...others] = parts;
  const { longestNameBytes = KEY_BYTES.partition } = format.facts;
  checkName(first as string, format.facts.longestNameBytes);
  // The second part is a sort key, with the same room for the suffix of a companion.
  const longestSortBytes = KEY_BYTES.sort - (KEY_BYTES.partition - longestNameBytes);
  for (const part of others) checkName(part, longestSortBytes);
  return format.codec.refOf(kind, name);
}

/** Returns the record of a lock with a queue. Throws `invalid-argument`. */
export function queueRefOf(
  format: LeaseFormat,
  name: string,
  namespace: string | undefined,
): RecordRef {
  requireCapability(format, QUEUE);
  const known = namespace === undefined ? undefined : checkNamespace(namespace);
  return format.codec.refOf("lock", checkName(name), known);
}
