/**
 * The history beside a native record: sixteen items in the record's own partition, at `sk` = `history/`, for a
 * fair lock of a namespace that and `/`, percent-encoded, and two digits, so that whoever may write to a lock may keep its history, and no listing takes them for locks. A
 * grant is noted at its fence modulo sixteen. Nothing is decided by them.
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `fence` | N | the grant's; the item only ever goes to a higher one |
 * | `holder`, `owner`, `at` | S | as the record says them: `at` is its `acquiredAt` |
 * | `how` | S | `claim`, `takeover`, `hand-over` or `import` |
 * | `forced` | M | the forced release that the record showed at this grant, if it may have led to it |
 * | `expiresAt` | N | TTL in seconds, thirty days on |
 */
import type { HistoryFormat, RecordRef } from "../core/record/format.js";
import type { GrantNote } from "../core/record/record.js";
import type { AttributeValue, Condition, Item } from "../platform/table.js";
import { forcedIn, forcedValue, numberIn, stringIn } from "./native-values.js";

const SLOTS = 16;
const RETENTION_S = 30 * 24 * 3_600;

/** Makes it for a table with these key attributes. */
export function nativeHistory(pk: string, sk: string): HistoryFormat {
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
    noteIn,
  };
}

// One that lands late must not take the place of a later grant.
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
  return { fence, holder, owner, at, how, forced: forcedIn(item) };
}
