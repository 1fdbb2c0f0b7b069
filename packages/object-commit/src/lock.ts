import {
  type Clock,
  elapsedMsSince,
  type Instant,
  type Item,
  instantOf,
  type Misconfigured,
  mayBeApplied,
  type NoAnswer,
  retry,
  type TablePort,
  unlessMisconfigured,
} from "holdfast/internal";
import {
  type CommitContext,
  callBeyond,
  callWithin,
  type Limit,
  type Patience,
  Pauses,
  retryWithin,
} from "./context.js";
import { acquirableInMs } from "./decide.js";
import { onNoResponse, recordTaken } from "./errors.js";
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
} from "./format.js";
import { expectMet } from "./read.js";

/** The right to write one target until a deadline, by the clock that shows the longest time (R2). */
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
    // Permanently: a wall clock that is set back gives no time back.
    this.#isOver ||= leftMs <= 0 || this.signal?.aborted === true;
    return this.#isOver ? 0 : leftMs;
  }
}

/** The record that refused a claim; undefined if a strongly consistent read found none either. */
interface Found {
  readonly found: CommitRecord | undefined;
}

/** The record as read; undefined if there is no record. */
interface ReadRecord {
  readonly kind: "read";
  readonly record: CommitRecord | undefined;
}

/**
 * Takes, waits for, takes over and ends the commit record of one target, for one operation.
 *
 * Does not follow rule R14 in one case: DynamoDB may apply an unanswered claim after the operation gave up. Other
 * writers then wait for `timeout` times their rate, because the protocol does not show earlier that the writer is gone.
 */
export class CommitLock {
  readonly #context: CommitContext;
  readonly #table: TablePort;
  readonly #target: CommitTarget;
  readonly #token: string;
  /**
   * The record that may be replaced now: an observed dead record, or this operation's own. Otherwise undefined.
   */
  #replaceable: CommitRecord | undefined;
  #hasSeenRival = false;

  constructor(context: CommitContext, table: TablePort, target: CommitTarget, token: string) {
    this.#context = context;
    this.#table = table;
    this.#target = target;
    this.#token = token;
  }

  /**
   * Takes the record: one write if the record is free.
   *
   * A second call takes this operation's own record again, at once. Throws the error that a read of the object shows
   * while waiting; `not-acquired`, `unreachable` or `throttled` when the limit is over.
   */
  async take(limit: Patience): Promise<Held> {
    for (;;) {
      const claimed = await this.#claim(limit);
      if (claimed instanceof Held) {
        this.#replaceable = claimed.record;
        return claimed;
      }
      this.#hasSeenRival = true;
      this.#replaceable = claimed.found && (await this.#watch(claimed.found, limit));
      if (limit.remainingMs() <= 0) this.#giveUp(limit, claimed.found);
    }
  }

  /**
   * Ends the record: this process no longer acts on it. Sends one write without a retry. If the write fails, other
   * writers wait until the record has expired.
   */
  async end({ generation }: CommitRecord): Promise<void> {
    await this.#table.write(
      endCommit(this.#target, this.#token, generation),
      callBeyond(this.#context),
    );
  }

  async #claim(limit: Patience): Promise<Held | Found> {
    const { settings, clock } = this.#context;
    const wanted = this.#wanted();
    const write = claimCommit(this.#target, wanted, this.#replaceable);
    // Before the first send: any of the sends may be applied (R2).
    const start = instantOf(clock);
    let wasUnanswered = false;
    const send = () => this.#table.write(write, callWithin(limit, settings.requestTimeoutMs));
    const sent = await retryWithin(this.#context, limit, send, {
      onMisconfigured: "end",
      onNoAnswer: (answer) => {
        wasUnanswered ||= answer.kind === "unknown";
      },
    });
    if (sent.kind === "over") {
      await this.#endOwn(wasUnanswered ? wanted : undefined);
      const trouble = unlessMisconfigured(sent.trouble as NoAnswer | Misconfigured);
      return this.#giveUpClaim(limit, trouble, sent.isCutShort);
    }
    const { answer } = sent;
    if (answer.kind === "applied") return new Held(clock, wanted, start, limit.signal);
    // If all sends were answered, a refused claim was not applied, even if the record shows this token.
    const mayBeOwn = wasUnanswered || mayBeApplied(answer);
    const found = await this.#foundBy(answer.item, limit).catch(async (error: unknown) => {
      await this.#endOwn(mayBeOwn ? wanted : undefined);
      throw error;
    });
    return mayBeOwn && this.#isOwn(found, wanted)
      ? new Held(clock, wanted, start, limit.signal)
      : { found };
  }

  /**
   * Tries to end what may stand of this operation, so that others do not wait for its expiry: the record it had before, and
   * that of an unanswered claim, which DynamoDB may also apply later.
   */
  async #endOwn(claimed: CommitRecord | undefined): Promise<void> {
    const own = [this.#replaceable, claimed].filter((record) => record?.token === this.#token);
    // At once: a silent table costs one timeout.
    await Promise.all(own.map((record) => record && this.end(record)));
  }

  #giveUpClaim(limit: Patience, trouble: NoAnswer, isCutShort: boolean): never {
    limit.signal?.throwIfAborted();
    // The wait ended because of other writers, and not because of the table: the table has just answered.
    if (isCutShort && this.#hasSeenRival) this.#giveUp(limit, undefined);
    throw onNoResponse(this.#target, "table", trouble);
  }

  #wanted(): CommitClaim & CommitRecord {
    const { settings, clock } = this.#context;
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

  /** Returns the record that refused a claim. Some servers refuse without showing the record. */
  async #foundBy(item: Item | undefined, limit: Patience): Promise<CommitRecord | undefined> {
    if (item !== undefined) return readCommit(this.#target, item);
    const retried = await retry(this.#context, () => this.#read(limit), {
      backoff: new Pauses(this.#context, limit).backoff,
      signal: limit.signal,
      onNoAnswer: () => {
        if (limit.remainingMs() <= 0) this.#giveUp(limit, undefined);
      },
    });
    return retried.kind === "answered" ? retried.answer.record : this.#giveUp(limit, undefined);
  }

  /**
   * Waits until the record may be replaced, and returns the record; or undefined once the record is gone.
   *
   * Each poll reads the object first: usually the record's writer succeeds, and the wait is over.
   */
  async #watch(first: CommitRecord, limit: Patience): Promise<CommitRecord | undefined> {
    const { clock, settings } = this.#context;
    let record = first;
    // After the answer that showed the record: the record's writer counts from before its send.
    let seenMs = clock.monotonicMs();
    for (const pauses = new Pauses(this.#context, limit); ; ) {
      await expectMet(this.#context, this.#target, limit, () => this.#giveUp(limit, record));
      const { timeoutMs } = record;
      limit.outlast(timeoutMs);
      const leftMs = acquirableInMs(
        timeoutMs,
        settings.maxClockSkewRate,
        clock.monotonicMs() - seenMs,
      );
      if (leftMs === 0) return record;
      if (limit.remainingMs() <= 0 || !limit.waitsForOthers) this.#giveUp(limit, record);
      await pauses.wait(leftMs);
      const read = await this.#read(limit);
      // After an unanswered read, read again.
      if (read.kind !== "read") continue;
      if (read.record === undefined) return undefined;
      if (isSameRecord(read.record, record)) continue;
      record = read.record;
      seenMs = clock.monotonicMs();
      pauses.restart();
    }
  }

  async #read(limit: Patience): Promise<ReadRecord | NoAnswer> {
    const answer = unlessMisconfigured(
      await this.#table.read(
        { key: commitKeyOf(this.#target), consistent: true },
        callWithin(limit, this.#context.settings.requestTimeoutMs),
      ),
    );
    if (answer.kind !== "found") return answer;
    return { kind: "read", record: answer.item && readCommit(this.#target, answer.item) };
  }

  #giveUp(limit: Patience, record: CommitRecord | undefined): never {
    limit.signal?.throwIfAborted();
    throw recordTaken(this.#target, limit, record);
  }
}
