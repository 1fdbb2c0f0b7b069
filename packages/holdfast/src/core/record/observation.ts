import { LinkedList } from "../../internal/linked-list.js";
import { copyOfStart } from "../../internal/text.js";
import { HoldLengths, type HoldsSeen } from "./hold-lengths.js";
import {
  type AbsentRecord,
  type FreeRecord,
  type HeldRecord,
  type HolderRequest,
  hasQueue,
  type LeaseRecord,
} from "./record.js";
import type { Sighting } from "./sighting.js";

type ObservedPart =
  | "state"
  | "fence"
  | "version"
  | "queue"
  | "lastHolder"
  | "owner"
  | "request"
  | "asked";

/** The remembered part of a free record. */
export type ObservedFree = Pick<FreeRecord, ObservedPart | "permits">;

/** The remembered part of a held record. */
export type ObservedHeld = Pick<
  HeldRecord,
  ObservedPart | "holder" | "leaseMs" | "endMs" | "notBeforeWallMs" | "session" | "ring"
>;

/**
 * The part of a record that a client remembers: the inputs of decisions, and shortened labels for messages.
 * User data and attributes go to the caller that has just read them; the client does not remember them, to save
 * memory.
 */
export type ObservedRecord = AbsentRecord | KnownRecord;
export type KnownRecord = ObservedFree | ObservedHeld;

/**
 * The last observed state of a record, and since when the record has not changed. `sinceMs` is the instant, on
 * the monotonic clock, of the first answer that showed this (holder, version) (R3).
 */
export interface Observation {
  readonly record: ObservedRecord;
  readonly sinceMs: number;
  /** The last strongly consistent answer with a `Date` that showed this (holder, version). */
  readonly dated?: DatedAnswer | undefined;
  /** {@link Sighting.byMs} of the earliest known sighting of this (holder, version). */
  readonly sightedByMs?: number | undefined;
  /** Since when every answer was older than this observation, on the monotonic clock. */
  readonly staleSinceMs?: number | undefined;
}

/** When an answer with a `Date` showed a record. */
interface DatedAnswer {
  /** The `Date` of the answer, in milliseconds since 1970. */
  readonly dateMs: number;
  /** When the answer arrived, on the monotonic clock. */
  readonly atMs: number;
}

// A label in another program's record can be as long as a whole item.
const LONGEST_LABEL = 100;
// The longest reason of a forced release: the history repeats the reason in full.
const LONGEST_REASON = 1_000;

// Longer than each mark that a client writes; the start of a longer one is no mark.
const LONGEST_RING = 400;

// Far longer than an eventually consistent read of DynamoDB lags. If all such reads look stale for longer than this,
// they show the current record.
const LONGEST_LAG_MS = 10_000;

/** Returns the remembered part of a record. Pure. */
export function observedOf(record: LeaseRecord): ObservedRecord {
  if (record.state === "absent") return record;
  const { fence, version, queue, lastHolder, request, asked } = record;
  const known = {
    ...{ fence, version, queue, lastHolder, asked },
    owner: record.owner && copyOfStart(record.owner, LONGEST_LABEL),
    request: request && observedRequest(request),
  };
  if (record.state === "free") return { state: "free", ...known, permits: record.permits };
  const { holder, leaseMs, endMs, notBeforeWallMs, session } = record;
  const ring = record.ring && copyOfStart(record.ring, LONGEST_RING);
  return { state: "held", ...known, holder, leaseMs, endMs, notBeforeWallMs, session, ring };
}

function observedRequest(request: HolderRequest): HolderRequest {
  if (request.kind === "want" || request.kind === "interrupt") {
    return { ...request, by: copyOfStart(request.by, LONGEST_LABEL) };
  }
  if (request.kind !== "release") return request;
  const { kind, holder, by, reason, at, now } = request;
  return {
    ...{ kind, holder },
    by: copyOfStart(by, LONGEST_REASON),
    reason: copyOfStart(reason, LONGEST_REASON),
    at: copyOfStart(at, LONGEST_LABEL),
    now,
  };
}

/** The consistency of a read. An eventually consistent read may be stale. */
export type Consistency = "strong" | "eventual";

/**
 * Updates an observation after an answer that arrived at `nowMs`. A change restarts the watch; the same
 * (holder, version) continues the watch. Ignores an eventual read that is recognisably stale. If
 * all reads look stale for longer than a replica can lag, accepts the last one: the record was created again with lower
 * numbers. `dateMs` is the `Date` of the answer. Ignores the `Date` of an eventual read, because the read may be stale.
 */
export function observe(
  previous: Observation | undefined,
  record: ObservedRecord,
  consistency: Consistency,
  nowMs: number,
  dateMs?: number,
): Observation {
  const isDated = consistency === "strong" && dateMs !== undefined;
  const dated = isDated ? { dateMs, atMs: nowMs } : undefined;
  if (previous === undefined) return { record, sinceMs: nowMs, dated };
  if (consistency === "eventual" && isStale(previous.record, record)) {
    const { staleSinceMs = nowMs } = previous;
    if (nowMs - staleSinceMs <= LONGEST_LAG_MS) return { ...previous, staleSinceMs };
    return { record, sinceMs: nowMs };
  }
  if (!isSame(previous.record, record)) return { record, sinceMs: nowMs, dated };
  const { sinceMs, sightedByMs } = previous;
  return { record, sinceMs, dated: dated ?? previous.dated, sightedByMs };
}

/**
 * Adds a sighting to an observation. Ignores a sighting of another holder, version or length: since then, the holder
 * has renewed its lease, or the record has another holder. Keeps the earlier of two sightings. Pure.
 */
export function withSighting(seen: Observation, sighting: Sighting): Observation {
  const { record, sightedByMs = Number.POSITIVE_INFINITY } = seen;
  const isOfRecord =
    record.state === "held" &&
    record.holder === sighting.holder &&
    record.version === sighting.version &&
    record.leaseMs === sighting.leaseMs;
  return isOfRecord ? { ...seen, sightedByMs: Math.min(sightedByMs, sighting.byMs) } : seen;
}

function isSame(before: ObservedRecord, now: ObservedRecord): boolean {
  // A client watches an absent session row in the same way as a row that does not change.
  if (before.state === "absent") return now.state === "absent";
  return (
    before.state === "held" &&
    now.state === "held" &&
    before.holder === now.holder &&
    before.version === now.version
  );
}

// A lagging replica goes back: v5, v4, v5 must not restart the watch of v5. A strongly consistent read is never stale:
// a lower number then means that the record was created again.
function isStale(before: ObservedRecord, now: ObservedRecord): boolean {
  if (before.state === "absent" || now.state === "absent") return false;
  // Such versions have no order. A stale read restarts the watch, which only delays the takeover: its write
  // names the exact version.
  if (typeof now.version === "string" || typeof before.version === "string") return false;
  if (now.fence !== before.fence) return now.fence < before.fence;
  // A freed record is held again only under a higher fence.
  if (before.state === "free") return now.state === "held";
  return now.state === "held" && now.version < before.version;
}

interface Entry {
  /** Undefined until this client sees another process hold or want the name: no waiter polls the record before. */
  holds: HoldLengths | undefined;
  observation: Observation | undefined;
  lookedAtMs: number;
  highestFence: bigint;
  rivalSeen: boolean;
  standBackFromMs: number | undefined;
  bytes: number;
}

// A client's input can bring names without end, and any writer of the table can bring long texts.
const MOST_BYTES = 100_000_000;
// The memory of an entry besides its texts, rounded up.
const ENTRY_BYTES = 1_000;

/**
 * Remembers what one client has observed of records, across calls and kinds of call. The memory is bounded to
 * some 100 MB: the client forgets the least recently used names. This costs another watch, but never safety.
 */
export class Observations {
  readonly #entries = new Map<string, Entry>();
  /** The least recently used name first. A map finds its first entry only past the places of all that were deleted. */
  readonly #used = new LinkedList<string>();
  #bytes = 0;

  /** An upper estimate of the memory in use, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  of(id: string): Observation | undefined {
    return this.#entries.get(id)?.observation;
  }

  /** The record as last seen, if it was there. */
  known(id: string): KnownRecord | undefined {
    const record = this.of(id)?.record;
    return record?.state === "absent" ? undefined : record;
  }

  /** The record as last seen, if it was held. */
  held(id: string): ObservedHeld | undefined {
    const record = this.known(id);
    return record?.state === "held" ? record : undefined;
  }

  /** Returns the highest fence that this client has observed of the name, or 0 if the name is unknown. */
  highestFence(id: string): bigint {
    return this.#entries.get(id)?.highestFence ?? 0n;
  }

  see(
    id: string,
    record: LeaseRecord,
    consistency: Consistency,
    nowMs: number,
    dateMs?: number,
  ): Observation {
    const entry = this.#entry(id);
    entry.lookedAtMs = nowMs;
    const observed = observedOf(record);
    entry.observation = observe(entry.observation, observed, consistency, nowMs, dateMs);
    entry.holds?.see(entry.observation.record, nowMs);
    this.#weigh(entry, id);
    if (record.state !== "absent" && record.fence > entry.highestFence) {
      entry.highestFence = record.fence;
    }
    return entry.observation;
  }

  /** Changes an observation, if there is one. */
  change(id: string, change: (seen: Observation) => Observation): void {
    const entry = this.#entries.get(id);
    if (entry?.observation !== undefined) entry.observation = change(entry.observation);
  }

  /** When an answer last showed the record, on the monotonic clock. */
  lookedAtMs(id: string): number {
    return this.#entries.get(id)?.lookedAtMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Notes that another process has held the name or queued for it, so that process may be waiting for the name. */
  seeRival(id: string, nowMs: number): void {
    const entry = this.#entry(id);
    entry.rivalSeen = true;
    if (entry.holds !== undefined || entry.observation === undefined) return;
    entry.holds = new HoldLengths();
    entry.holds.see(entry.observation.record, nowMs);
  }

  /** Notes that the queue moved on by `holds` holds, which took `tookMs` together. */
  queueTurned(id: string, holds: number, tookMs: number, nowMs: number): void {
    this.#entries.get(id)?.holds?.turned(holds, tookMs, nowMs);
  }

  /** What this client knows about the lengths of the holds of the name. */
  holdsSeen(id: string, nowMs: number): HoldsSeen {
    const holds = this.#entries.get(id)?.holds;
    return { usualMs: holds?.usualMs, presentMs: holds?.presentMs(nowMs) ?? 0 };
  }

  /**
   * Notes that this process freed the name for all processes. If another process may be waiting, this process lets the
   * other process go first.
   */
  freed(id: string, nowMs: number): void {
    const entry = this.#entries.get(id);
    if (entry?.rivalSeen !== true) return;
    entry.rivalSeen = false;
    entry.standBackFromMs = nowMs;
  }

  /** Lets other processes go first, even if this client does not know of a waiter. */
  standBack(id: string, nowMs: number): void {
    this.#entry(id).standBackFromMs = nowMs;
  }

  /** Returns since when this process lets others go first, on the monotonic clock. Resets this instant. */
  takeStandBack(id: string): number | undefined {
    const entry = this.#entries.get(id);
    const fromMs = entry?.standBackFromMs;
    if (entry !== undefined) entry.standBackFromMs = undefined;
    return fromMs;
  }

  /**
   * Since when the record is free after a holder that was interrupted; undefined if it is not. The caller that interrupts has
   * no place in a queue, and finds the release by its next read. `keeps`: also after a holder to which a caller without a
   * place has announced itself, for a process that would keep the lock from it again.
   */
  askedMs(id: string, keeps = false): number | undefined {
    const { record, sinceMs } = this.of(id) ?? {};
    if (record?.state !== "free") return undefined;
    const { request, lastHolder } = record;
    const isAnnounced = keeps && request?.kind === "want" && !hasQueue(record);
    const isAsked = request?.kind === "interrupt" || isAnnounced;
    return isAsked && request.holder === lastHolder ? sinceMs : undefined;
  }

  #entry(id: string): Entry {
    const known = this.#entries.get(id);
    const entry = known ?? {
      holds: undefined,
      observation: undefined,
      lookedAtMs: Number.NEGATIVE_INFINITY,
      highestFence: 0n,
      rivalSeen: false,
      standBackFromMs: undefined,
      bytes: 0,
    };
    this.#used.delete(id);
    this.#used.addLast(id);
    this.#entries.set(id, entry);
    if (known === undefined) this.#weigh(entry, id);
    return entry;
  }

  /** Updates the memory count of an entry, and forgets the oldest entries above the bound. */
  #weigh(entry: Entry, id: string): void {
    const bytes = ENTRY_BYTES + bytesOf(id) + bytesOf(entry.observation?.record);
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    while (this.#bytes > MOST_BYTES) {
      const { first } = this.#used;
      if (first === undefined || first === id) return;
      this.#used.delete(first);
      this.#bytes -= this.#entries.get(first)?.bytes ?? 0;
      this.#entries.delete(first);
    }
  }
}

/** The memory of the texts in a value, two bytes a character. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return 2 * value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + bytesOf(part), 0);
}
