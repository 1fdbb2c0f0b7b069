import { acquire } from "../core/acquire/acquire.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Lease } from "../core/hold/lease.js";
import type { Decision } from "../core/record/decide.js";
import type { ObservedRecord } from "../core/record/observation.js";
import { isHoldfastError } from "../errors.js";
import type { Candidate } from "./candidate.js";
import { askOnce } from "./requests.js";

// The pause before a read, as parts of the poll: spread, so that candidates do not read in step, and
// short of the whole, so that a read and the grant after it still come within the poll.
const SHORTEST_PAUSE = 0.8;
const PAUSE_SPREAD = 0.1;
/** The mean of it. */
export const MEAN_PAUSE = SHORTEST_PAUSE + PAUSE_SPREAD / 2;
// After a read that nobody answered; the table may be back any moment.
const LONGEST_RETRY_MS = 1_000;
// The last look before a takeover comes this part of the poll before it, so that its answer is there by
// then: of many candidates only those that look in the same moment write, and none is late for it.
const LAST_LOOK_PART = 1 / 40;
// A read that hangs must not put a takeover off by more than this part of the poll.
const LONGEST_LOOK_PART = 1 / 10;
/** For how many polls a candidate lets others go first: after its own resignation, and a preferred one. */
export const STAND_BACK_POLLS = 2;

/** Why there is no live leader, as far as one candidate can tell, and since when. */
interface Gap {
  readonly cause: "vacant" | "silent" | "unreachable";
  readonly sinceMs: number;
}

/** What makes a grant, except for what the candidate's settings say. */
export interface Standing {
  readonly data: unknown;
  readonly onRenewal: NonNullable<AcquireSettings["onRenewal"]>;
  /** Ends it; also when the client closes. */
  readonly signal: AbortSignal;
  /** Not elected before this instant of the monotonic clock: it has just resigned. */
  readonly notBeforeMs: number;
}

/** A grant, and for how long this candidate had known of no live leader before it. */
export interface Elected {
  readonly lease: Lease;
  readonly gapMs: number | undefined;
}

/**
 * Stands by until it is elected: reads the record, all the time, at most a poll apart, and sends a write
 * only where one can be applied. So an observation is never older than a poll, a dead leader is replaced
 * a poll after its watch ends at the latest, and hundreds of candidates cost no more than their reads.
 */
export class Standby {
  readonly #candidate: Candidate;
  readonly #standing: Standing;
  /** Both on the monotonic clock. */
  #vacantSinceMs: number | undefined;
  #answeredAtMs: number;
  #lookedAtMs = 0;
  #aside: { readonly last: string; readonly untilMs: number } | undefined;
  #lastCause: Gap["cause"] = "vacant";

  constructor(candidate: Candidate, standing: Standing) {
    this.#candidate = candidate;
    this.#standing = standing;
    this.#answeredAtMs = candidate.context.nowMs();
  }

  /**
   * Resolves once elected. Rejects with the signal's reason, with `closed`, or with what no waiting
   * mends: `misconfigured`, `access-denied`, `foreign-record`, `unsupported-layout`.
   */
  async run(): Promise<Elected> {
    // Candidates that start together do not read in step from the first pause on.
    let part = this.#candidate.context.random.fraction();
    for (;;) {
      const isAnswered = await this.#look();
      if (isAnswered) await this.#untilTakeable();
      this.#throwIfStopped();
      const decision = this.#decide();
      const gapMs = this.#tellGap(isAnswered);
      if (isAnswered && isGrantable(decision) && !this.#mustStandAside()) {
        const lease = await this.#try();
        if (lease !== undefined) return { lease, gapMs: this.#tellOver(gapMs) };
        this.#throwIfStopped();
      }
      if (isAnswered) await this.#ask();
      await this.#pause(isAnswered, part);
      part = SHORTEST_PAUSE + PAUSE_SPREAD * this.#candidate.context.random.fraction();
      this.#throwIfStopped();
    }
  }

  #decide(): Decision {
    const { context, ref } = this.#candidate;
    return context.decide(ref, false);
  }

  get #record(): ObservedRecord | undefined {
    const { context, ref } = this.#candidate;
    return context.observations.of(ref.id)?.record;
  }

  #throwIfStopped(): void {
    if (this.#standing.signal.aborted) throw this.#standing.signal.reason;
  }

  /** Reads the record; answers whether anybody answered. */
  async #look(): Promise<boolean> {
    const { context, ref } = this.#candidate;
    this.#lookedAtMs = context.nowMs();
    const found = await this.#read(false);
    if (found === undefined) return false;
    // Absence is only concluded from a strongly consistent read.
    const isGone = found.item === undefined;
    const certain = isGone ? await this.#read(true) : found;
    if (certain === undefined) return false;
    const record = context.seeRecord(ref, certain.item, isGone ? "strong" : "eventual");
    this.#answeredAtMs = context.nowMs();
    if (record.state === "held") this.#vacantSinceMs = undefined;
    else this.#vacantSinceMs ??= this.#answeredAtMs;
    return true;
  }

  async #read(consistent: boolean) {
    const { context, ref } = this.#candidate;
    const read = { key: ref.key, consistent, attributes: context.format.pollAttributes };
    const answer = await context.read(read, this.#lookMs(), this.#standing.signal);
    if (answer.kind === "misconfigured") throw answer.error;
    return answer.kind === "found" ? answer : undefined;
  }

  /** How long a read may take: one that hangs must not put a takeover off. */
  #lookMs(): number {
    const { context, settings } = this.#candidate;
    const { requestTimeoutMs } = context.settings;
    const inMs = this.#acquirableInMs();
    const leftMs = Number.isFinite(inMs) ? inMs : requestTimeoutMs;
    const shortestMs = Math.max(settings.pollMs * LONGEST_LOOK_PART, 50);
    return Math.min(requestTimeoutMs, Math.max(leftMs, shortestMs));
  }

  // Sent once; what was not answered is neutralised by the kernel, and looked at again after a pause.
  async #try(): Promise<Lease | undefined> {
    const { context, ref, settings } = this.#candidate;
    try {
      const { data, onRenewal, signal } = this.#standing;
      return await acquire(context, ref, { ...settings.grant, data, onRenewal, signal });
    } catch (error) {
      if (isHoldfastError(error, "unreachable") || isHoldfastError(error, "throttled")) {
        return undefined;
      }
      throw error;
    }
  }

  /** A preferred candidate asks a leader that may be another, once a term. */
  async #ask(): Promise<void> {
    const record = this.#record;
    if (!this.#candidate.settings.preferred || record?.state !== "held") return;
    if (record.preferAsked === record.holder || this.#isSilent(record.leaseMs)) return;
    await askOnce(this.#candidate, record.holder, "prefer");
  }

  #isSilent(leaseMs: number): boolean {
    const { context, ref } = this.#candidate;
    const sinceMs = context.observations.of(ref.id)?.sinceMs ?? context.nowMs();
    return context.nowMs() - sinceMs > leaseMs;
  }

  // Others go first after a resignation. Where a preferred candidate asked the last leader, one is standing by, and goes first.
  #mustStandAside(): boolean {
    const { context, settings } = this.#candidate;
    if (context.nowMs() < this.#standing.notBeforeMs) return true;
    const record = this.#record;
    if (settings.preferred || record === undefined || record.state === "absent") return false;
    const last = record.state === "held" ? record.holder : record.lastHolder;
    if (last === undefined || record.preferAsked !== last) return false;
    if (this.#aside?.last !== last) {
      this.#aside = { last, untilMs: context.nowMs() + STAND_BACK_POLLS * settings.pollMs };
    }
    return context.nowMs() < this.#aside.untilMs;
  }

  /** Waits for the next look, or for the last one before the leader counts as dead. */
  async #pause(isAnswered: boolean, part: number): Promise<void> {
    const { context, settings } = this.#candidate;
    const { pollMs } = settings;
    // Counted from the last look's beginning: the time that it took comes out of the pause.
    const pollLeftMs = this.#lookedAtMs + pollMs * part - context.nowMs();
    const lastLookMs = this.#acquirableInMs() - pollMs * LAST_LOOK_PART;
    const retryMs = context.jittered(Math.min(LONGEST_RETRY_MS, pollMs / 4));
    const pauseMs = Math.min(isAnswered ? pollLeftMs : retryMs, lastLookMs);
    await context.sleep(Math.max(1, pauseMs), this.#standing.signal);
  }

  /** After the last look: nothing but the rest of the watch is left. */
  async #untilTakeable(): Promise<void> {
    const { context, settings } = this.#candidate;
    const leftMs = this.#acquirableInMs();
    if (leftMs > 0 && leftMs <= settings.pollMs * LAST_LOOK_PART) {
      await context.sleep(leftMs, this.#standing.signal);
    }
  }

  /** In how long the leader that is being watched can be taken for dead; for ever where none is. */
  #acquirableInMs(): number {
    const decision = this.#decide();
    if (decision.kind !== "wait") return Number.POSITIVE_INFINITY;
    return decision.acquirableAtMs - this.#candidate.context.nowMs();
  }

  #tellGap(isAnswered: boolean): number | undefined {
    const gap = this.#gap(isAnswered);
    if (gap === undefined) return undefined;
    const gapMs = this.#candidate.context.nowMs() - gap.sinceMs;
    this.#lastCause = gap.cause;
    this.#candidate.monitor.gap(gap.cause, gapMs, false);
    return gapMs;
  }

  #tellOver(gapMs: number | undefined): number | undefined {
    if (gapMs !== undefined) this.#candidate.monitor.gap(this.#lastCause, gapMs, true);
    return gapMs;
  }

  #gap(isAnswered: boolean): Gap | undefined {
    const { context, ref } = this.#candidate;
    if (!isAnswered) return { cause: "unreachable", sinceMs: this.#answeredAtMs };
    if (this.#vacantSinceMs !== undefined) return { cause: "vacant", sinceMs: this.#vacantSinceMs };
    const seen = context.observations.of(ref.id);
    if (seen?.record.state !== "held" || !this.#isSilent(seen.record.leaseMs)) return undefined;
    return { cause: "silent", sinceMs: seen.sinceMs };
  }
}

function isGrantable(decision: Decision): boolean {
  return decision.kind === "claim" || decision.kind === "take over";
}
