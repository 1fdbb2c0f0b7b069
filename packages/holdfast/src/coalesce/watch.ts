import type { AcquireContext } from "../core/acquire/context.js";
import { doubling, spread } from "../core/backoff.js";
import type { RecordRef } from "../core/record/format.js";
import { type HoldfastError, isHoldfastError } from "../errors.js";
import { sleep } from "../internal/sleep.js";
import { Abort, onAbort } from "../platform/abort.js";
import type { Backoff } from "../platform/retry.js";
import { giveBackKept, isOwed } from "./contend.js";

// The pause before a record is looked at that nobody holds, or whose holder is dead. The watches of other processes are
// spread over it, too.
const FREE_PAUSE_MS = 1_000;
const LONGEST_SILENCE_MS = 30_000;
const OUTAGES: readonly string[] = ["unreachable", "throttled", "closed"];
// Watches of many processes for one record look at different times of this part of a lease.
const SPREAD_PART = 1 / 4;

/**
 * Watches that a noted call is followed by a run, for all calls of one client for one name: the holder that should run may
 * die, or may know nothing of calls. Reads the record once a lease of the holder, half a unit each, and runs what is owed
 * once the holder is dead or gone. Ends with the client. Keeps no process alive.
 */
export class OwedWatch {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  /** Runs if a call up to the number is not covered. Resolves with whether it ran; rejects with an error of the table. */
  readonly #repay: (number: bigint) => Promise<boolean>;
  /** The number of the last noted call; undefined if a run has covered it. */
  #number: bigint | undefined;
  #isOn = false;
  #pause = new Abort();

  constructor(
    context: AcquireContext,
    ref: RecordRef,
    repay: (number: bigint) => Promise<boolean>,
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#repay = repay;
  }

  /** Watches for a run that covers this number, too. */
  async until(number: bigint): Promise<void> {
    if (this.#number === undefined || number > this.#number) this.#number = number;
    if (this.#isOn) return;
    this.#isOn = true;
    const { closing } = this.#context;
    const forget = onAbort(closing, () => this.#pause.abort());
    let silence: Backoff | undefined;
    while (this.#number !== undefined && !closing.aborted) {
      this.#pause = new Abort();
      await sleep(this.#context.timers, this.#pauseMs(silence), false, this.#pause);
      const owed = this.#number;
      if (owed === undefined || closing.aborted) continue;
      const isAnswered = await this.#context.tracked(this.#look(owed));
      silence = isAnswered ? undefined : (silence ?? doubling(FREE_PAUSE_MS, LONGEST_SILENCE_MS));
    }
    forget();
    this.#isOn = false;
  }

  /** A run has covered the calls up to this number. */
  covered(number: bigint): void {
    if (this.#number === undefined || number < this.#number) return;
    this.#number = undefined;
    this.#pause.abort();
  }

  /** Looks once, and runs what is owed. Resolves with whether the table answered. Never rejects. */
  async #look(number: bigint): Promise<boolean> {
    const context = this.#context;
    try {
      const read = { key: this.#ref.key, consistent: false };
      const shown = await context.read(read, undefined, context.closing);
      const answer = context.unlessLasting(shown, true);
      if (answer.kind !== "found") return false;
      if (answer.item !== undefined) {
        const record = context.seeRecord(this.#ref, answer, "eventual");
        if (!isOwed(record, number)) this.covered(number);
        if (this.#number === number) await giveBackKept({ context, ref: this.#ref });
        const isAlive = this.#decide().kind === "wait" && !context.seemsOver(record, answer);
        if (isAlive || this.#number !== number) return true;
      }
      // A run of this process, begun after the call, is enough, even if someone has set the numbers back.
      if (await this.#repay(number)) this.covered(number);
      return true;
    } catch (error) {
      // Every other error of the table lasts until an operator corrects it, so it is told once.
      const isOutage = isHoldfastError(error) && OUTAGES.includes(error.code);
      if (!isOutage) context.reportOnce(`owed ${this.#ref.id}`, () => error as HoldfastError);
      return false;
    }
  }

  #decide() {
    return this.#context.decide(this.#ref, false, { kind: "barge" });
  }

  #pauseMs(silence: Backoff | undefined): number {
    const context = this.#context;
    const fraction = context.random.fraction();
    if (silence !== undefined) return silence(fraction);
    const decision = this.#decide();
    if (decision.kind !== "wait") return spread(FREE_PAUSE_MS, fraction);
    return Math.max(0, decision.acquirableAtMs - context.nowMs()) * (1 + SPREAD_PART * fraction);
  }
}
