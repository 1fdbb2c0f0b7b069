import {
  type CommitClaim,
  type CommitRecord,
  type CommitTarget,
  claimCommit,
  commitKeyOf,
  endCommit,
  generationAfter,
  isSameRecord,
  readCommit,
} from "../formats/object-commit.js";
import { type Clock, elapsedMsSince, type Instant, instantOf } from "../platform/clock.js";
import { type Item, mayBeApplied, type TablePort } from "../platform/table.js";
import { type Around, callBeyond, callWithin, type Limit, Pauses } from "./around.js";
import { acquirableInMs } from "./decide.js";
import { onNoResponse, recordTaken } from "./errors.js";
import { expectMet } from "./look.js";

/** The right to write one target, until its own deadline, by the clock that says longest (R2). */
export class Held implements Limit {
  readonly record: CommitRecord;
  readonly signal: AbortSignal | undefined;
  readonly #clock: Clock;
  readonly #start: Instant;
  #isOver = false;

  constructor(clock: Clock, record: CommitRecord, start: Instant, signal?: AbortSignal) {
    this.record = record;
    this.signal = signal;
    this.#clock = clock;
    this.#start = start;
  }

  remainingMs(): number {
    const leftMs = this.record.timeoutMs - elapsedMsSince(this.#start, this.#clock);
    // For good: a clock that is stepped back gives nothing back.
    this.#isOver ||= leftMs <= 0 || this.signal?.aborted === true;
    return this.#isOver ? 0 : leftMs;
  }
}

/** Another writer's record, or none: refused without an item, and absent for a strong read too. */
interface Found {
  readonly found: CommitRecord | undefined;
}

/**
 * The commit record of one target, for one operation: taken, waited for, taken over, ended.
 *
 * R14 cannot be kept wholly: an unanswered claim that lands after it was given up keeps others out for
 * `timeout` times their rate, since the protocol has no earlier sign of death.
 */
export class CommitLock {
  readonly #around: Around;
  readonly #table: TablePort;
  readonly #target: CommitTarget;
  readonly #token: string;
  /** What may be replaced now: a record that was watched, or this operation's own; undefined: none. */
  #replaceable: CommitRecord | undefined;

  constructor(around: Around, table: TablePort, target: CommitTarget, token: string) {
    this.#around = around;
    this.#table = table;
    this.#target = target;
    this.#token = token;
  }

  /**
   * Takes the record: one write, where nobody has it. Called again, it takes this operation's own
   * record anew, at once. Throws what a look at the object says while it waits; `not-acquired`,
   * `unreachable` or `throttled` when the limit is over.
   */
  async take(limit: Limit): Promise<Held> {
    for (;;) {
      const claimed = await this.#claim(limit);
      if (claimed instanceof Held) {
        this.#replaceable = claimed.record;
        return claimed;
      }
      this.#replaceable = claimed.found && (await this.#watch(claimed.found, limit));
      if (limit.remainingMs() <= 0) this.#giveUp(limit, claimed.found);
    }
  }

  /** Says that nobody acts on the record any more. One write, once: unheard, others wait it out. */
  async end({ generation }: CommitRecord): Promise<void> {
    await this.#table.write(
      endCommit(this.#target, this.#token, generation),
      callBeyond(this.#around),
    );
  }

  async #claim(limit: Limit): Promise<Held | Found> {
    const { settings, clock } = this.#around;
    const wanted = this.#wanted();
    const write = claimCommit(this.#target, wanted, this.#replaceable);
    // From before the first send: any of them may be the one that was carried out.
    const start = instantOf(clock);
    let wasUnanswered = false;
    for (const pauses = new Pauses(this.#around, limit); ; ) {
      const answer = await this.#table.write(write, callWithin(limit, settings.requestTimeoutMs));
      if (answer.kind === "applied") return new Held(clock, wanted, start, limit.signal);
      if (answer.kind === "misconfigured") throw answer.error;
      if (answer.kind === "refused") {
        const found = await this.#foundBy(answer.item, limit);
        // All sends answered, a refused one was not applied, whatever token the record shows.
        return (wasUnanswered || mayBeApplied(answer)) && this.#isOwn(found, wanted)
          ? new Held(clock, wanted, start, limit.signal)
          : { found };
      }
      wasUnanswered ||= answer.kind === "unknown";
      await pauses.wait();
      if (limit.remainingMs() > 0) continue;
      // It may have been carried out, or still be; this is all that can be done about it.
      if (answer.kind === "unknown") await this.end(wanted);
      limit.signal?.throwIfAborted();
      throw onNoResponse(this.#target, "table", answer);
    }
  }

  #wanted(): CommitClaim & CommitRecord {
    const { settings, clock } = this.#around;
    const wallMs = clock.wallMs() + this.#table.clockCorrectionMs;
    return {
      generation: generationAfter(this.#replaceable),
      timeoutMs: settings.timeoutMs,
      ttlEpochS: BigInt(Math.floor((wallMs + settings.ttlMs) / 1000)),
      token: this.#token,
      owner: settings.owner,
    };
  }

  #isOwn(found: CommitRecord | undefined, wanted: CommitRecord): boolean {
    return found?.token === this.#token && found.generation === wanted.generation;
  }

  /** The record that refused a claim. Some servers refuse without showing it. */
  async #foundBy(item: Item | undefined, limit: Limit): Promise<CommitRecord | undefined> {
    if (item !== undefined) return readCommit(this.#target, item);
    for (const pauses = new Pauses(this.#around, limit); ; ) {
      const read = await this.#read(limit);
      if (read !== "trouble") return read;
      if (limit.remainingMs() <= 0) this.#giveUp(limit, undefined);
      await pauses.wait();
    }
  }

  /**
   * Waits until the record may be replaced, and answers it; or undefined when it is gone. At every look
   * the object is looked at first: usually its writer succeeds, and there is nothing left to wait for.
   */
  async #watch(first: CommitRecord, limit: Limit): Promise<CommitRecord | undefined> {
    const { clock, settings } = this.#around;
    let record = first;
    // After the answer that showed it: its writer counts from before it was sent.
    let seenMs = clock.monotonicMs();
    for (const pauses = new Pauses(this.#around, limit); ; ) {
      await expectMet(this.#around, this.#target, limit);
      const { timeoutMs } = record;
      const leftMs = acquirableInMs(
        timeoutMs,
        settings.maxClockSkewRate,
        clock.monotonicMs() - seenMs,
      );
      if (leftMs === 0) return record;
      if (limit.remainingMs() <= 0) this.#giveUp(limit, record);
      await pauses.wait(leftMs);
      const read = await this.#read(limit);
      if (read === undefined) return undefined;
      if (read === "trouble" || isSameRecord(read, record)) continue;
      record = read;
      seenMs = clock.monotonicMs();
      pauses.restart();
    }
  }

  async #read(limit: Limit): Promise<CommitRecord | undefined | "trouble"> {
    const answer = await this.#table.read(
      { key: commitKeyOf(this.#target), consistent: true },
      callWithin(limit, this.#around.settings.requestTimeoutMs),
    );
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind !== "found") return "trouble";
    return answer.item && readCommit(this.#target, answer.item);
  }

  #giveUp(limit: Limit, record: CommitRecord | undefined): never {
    limit.signal?.throwIfAborted();
    throw recordTaken(this.#target, this.#around.settings.waitMs, record);
  }
}
