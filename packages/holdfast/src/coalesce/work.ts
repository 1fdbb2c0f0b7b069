import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import { HeldLease, type Lease } from "../core/hold/lease.js";
import { freeOnce, releaseNotAcknowledged } from "../core/hold/release.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import { Exclusive } from "../internal/exclusive.js";
import { settlesWithin } from "../internal/settles-within.js";
import { runHolding } from "../locks/locking.js";
import { RUNS } from "../native/native-runs.js";
import type { NoAnswer } from "../platform/retry.js";
import { nextRun, type Run, runIfOwed, runOrNote, type Working } from "./contend.js";
import { type Settled, settle } from "./settle.js";
import { OwedWatch } from "./watch.js";

/** What a call wants to run, and with which settings. */
export interface Call<T = unknown> {
  readonly fn: (lease: Lease) => T | PromiseLike<T>;
  readonly settings: AcquireSettings;
}

/** The result of a call. `by`: the owner label of the present holder, if any; a later run follows the call, or none is owed. */
export type CoalesceResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly by: string | undefined };

/** What is known of the end of a run whose release is not acknowledged. */
interface Ending {
  last?: NoAnswer;
  /** What `onError` was told. */
  told?: HoldfastError;
}

/** The lease of a coalesced run. Only the end of the run releases it: that write also says what the run has covered. */
class RunLease extends HeldLease {
  override release(): Promise<void> {
    const error = new HoldfastError(
      "invalid-argument",
      `The function of coalesce() must not release the lease of "${this.name}". The lease ends with the function.`,
      { lockName: this.name },
    );
    return Promise.reject(error);
  }
}

/** The calls and runs of one client for one name. */
export class Work {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #onIdle: () => void;
  readonly #attempts = new Exclusive();
  readonly #watch: OwedWatch;
  /** The attempt that has not begun, which every call until then shares. */
  #nextAttempt: ReturnType<typeof runOrNote> | undefined;
  /** The newest call: a run that is owed does what it wants. */
  #latest: Call;
  #users = 0;

  constructor(context: AcquireContext, ref: RecordRef, first: Call, onIdle: () => void) {
    this.#context = context;
    this.#ref = ref;
    this.#latest = first;
    this.#onIdle = onIdle;
    this.#watch = new OwedWatch(context, ref, (number) => this.#repay(number));
  }

  /** Runs the call, or notes it for a run that begins later. */
  call<T>(call: Call<T>): Promise<CoalesceResult<T>> {
    this.#latest = call;
    return this.#using(async () => {
      const isShared = this.#nextAttempt !== undefined;
      this.#nextAttempt ??= this.#attempts.run(() => {
        this.#nextAttempt = undefined;
        return runOrNote(this.#working(call.settings));
      });
      const got = await this.#nextAttempt;
      if (got.kind === "noted") {
        this.#await(got.number);
        return { ran: false, by: got.by };
      }
      // The run of another call of this process begins only now, and so after this call.
      if (isShared) return { ran: false, by: got.hold.settings.owner };
      return { ran: true, value: await this.#run(got, call) };
    });
  }

  /** Runs the call if a run is owed. */
  callIfOwed<T>(call: Call<T>): Promise<CoalesceResult<T>> {
    return this.#using(async () => {
      const got = await this.#attempts.run(() => runIfOwed(this.#working(call.settings)));
      if (got.kind === "not-owed") return { ran: false, by: got.by };
      return { ran: true, value: await this.#run(got, call) };
    });
  }

  #working(settings: AcquireSettings): Working {
    return { context: this.#context, ref: this.#ref, settings };
  }

  async #using<T>(task: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await task();
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#onIdle();
    }
  }

  #await(number: bigint): void {
    void this.#using(() => this.#watch.until(number));
  }

  #run<T>(run: Run, call: Call<T>): Promise<T> {
    const { hold } = run;
    const lease = new RunLease(hold);
    let isCut = false;
    const body = async (): Promise<T> => {
      try {
        return await call.fn(lease as RunLease as unknown as Lease);
      } catch (error) {
        isCut = hold.requested.isInterrupted;
        throw error;
      }
    };
    const ending = {
      get signal() {
        return lease.signal;
      },
      get whyStopped() {
        return lease.whyStopped;
      },
      [Symbol.asyncDispose]: () => (isCut ? this.#giveUp(run) : this.#end(run)),
    };
    return runHolding([body], async () => ending);
  }

  /** Ends a run that was interrupted before it had done its work: it does not count, and another follows. Never rejects. */
  async #giveUp(run: Run): Promise<void> {
    await run.release().catch((error: HoldfastError) => this.#context.report(error));
    this.#await(run.covered);
  }

  /** Ends a run. Waits for an answer as long as a release does. Never rejects. */
  async #end(run: Run): Promise<void> {
    const { context, ref } = run.hold;
    const ending: Ending = {};
    const ended = context.tracked(this.#using(() => this.#settle(run, ending)));
    const boundMs = 2 * context.settings.requestTimeoutMs;
    if (await settlesWithin(context.timers, boundMs, ended)) return;
    // `onError` is told now, and `close()` need not tell of it again.
    context.releasing.delete(run.hold);
    ending.told = releaseNotAcknowledged(ref, ending.last, false, ` within ${boundMs} ms`);
    context.report(ending.told);
  }

  async #settle(run: Run, ending: Ending): Promise<void> {
    const { holder } = run.hold.held;
    let settled: Settled;
    try {
      settled = await settle(run, (answer) => {
        ending.last = answer;
      });
    } catch (error) {
      this.#context.abandon(holder);
      // The end of the lease without an answer is no further news.
      const { told } = ending;
      if (told === undefined || told.code !== (error as HoldfastError).code)
        this.#context.report(error as HoldfastError);
      return this.#await(run.covered);
    }
    switch (settled.kind) {
      case "settled":
        this.#context.abandon(holder);
        return this.#watch.covered(run.covered);
      case "lost":
        return this.#await(run.covered);
      // The caller that interrupts comes first: the watch runs what is owed.
      case "interrupted":
        return this.#leave(run, settled.number);
      case "owed": {
        const { number } = settled;
        return this.#inBackground(() => this.#runAgain(run, number));
      }
    }
  }

  /** Frees the record of a run that has ended, with the debt in it. */
  async #leave({ hold }: Run, number: bigint): Promise<void> {
    await freeOnce(this.#context, this.#ref, { known: hold.held }, { keepData: true });
    this.#context.abandon(hold.held.holder);
    this.#await(number);
  }

  /** Runs once more, in place of the release of a run. */
  async #runAgain({ hold, covered }: Run, number: bigint): Promise<void> {
    const context = this.#context;
    const { settings } = this.#latest;
    let next: Run | undefined;
    try {
      const attributes = requireCapability(context.format, RUNS).granted(context.wallMs(), covered);
      next = await nextRun(this.#working({ ...settings, attributes }), hold.held);
    } catch (error) {
      const from = { known: hold.held };
      await freeOnce(context, this.#ref, from, { keepData: true });
      throw error;
    } finally {
      context.abandon(hold.held.holder);
      if (next === undefined) this.#await(number);
    }
    if (next !== undefined) await this.#run(next, this.#latest);
  }

  /** Runs what a call of this process is owed, if the process that should have run it is gone. */
  async #repay(number: bigint): Promise<boolean> {
    const got = await this.#attempts.run(() =>
      runIfOwed(this.#working(this.#latest.settings), number),
    );
    if (got.kind === "not-owed") return false;
    await this.#run(got, this.#latest).catch((error: unknown) => this.#report(error));
    return true;
  }

  #inBackground(task: () => Promise<void>): void {
    const run = () => this.#using(task).catch((error: unknown) => this.#report(error));
    this.#context.inBackground(run);
  }

  /** Reports the error of a run that no caller waits for. A run that the end of the client cuts off is no news. */
  #report(error: unknown): void {
    if (this.#context.closing.aborted) return;
    const { name } = this.#ref;
    const message = `A run of "${name}" that earlier calls were owed has failed${causeText(error)}. It counts as a run.`;
    this.#context.report(
      isHoldfastError(error)
        ? error
        : new HoldfastError("outcome-unknown", message, { lockName: name, cause: error }),
    );
  }
}
