import type { Kind, LeaseFormat } from "../core/record/format.js";
import type { Item, KeyPrefix } from "../platform/table.js";
import { decoded, ENTRY_KEYS, QUEUE_PARTITION, queueKey } from "./native.js";
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
