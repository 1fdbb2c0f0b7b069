import { acquire } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { GrantEvent } from "../core/events.js";
import type { Lease } from "../core/hold/lease.js";
import type { RecordRef } from "../core/record/format.js";
import { unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { IdMemory } from "../internal/id-memory.js";
import { sleep } from "../internal/sleep.js";
import type { OnceSettings } from "./options.js";

/**
 * What became of a call: it ran, or why it did not. `already`: this occurrence, or a later one, has run,
 * or was interrupted. `running`: this one, or an earlier one, is being run elsewhere.
 */
export type OnceResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly why: "already" | "running" };

/** An occurrence that this caller is the one to run. */
export interface OnceRun {
  readonly lease: Lease;
  /**
   * Records that the occurrence has ended, and releases the record, at once or when `atLeastFor` is over.
   * Where interrupted occurrences are run again it rejects with `outcome-unknown` if DynamoDB did not
   * acknowledge the record of the end: a caller may then run the occurrence again.
   */
  end(): Promise<void>;
}

/** What a record of this kind carries: the occurrence that was begun last. */
interface Begun {
  readonly occurrence: string;
  /**
   * Whether its work has ended, however it ended. A version of this library that did not write it left
   * it out: then a free record stands for a run that has ended, and a dead holder for an interrupted one.
   */
  readonly ended?: boolean;
}

type Refusal = "already" | "running";

// One for each end that was not acknowledged within a lease; each matters until its record is written again.
const MOST_UNRECORDED = 1_000;

/** The occurrences that one client runs. */
export class Occurrences {
  readonly #context: AcquireContext;
  /** Those that ended here, while no answer says that their records tell of it. */
  readonly #unrecorded = new IdMemory(MOST_UNRECORDED);

  constructor(context: AcquireContext) {
    this.#context = context;
  }

  /** Runs an occurrence here if it is run nowhere else. */
  async run<T>(
    ref: RecordRef,
    settings: OnceSettings,
    fn: (signal: AbortSignal, lease: Lease) => T | PromiseLike<T>,
  ): Promise<OnceResult<T>> {
    const begun = await this.begin(ref, settings);
    if (typeof begun === "string") return { ran: false, why: begun };
    const { lease } = begun;
    let value: T;
    try {
      value = await fn(lease.signal, lease);
    } catch (error) {
      await begun.end().catch((unrecorded: HoldfastError) => this.#context.report(unrecorded));
      throw error;
    }
    await begun.end();
    if (lease.signal.aborted) throw lease.signal.reason;
    return { ran: true, value };
  }

  /**
   * Begins an occurrence, or says why not. The record names it before this resolves, so no caller begins
   * it as a new one after that, whatever becomes of this run.
   */
  async begin(ref: RecordRef, settings: OnceSettings): Promise<OnceRun | Refusal> {
    const context = this.#context;
    for (;;) {
      const seen = await this.#look(ref, settings);
      const begun = seen === "try" ? await this.#tryToBegin(ref, settings) : seen;
      if (begun !== "running" || !settings.reruns) return begun;
      await context.sleep(context.jittered(settings.grant.maxPollMs), settings.grant.signal);
      if (settings.grant.signal?.aborted === true) throw settings.grant.signal.reason;
      if (context.closing.aborted) throw closed(ref.name);
    }
  }

  /** One cheap read: most callers find that others were faster, and write nothing. */
  async #look(ref: RecordRef, settings: OnceSettings): Promise<"try" | Refusal> {
    const context = this.#context;
    const read = { key: ref.key, consistent: false };
    const answer = await context.read(
      read,
      context.settings.requestTimeoutMs,
      settings.grant.signal,
    );
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind !== "found") {
      if (settings.grant.signal?.aborted === true) throw settings.grant.signal.reason;
      throw unavailableError(ref.name, "was not begun", answer);
    }
    if (answer.item === undefined) return "try";
    const record = context.seeRecord(ref, answer.item, "eventual");
    if (record.state === "absent") return "try";
    const last = begunIn(record.data);
    const order = compare(settings.occurrence, last?.occurrence);
    if (order < 0 || (order === 0 && last?.ended === true)) return "already";
    const isFree = record.state === "free";
    if (!isFree && context.decide(ref, false).kind === "wait") return "running";
    const isInterrupted = !(last?.ended ?? isFree);
    return order > 0 || (settings.reruns && isInterrupted) ? "try" : "already";
  }

  async #tryToBegin(ref: RecordRef, settings: OnceSettings): Promise<OnceRun | Refusal> {
    const startMs = this.#context.nowMs();
    let how: GrantEvent["how"] | undefined;
    const onGrant = (granted: GrantEvent["how"]): void => {
      how = granted;
    };
    const lease = await acquire(this.#context, ref, settings.grant, onGrant);
    if (lease === undefined) return "running";
    const last = begunIn(lease.data);
    const order = compare(settings.occurrence, last?.occurrence);
    // By the record as this grant found it: since it was read, another caller may have run the occurrence.
    const hasEnded = this.#hasEnded(ref, last, how !== "takeover");
    const { occurrence } = settings;
    if (last !== undefined && (order < 0 || (order === 0 && (hasEnded || !settings.reruns)))) {
      // What is known of its end is recorded with this release, which costs nothing.
      lease.leave({ ...last, ended: hasEnded } satisfies Begun);
      await lease[Symbol.asyncDispose]();
      return "already";
    }
    try {
      await lease.update({ occurrence, ended: false } satisfies Begun);
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error;
    }
    lease.leave({ occurrence, ended: true } satisfies Begun);
    return { lease, end: () => this.#end(ref, lease, settings, startMs) };
  }

  /** Whether the run of the occurrence that a record names has ended; if not, it was interrupted. */
  #hasEnded(ref: RecordRef, last: Begun | undefined, isFree: boolean): boolean {
    if (last === undefined) return false;
    return (last.ended ?? isFree) || this.#unrecorded.has(keyOf(ref, last.occurrence));
  }

  async #end(
    ref: RecordRef,
    lease: Lease,
    { occurrence, atLeastMs, reruns }: OnceSettings,
    startMs: number,
  ): Promise<void> {
    const context = this.#context;
    // A run that lost its lease counts as interrupted, even if its work went on to its end.
    if (lease.signal.aborted) return lease[Symbol.asyncDispose]();
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
    // The release comes later, and the process may have ended by then. Without reruns that changes nothing.
    if (reruns) await recorded(() => lease.update({ occurrence, ended: true } satisfies Begun));
    // The caller does not wait for it. If the process ends first, the record is free when its lease expires.
    context.inBackground(async () => {
      await sleep(context.timers, leftMs, false, context.closing);
      await recorded(() => lease.release());
    });
  }
}

function keyOf({ id }: RecordRef, occurrence: string): string {
  return JSON.stringify([id, occurrence]);
}

function begunIn(data: unknown): Begun | undefined {
  const { occurrence, ended } = (data ?? {}) as { readonly [key in keyof Begun]?: unknown };
  if (typeof occurrence !== "string") return undefined;
  return typeof ended === "boolean" ? { occurrence, ended } : { occurrence };
}

/** Above 0: the first is later, or there is no second. */
function compare(occurrence: string, last: string | undefined): number {
  if (last === undefined || occurrence > last) return 1;
  return occurrence === last ? 0 : -1;
}

function notRecorded(name: string, occurrence: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `Occurrence "${occurrence}" of "${name}" was run to its end, but DynamoDB did not acknowledge the record ` +
      'of that. A caller with `ifInterrupted: "rerun"` may run it again.',
    { lockName: name, cause },
  );
}

function closed(name: string): HoldfastError {
  return new HoldfastError("closed", `The client was closed while "${name}" was waited for.`, {
    lockName: name,
  });
}
