import type { Kind, LeaseFormat, RecordListing } from "../core/record/format.js";
import type { Item, KeyPrefix } from "../platform/table.js";
import { ENTRY_KEYS, type NativeKeys, QUEUE_PARTITION, queueKey, SORT_KEY } from "./native.js";
import { keysOf } from "./native-conditions.js";
import { stringIn } from "./native-values.js";

/** Finds the places in queues, and the namespaces, in the items of a scan. */
interface QueueListing {
  namespaceIn(item: Item): string | undefined;
  /**
   * Returns the name of the lock whose queue has the entry, or undefined if the item is not an entry before a record of
   * this kind; default `lock`.
   */
  nameIn(entry: Item, kind?: Kind): string | undefined;
  /** Returns the prefix of the keys of all entries of these locks. */
  prefixOf(namePrefix: string): KeyPrefix;
}

/** Returns how to list the records of a table. */
export function recordListing(format: LeaseFormat): RecordListing {
  const keys = keysOf(format);
  return keys === undefined ? (format.codec.listing as RecordListing) : nativeRecords(keys);
}

function nativeRecords(keys: NativeKeys): RecordListing {
  return {
    nameOf(kind, item) {
      const pk = item[keys.pk];
      if (pk === undefined || !("S" in pk) || !pk.S.startsWith(`${kind}#`)) return undefined;
      const sk = keys.sk === null ? undefined : item[keys.sk];
      if (sk !== undefined && !("S" in sk && isRecordKey(sk.S))) return undefined;
      return pk.S.slice(kind.length + 1);
    },
    prefixOf: (kind, namePrefix) => ({ attribute: keys.pk, value: `${kind}#${namePrefix}` }),
  };
}

function isRecordKey(sk: string): boolean {
  const [kind, namespace, ...more] = sk.split("/");
  if (kind !== SORT_KEY || more.length > 0) return false;
  return namespace === undefined || decoded(namespace) !== undefined;
}

function decoded(namespace: string): string | undefined {
  try {
    return decodeURIComponent(namespace);
  } catch {
    return undefined;
  }
}

/** Returns how to list the queues of a table, or undefined if its format has no queues. */
export function queueListing(format: LeaseFormat): QueueListing | undefined {
  const { queue } = format;
  const { pk: pkName, sk: skName = null } = keysOf(format) ?? {};
  if (queue === undefined || pkName === undefined || skName === null) return undefined;
  return {
    namespaceIn(item) {
      const [, encoded] = stringIn(item, skName)?.split("/") ?? [];
      // The text comes from the table, so decoding must not throw.
      return encoded === undefined || encoded === "" ? undefined : decoded(encoded);
    },
    nameIn(entry, kind = "lock") {
      const [key = ""] = stringIn(entry, skName)?.split("/") ?? [];
      if (ENTRY_KEYS[key] !== kind) return undefined;
      const pk = queue.ticketIn(entry) === undefined ? undefined : stringIn(entry, pkName);
      return pk?.startsWith(QUEUE_PARTITION) ? pk.slice(QUEUE_PARTITION.length) : undefined;
    },
    prefixOf: (namePrefix) => ({ attribute: pkName, value: queueKey(namePrefix) }),
  };
}
