/**
 * The history beside a native record: sixteen items in the record's own partition. The `sk` of an item is `history/`
 * and two digits. For a fair lock of a namespace, the percent-encoded namespace and `/` stand before the digits. With
 * these keys, the permissions for a lock also cover its history, and no listing shows the items as locks. The client
 * writes the note of a grant into the item whose digits are the fence modulo sixteen. No decision uses the history.
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `fence` | N | the fence of the grant; only a note with a higher fence replaces the item |
 * | `holder`, `owner`, `at` | S | as in the record; `at` is the record's `acquiredAt` |
 * | `how` | S | `claim`, `takeover`, `hand-over` or `import`; a downgrade is a `hand-over` |
 * | `forced` | M | the forced release that the record had at this grant; it may have made the grant possible |
 * | `expiresAt` | N | TTL in seconds since 1970, thirty days after the note |
 */
import type { Capability } from "../core/record/capability.js";
import type { HistoryFormat, RecordRef } from "../core/record/format.js";
import type { GrantNote } from "../core/record/record.js";
import { serialisable } from "../internal/printed.js";
import type { AttributeValue, Condition, Item } from "../platform/table.js";
import { keysOf } from "./native-conditions.js";
import { forcedIn, forcedValue, numberIn, stringIn } from "./native-values.js";

const SLOTS = 16;
const LEADERSHIP = "leader#";
const RETENTION_S = 30 * 24 * 3_600;

/** Notes of grants beside a record. */
export const HISTORY: Capability<HistoryFormat> = {
  feature: "history",
  why: "it needs native records, and a table with a sort key",
  of(format) {
    const { pk, sk = null } = keysOf(format) ?? {};
    return pk === undefined || sk === null ? undefined : nativeHistory(pk, sk);
  },
};

function nativeHistory(pk: string, sk: string): HistoryFormat {
  const keyAt = ({ key, namespace }: RecordRef, slot: number): Item => {
    const of = namespace === undefined ? "" : `${encodeURIComponent(namespace)}/`;
    const partition = key[pk] as AttributeValue;
    return { [pk]: partition, [sk]: { S: `history/${of}${String(slot).padStart(2, "0")}` } };
  };
  return {
    keysOf: (ref) => Array.from({ length: SLOTS }, (_, slot) => keyAt(ref, slot)),
    note: (ref, note, wallMs) => ({
      key: keyAt(ref, Number(note.fence % BigInt(SLOTS))),
      condition: isNewer(note.fence),
      change: { set: setOf(note, wallMs), remove: note.forced === undefined ? ["forced"] : [] },
    }),
    leadershipIn(item) {
      const [of = "", place = ""] = [stringIn(item, pk), stringIn(item, sk)];
      return of.startsWith(LEADERSHIP) && place.startsWith("history/")
        ? of.slice(LEADERSHIP.length)
        : undefined;
    },
    noteIn,
  };
}

// A late note must not replace the note of a later grant.
function isNewer(fence: bigint): Condition {
  const value = { N: fence.toString() };
  return {
    kind: "any",
    of: [
      { kind: "absent", attribute: "fence" },
      { kind: "below", attribute: "fence", value },
    ],
  };
}

function setOf(note: GrantNote, wallMs: number): Record<string, AttributeValue> {
  return {
    fence: { N: note.fence.toString() },
    holder: { S: note.holder },
    owner: { S: note.owner },
    at: { S: note.at },
    how: { S: note.how },
    expiresAt: { N: String(Math.ceil(wallMs / 1_000) + RETENTION_S) },
    ...(note.forced === undefined ? {} : { forced: forcedValue(note.forced) }),
  };
}

function noteIn(item: Item | undefined): GrantNote | undefined {
  if (item === undefined) return undefined;
  const [fence, holder] = [numberIn(item, "fence"), stringIn(item, "holder")];
  const how = (["claim", "takeover", "hand-over", "import"] as const).find(
    (one) => one === stringIn(item, "how"),
  );
  if (fence === undefined || holder === undefined || how === undefined) return undefined;
  const [owner = "", at = ""] = [stringIn(item, "owner"), stringIn(item, "at")];
  return serialisable({ fence, holder, owner, at, how, forced: forcedIn(item) });
}
