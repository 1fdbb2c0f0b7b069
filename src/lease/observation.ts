import type { LeaseRecord } from "./record.js";

/**
 * What this process last saw of a record, and since when it has looked like that: the instant, on the
 * monotonic clock, at which the answer arrived that first showed this (holder, version) (R3).
 */
export interface Observation {
  readonly record: LeaseRecord;
  readonly sinceMs: number;
}

/** How much a reading can be trusted: an eventual one may show the past. */
export type Strength = "strong" | "eventual";

/**
 * The observation after an answer that arrived at `nowMs`. Any change starts the watch again; the same
 * (holder, version) goes on with it; an eventual reading that can be told to be old changes nothing.
 */
export function observe(
  previous: Observation | undefined,
  record: LeaseRecord,
  strength: Strength,
  nowMs: number,
): Observation {
  if (previous === undefined) return { record, sinceMs: nowMs };
  if (strength === "eventual" && isStale(previous.record, record)) return previous;
  return { record, sinceMs: isSame(previous.record, record) ? previous.sinceMs : nowMs };
}

function isSame(before: LeaseRecord, now: LeaseRecord): boolean {
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
function isStale(before: LeaseRecord, now: LeaseRecord): boolean {
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
}

// Names can come from a client's input without end; what was seen of the oldest is the least use.
const MOST_NAMES = 100_000;

/**
 * What one client knows of the records that it has met, across calls and kinds of call. Bounded: of
 * names not met for long it forgets, which costs a watch, never safety.
 */
export class Observations {
  readonly #entries = new Map<string, Entry>();

  of(id: string): Observation | undefined {
    return this.#entries.get(id)?.observation;
  }

  /** The highest fence ever seen of the name by this client; 0 for a new one. */
  highestFence(id: string): bigint {
    return this.#entries.get(id)?.highestFence ?? 0n;
  }

  see(id: string, record: LeaseRecord, strength: Strength, nowMs: number): Observation {
    const entry = this.#entry(id);
    entry.lookedAtMs = nowMs;
    entry.observation = observe(entry.observation, record, strength, nowMs);
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
    };
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (this.#entries.size > MOST_NAMES) {
      const oldest = this.#entries.keys().next();
      if (oldest.done === false) this.#entries.delete(oldest.value);
    }
    return entry;
  }
}
