import { copyOfStart } from "../../internal/text.js";
import type { AbsentRecord, ForcedRelease, FreeRecord, HeldRecord, LeaseRecord } from "./record.js";

type ObservedPart =
  | "state"
  | "fence"
  | "version"
  | "queue"
  | "lastHolder"
  | "owner"
  | "preferAsked"
  | "forced";

/** What is remembered of a free record. */
export type ObservedFree = Pick<FreeRecord, ObservedPart>;

/** What is remembered of a held record. */
export type ObservedHeld = Pick<
  HeldRecord,
  ObservedPart | "holder" | "leaseMs" | "notBeforeWallMs" | "session"
>;

/**
 * What a client remembers of a record: what decisions rest on, and labels for messages, cut. User data and
 * attributes are for callers that have just read them; remembered, they would fill the memory.
 */
export type ObservedRecord = AbsentRecord | ObservedFree | ObservedHeld;

/**
 * What this process last saw of a record, and since when it has looked like that: the instant, on the
 * monotonic clock, at which the answer arrived that first showed this (holder, version) (R3).
 */
export interface Observation {
  readonly record: ObservedRecord;
  readonly sinceMs: number;
}

// A record's labels can be as long as an item, whatever this library writes.
const LONGEST_LABEL = 100;
// As long as a forced release may make them: the history repeats them in full.
const LONGEST_REASON = 1_000;

/** What is remembered of a record. Pure. */
export function observedOf(record: LeaseRecord): ObservedRecord {
  if (record.state === "absent") return record;
  const { fence, version, queue, lastHolder, preferAsked, forced } = record;
  const known = {
    ...{ fence, version, queue, lastHolder, preferAsked },
    owner: record.owner && copyOfStart(record.owner, LONGEST_LABEL),
    forced: forced && observedForced(forced),
  };
  if (record.state === "free") return { state: "free", ...known };
  const { holder, leaseMs, notBeforeWallMs, session } = record;
  return { state: "held", ...known, holder, leaseMs, notBeforeWallMs, session };
}

function observedForced({ holder, by, reason, at, now }: ForcedRelease): ForcedRelease {
  return {
    holder,
    by: copyOfStart(by, LONGEST_REASON),
    reason: copyOfStart(reason, LONGEST_REASON),
    at: copyOfStart(at, LONGEST_LABEL),
    now,
  };
}

/** How much a reading can be trusted: an eventual one may show the past. */
export type Consistency = "strong" | "eventual";

/**
 * The observation after an answer that arrived at `nowMs`. Any change starts the watch again; the same
 * (holder, version) goes on with it; an eventual reading that can be told to be old changes nothing.
 */
export function observe(
  previous: Observation | undefined,
  record: ObservedRecord,
  strength: Consistency,
  nowMs: number,
): Observation {
  if (previous === undefined) return { record, sinceMs: nowMs };
  if (strength === "eventual" && isStale(previous.record, record)) return previous;
  return { record, sinceMs: isSame(previous.record, record) ? previous.sinceMs : nowMs };
}

function isSame(before: ObservedRecord, now: ObservedRecord): boolean {
  // A session's record that is gone is watched like one that stands still.
  if (before.state === "absent") return now.state === "absent";
  return (
    before.state === "held" &&
    now.state === "held" &&
    before.holder === now.holder &&
    before.version === now.version
  );
}

// A lagging replica goes back: v5, v4, v5 must not restart the watch of v5. A strong reading is never
// called stale, or a record made anew, with lower numbers, would be ignored for ever.
function isStale(before: ObservedRecord, now: ObservedRecord): boolean {
  if (before.state === "absent" || now.state === "absent") return false;
  // Versions without an order: what was taken for new and is old delays a takeover, which names it.
  if (typeof now.version === "string" || typeof before.version === "string") return false;
  if (now.fence !== before.fence) return now.fence < before.fence;
  // A record that was freed is held again only under a higher fence.
  if (before.state === "free") return now.state === "held";
  return now.state === "held" && now.version < before.version;
}

interface Entry {
  observation: Observation | undefined;
  lookedAtMs: number;
  highestFence: bigint;
  rivalSeen: boolean;
  standBackFromMs: number | undefined;
  bytes: number;
}

// Names can come from a client's input without end, and texts of records from anybody who may write them.
const MOST_BYTES = 100_000_000;
// What an entry takes besides its texts, generously.
const ENTRY_BYTES = 1_000;

/**
 * What one client knows of the records that it has met, across calls and kinds of call. Bounded to some
 * 100 MB: it forgets the names that it has not met for longest, which costs a watch, never safety.
 */
export class Observations {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  /** How much memory it takes, in bytes, as an estimate from above. */
  get bytes(): number {
    return this.#bytes;
  }

  of(id: string): Observation | undefined {
    return this.#entries.get(id)?.observation;
  }

  /** The highest fence ever seen of the name by this client; 0 for a new one. */
  highestFence(id: string): bigint {
    return this.#entries.get(id)?.highestFence ?? 0n;
  }

  see(id: string, record: LeaseRecord, strength: Consistency, nowMs: number): Observation {
    const entry = this.#entry(id);
    entry.lookedAtMs = nowMs;
    entry.observation = observe(entry.observation, observedOf(record), strength, nowMs);
    this.#weigh(entry, id);
    if (record.state !== "absent" && record.fence > entry.highestFence) {
      entry.highestFence = record.fence;
    }
    return entry.observation;
  }

  /** When an answer last showed the record, on the monotonic clock. */
  lookedAtMs(id: string): number {
    return this.#entries.get(id)?.lookedAtMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Another process was seen to hold the name, so it may be waiting for it too. */
  seeRival(id: string): void {
    this.#entry(id).rivalSeen = true;
  }

  /** The name was freed for everybody: if there are rivals, this process lets them go first. */
  freed(id: string, nowMs: number): void {
    const entry = this.#entries.get(id);
    if (entry?.rivalSeen !== true) return;
    entry.rivalSeen = false;
    entry.standBackFromMs = nowMs;
  }

  /** This process lets others go first, whether or not it has seen any. */
  standBack(id: string, nowMs: number): void {
    this.#entry(id).standBackFromMs = nowMs;
  }

  /** Since when this process stands back for rivals, on the monotonic clock; asked once. */
  takeStandBack(id: string): number | undefined {
    const entry = this.#entries.get(id);
    const fromMs = entry?.standBackFromMs;
    if (entry !== undefined) entry.standBackFromMs = undefined;
    return fromMs;
  }

  #entry(id: string): Entry {
    const known = this.#entries.get(id);
    const entry = known ?? {
      observation: undefined,
      lookedAtMs: Number.NEGATIVE_INFINITY,
      highestFence: 0n,
      rivalSeen: false,
      standBackFromMs: undefined,
      bytes: 0,
    };
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (known === undefined) this.#weigh(entry, id);
    return entry;
  }

  /** Counts what an entry takes by now, and forgets the oldest others where that is too much. */
  #weigh(entry: Entry, id: string): void {
    const bytes = ENTRY_BYTES + bytesOf(id) + bytesOf(entry.observation?.record);
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    for (const [oldId, { bytes: oldBytes }] of this.#entries) {
      if (this.#bytes <= MOST_BYTES || oldId === id) return;
      this.#entries.delete(oldId);
      this.#bytes -= oldBytes;
    }
  }
}

/** What the texts in a value take, two bytes a character. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return 2 * value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + bytesOf(part), 0);
}
