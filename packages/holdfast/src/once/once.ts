import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { acquire } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { Shown } from "../core/context.js";
import type { GrantEvent } from "../core/events.js";
import type { HeldLease, Lease } from "../core/hold/lease.js";
import { underTaskLease } from "../core/hold/task-lease.js";
import { OutageWatch } from "../core/outage-watch.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { checkName } from "../core/record/name.js";
import type { Consistency } from "../core/record/observation.js";
import { isOutageError, type Unavailable, unavailableError } from "../core/unavailable.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { IdMemory } from "../internal/id-memory.js";
import { refuse } from "../internal/option-names.js";
import { perKey } from "../internal/per-key.js";
import { textOf } from "../internal/shown.js";
import { sleep } from "../internal/sleep.js";
import { firstOf, onAbort, type SignalLike } from "../platform/abort.js";
import { isFromWrongClock, occurrenceOf, wrongClockRepaired } from "./due.js";
import { type OnceOptions, type OnceSettings, resolveOnce } from "./options.js";

/**
 * The result of a call. If the call did not run the occurrence, `why` is the reason:
 * - `already`: this occurrence has run or was interrupted, or a later occurrence has begun.
 * - `running`: another caller is running this occurrence, or an earlier occurrence.
 */
export type OnceResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly why: "already" | "running" };

/** How a run ended, as its record tells it. Absent after runs of node-cron, and of earlier versions of this library. */
interface Outcome {
  readonly outcome: "completed" | "failed";
  /** The error of a failed run, cut to 300 characters. */
  readonly error?: string;
}

/** An occurrence that this caller must run. */
interface OnceRun {
  readonly kind: "begun";
  readonly lease: HeldLease;
  /**
   * Records the end of the occurrence and releases the record, with one write. If `atLeastFor` is not over yet, the
   * client sends this write later, in the background. With `ifInterrupted: "rerun"`, another write then records the end
   * at once.
   *
   * With `ifInterrupted: "rerun"`, rejects with `outcome-unknown` if DynamoDB did not acknowledge the write of the end.
   * A caller may then run the occurrence again.
   */
  end(outcome?: Outcome): Promise<void>;
}

/** The data of a record: the last occurrence that a caller has begun. */
interface Begun extends Partial<Outcome> {
  readonly occurrence: string;
  /**
   * Whether the work has ended, with or without an error. Earlier versions of this library did not write this member.
   * Without it, a free record means that the run has ended, and a dead holder means that the run was interrupted.
   */
  readonly ended?: boolean;
}

type Refusal = "already" | "running";

/** The options of a call, and its occurrence. */
interface Call extends OnceSettings {
  readonly occurrence: string;
}

/** An occurrence that this caller has begun, or the reason why the caller has not begun it. */
type OnceBeginning = OnceRun | { readonly kind: Refusal };

// The client remembers each end that DynamoDB did not acknowledge within a lease. An entry matters only until the next
// write of the record.
const MOST_UNRECORDED = 1_000;

/** Runs the occurrences of one client. */
export class Occurrences {
  readonly #context: AcquireContext;
  /** The occurrences that this client has ended, although DynamoDB did not acknowledge the write of the end. */
  readonly #unrecorded = new IdMemory(MOST_UNRECORDED);

  constructor(context: AcquireContext) {
    this.#context = context;
  }

  /** Runs an occurrence, unless another caller runs or ran it. */
  async run<T>(
    ref: RecordRef,
    settings: OnceSettings,
    fn: (lease: Lease) => T | PromiseLike<T>,
  ): Promise<OnceResult<T>> {
    const begun = await this.begin(ref, settings);
    if (begun.kind !== "begun") return { ran: false, why: begun.kind };
    const { lease } = begun;
    let value: T;
    try {
      value = await underTaskLease(lease, fn);
    } catch (error) {
      const ending = begun.end({ outcome: "failed", error: textOf(error) });
      await ending.catch((unrecorded: HoldfastError) => this.#context.report(unrecorded));
      throw error;
    }
    await begun.end({ outcome: "completed" });
    if (lease.signal.aborted) throw lease.signal.reason;
    return { ran: true, value };
  }

  /**
   * Begins an occurrence, or returns the reason why not.
   *
   * Resolves with a run only after the record names the occurrence. From then on every caller finds that the occurrence
   * has begun, even if this run fails. A call that waits for the end of a run also waits for the end of an outage.
   */
  async begin(ref: RecordRef, settings: OnceSettings): Promise<OnceBeginning> {
    const context = this.#context;
    const calledMs = context.nowMs();
    let call: Call | undefined;
    let watch: OutageWatch | undefined;
    const over = firstOf([context.closing, settings.grant.signal]);
    try {
      for (;;) {
        if (context.closing.aborted) throw closed(ref.name);
        const shown = await this.#read(ref, settings, "eventual", watch);
        if (shown !== undefined) {
          // The first answer also shows whether the clock of this machine is wrong.
          call ??= {
            ...settings,
            occurrence: occurrenceOf(context, settings.due, context.nowMs() - calledMs, ref.name),
          };
          const begun = await this.#attempt(ref, call, shown, watch);
          if (begun.kind !== "running" || !settings.reruns) return begun;
        }
        watch ??= new OutageWatch(context);
        await context.sleep(context.jittered(settings.grant.maxPollMs), over.signal);
        if (settings.grant.signal?.aborted === true) throw settings.grant.signal.reason;
      }
    } finally {
      watch?.dispose();
      over.dispose();
    }
  }

  /** `watch`: the call waits, so a request without a result counts as a run that has not ended. */
  async #attempt(
    ref: RecordRef,
    call: Call,
    shown: Shown,
    watch: OutageWatch | undefined,
  ): Promise<OnceBeginning> {
    const seen = await this.#look(ref, call, shown, watch);
    if (seen !== "try") return { kind: seen };
    try {
      return await this.#tryToBegin(ref, call, watch);
    } catch (error) {
      if (watch === undefined || !isHoldfastError(error)) throw error;
      if (isOutageError(error)) return { kind: "running" };
      if (!this.#context.mayHeal(error)) throw error;
      this.#tellOfRefusal(error, watch);
      return { kind: "running" };
    }
  }

  /**
   * Judges an eventually consistent read. Most callers find that another caller was first, and write nothing. If the
   * lease of the run seems over, a strongly consistent read follows: it shows at first sight whether the run is dead.
   */
  async #look(
    ref: RecordRef,
    call: Call,
    shown: Shown,
    watch: OutageWatch | undefined,
  ): Promise<"try" | Refusal> {
    const context = this.#context;
    if (shown.item === undefined) return "try";
    let record = context.seeRecord(ref, shown, "eventual");
    if (context.seemsOver(record, shown) && context.decide(ref, false).kind === "wait") {
      const certain = await this.#read(ref, call, "strong", watch);
      if (certain === undefined) return "running";
      record = context.seeRecord(ref, certain, "strong");
    }
    if (record.state === "absent") return "try";
    const last = begunIn(record.data);
    const order = this.#compare(call.occurrence, last?.occurrence);
    if (order < 0 || (order === 0 && last?.ended === true)) return "already";
    const isFree = record.state === "free";
    if (!isFree && context.decide(ref, false).kind === "wait") return "running";
    const isInterrupted = !(last?.ended ?? isFree);
    return order > 0 || (call.reruns && isInterrupted) ? "try" : "already";
  }

  /** Reads the record. If DynamoDB does not answer, resolves with undefined for a call that waits, and else rejects. */
  async #read(
    ref: RecordRef,
    { grant }: OnceSettings,
    consistency: Consistency,
    watch: OutageWatch | undefined,
  ): Promise<Shown | undefined> {
    const context = this.#context;
    const read = { key: ref.key, consistent: consistency === "strong" };
    const answer = context.unlessLasting(
      await context.read(read, undefined, grant.signal),
      watch !== undefined,
    );
    if (answer.kind === "found") {
      watch?.onResponse();
      return answer;
    }
    if (grant.signal?.aborted === true) throw grant.signal.reason;
    if (watch !== undefined) {
      watch.onNoResponse(answer);
      return undefined;
    }
    throw unavailableError(ref.name, "was not begun", answer, `An occurrence of "${ref.name}"`);
  }

  async #tryToBegin(
    ref: RecordRef,
    call: Call,
    watch: OutageWatch | undefined,
  ): Promise<OnceBeginning> {
    const startMs = this.#context.nowMs();
    let how: GrantEvent["how"] | undefined;
    const onGrant = (granted: GrantEvent["how"]): void => {
      how = granted;
    };
    const onNoResponse = (unavailable: Unavailable): void => watch?.onNoResponse(unavailable);
    const lease = await acquire(this.#context, ref, { ...call.grant, onNoResponse }, onGrant);
    if (lease === undefined) return { kind: "running" };
    const last = begunIn(lease.data);
    const { occurrence } = call;
    const { signal } = call.grant;
    const order = this.#compare(occurrence, last?.occurrence);
    // The data that the grant found decide: another caller may have run the occurrence after the first read.
    const hasEnded = this.#hasEnded(ref, last, how !== "takeover");
    // Until the work begins, the release, also that of `close()`, leaves the record to the last occurrence: nobody would run
    // one that it names without a run. It also records, without another write, whether the last one has ended, as far as this
    // client knows.
    lease.leave({ ...last, ended: hasEnded }, true);
    if (last !== undefined && (order < 0 || (order === 0 && (hasEnded || !call.reruns)))) {
      await lease[Symbol.asyncDispose]();
      return { kind: "already" };
    }
    try {
      // A call without a wait waits here, too, for as long as its lease.
      await unlessAborted(lease.update({ occurrence, ended: false } satisfies Begun), signal);
    } catch (error) {
      // Nothing has begun, and the release may take as long as the refusal or the outage.
      this.#context.inBackground(() => lease[Symbol.asyncDispose]());
      this.#tellOfRefusal(error, watch);
      const reason = isHoldfastError(error, "lost") ? error.reason : undefined;
      if (reason === "closed") throw closed(ref.name);
      if (reason !== undefined && watch !== undefined) return { kind: "running" };
      throw reason === "expired" ? expired(ref.name, error as HoldfastError) : error;
    }
    const isClosing = this.#context.closing.aborted;
    if (signal?.aborted === true || isClosing) {
      void lease[Symbol.asyncDispose]();
      throw isClosing ? closed(ref.name) : signal?.reason;
    }
    if (last !== undefined && occurrence < last.occurrence) {
      this.#context.report(wrongClockRepaired(ref.name, last.occurrence, occurrence));
    }
    lease.leave({ occurrence, ended: true } satisfies Begun);
    const end = (outcome?: Outcome) => this.#end(ref, lease, call, startMs, outcome);
    return { kind: "begun", lease, end };
  }

  #tellOfRefusal(error: unknown, watch: OutageWatch | undefined): void {
    if (!isHoldfastError(error) || !this.#context.mayHeal(error)) return;
    watch?.onNoResponse({ kind: "denied", cause: error });
  }

  /** Returns a positive number if `occurrence` may begin after `last`, or if there is no `last`. */
  #compare(occurrence: string, last: string | undefined): number {
    if (last === undefined || occurrence > last) return 1;
    if (occurrence === last) return 0;
    return isFromWrongClock(this.#context, last, occurrence) ? 1 : -1;
  }

  /** Whether the recorded occurrence has ended; if not, its run was interrupted. */
  #hasEnded(ref: RecordRef, last: Begun | undefined, isFree: boolean): boolean {
    if (last === undefined) return false;
    return (last.ended ?? isFree) || this.#unrecorded.has(keyOf(ref, last.occurrence));
  }

  async #end(
    ref: RecordRef,
    lease: HeldLease,
    { occurrence, atLeastMs, reruns }: Call,
    startMs: number,
    outcome?: Outcome,
  ): Promise<void> {
    const context = this.#context;
    // After the loss of the lease a run counts as interrupted, even if the work was completed.
    if (lease.signal.aborted) return lease[Symbol.asyncDispose]();
    const ended = { occurrence, ended: true, ...outcome } satisfies Begun;
    // The client may close before `atLeastFor` is over.
    lease.leave(ended, true);
    const recorded = async (record: () => Promise<void>): Promise<void> => {
      await record().catch((cause: unknown) => {
        this.#unrecorded.add(keyOf(ref, occurrence));
        const error = notRecorded(ref.name, occurrence, cause);
        if (reruns) throw error;
        context.report(error);
      });
    };
    const leftMs = startMs + atLeastMs - context.nowMs();
    if (leftMs <= 0 || !lease.isHeld) return recorded(() => lease.release());
    // The client releases the record later, and the process may end before that. So with reruns another write records
    // the end now. Without reruns an end that no write has recorded does no harm.
    try {
      if (reruns) await recorded(() => lease.update(ended));
    } finally {
      // The caller does not wait for the release. If the process ends first, the record is free when its lease expires.
      // Only the release is work of the client: `drain()` would wait for all of `atLeastFor`.
      void sleep(context.timers, leftMs, false, context.closing).then(() =>
        context.inBackground(() => recorded(() => lease.release())),
      );
    }
  }
}

/** Settles as the write, or resolves once the signal aborts. */
async function unlessAborted(write: Promise<void>, signal?: SignalLike): Promise<void> {
  let stopListening = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    stopListening = onAbort(signal, resolve);
  });
  await Promise.race([write, stopped]).finally(stopListening);
}

function keyOf({ id }: RecordRef, occurrence: string): string {
  return JSON.stringify([id, occurrence]);
}

function begunIn(data: unknown): Begun | undefined {
  const { occurrence, ended, ...rest } = (data ?? {}) as { [key in keyof Begun]?: unknown };
  if (typeof occurrence !== "string") return undefined;
  // The rest, such as the outcome, stays in the record when another caller frees it.
  return { ...rest, occurrence, ...(typeof ended === "boolean" ? { ended } : {}) } as Begun;
}

function notRecorded(name: string, occurrence: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `Occurrence "${occurrence}" of "${name}" ran to its end, but DynamoDB did not acknowledge the write ` +
      'of this end. A caller with `ifInterrupted: "rerun"` may run the occurrence again.',
    { lockName: name, cause },
  );
}

function expired(name: string, cause: HoldfastError): HoldfastError {
  return new HoldfastError(
    "lost",
    `No occurrence of "${name}" was begun: the lease expired before DynamoDB acknowledged the write that names the occurrence.`,
    { lockName: name, reason: "expired", timing: cause.timing, cause },
  );
}

function closed(name: string): HoldfastError {
  return new HoldfastError(
    "closed",
    `No occurrence of "${name}" was begun: the client was closed. Create a new client.`,
    { lockName: name },
  );
}

const occurrencesOf = /* @__PURE__ */ perKey(
  ({ context }: ClientParts) => new Occurrences(context),
);

/**
 * Runs one occurrence of a scheduled task, unless another instance has begun it. By default at most once,
 * even if the process dies: see {@link OnceOptions.ifInterrupted}. **Not** promised: a run that continues
 * after its signal has aborted can overlap the next occurrence.
 *
 * `fn` gets the lease of the run. Its data are the memory of the task, so that `update()` throws; and its release frees the
 * record when `fn` has ended.
 *
 * Costs a read of half a unit. The caller that runs the occurrence sends three writes more, or four with both
 * `"rerun"` and `atLeastFor`. Rejects with `fn`'s error; with `lost` if the lease was lost before `fn` ended;
 * with `outcome-unknown` if the end was not acknowledged, so that a rerun may follow; with `misconfigured` for an instant
 * that is not due yet by the table's time; with `unreachable` or `throttled` if the occurrence was not begun. Throws
 * `invalid-argument`.
 */
export function once<T>(
  client: Holdfast<FormatTypes>,
  name: string,
  options: OnceOptions,
  fn: (lease: Lease) => T | PromiseLike<T>,
): Promise<OnceResult<T>> {
  const parts = partsOf(client, "once()");
  if (typeof fn !== "function") {
    throw refuse("The last argument of once() must be a function.");
  }
  const settings = resolveOnce(options, parts.defaultOwner);
  const ref = parts.context.format.codec.refOf("once", checkName(name));
  return occurrencesOf(parts).run(ref, settings, fn);
}

/** @internal Begins occurrences and leaves their runs to the caller. Throws `invalid-argument` as `once`. */
export function occurrences(
  client: Holdfast<FormatTypes>,
): (name: string, options: OnceOptions) => Promise<OnceBeginning> {
  const parts = partsOf(client, "nodeCronCoordinator()");
  const { codec } = parts.context.format;
  codec.refOf("once", "any");
  return (name, options) => {
    const settings = resolveOnce(options, parts.defaultOwner);
    return occurrencesOf(parts).begin(codec.refOf("once", checkName(name)), settings);
  };
}
