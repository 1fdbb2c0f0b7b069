import type { AcquireContext } from "../core/acquire/context.js";
import { watchMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import type { ForcedRelease, HeldRecord, LeaseRecord } from "../core/record/record.js";
import { type Unavailable, unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { isoTimeOf } from "../platform/clock.js";
import type { Write } from "../platform/table.js";
import type { InspectOptions } from "./list.js";

/** Options of `Holdfast.forceRelease`. */
export interface ForceReleaseOptions extends InspectOptions {
  /** Why, for the holder and for whoever looks later: 1 to 1,000 characters. */
  readonly reason: string;
  /** Who wants it. Default: the client's `owner`. */
  readonly by?: string | undefined;
  /**
   * Frees the lock at once, without waiting for its holder: **two may then act at once** until the
   * holder's next renewal. Default false.
   */
  readonly now?: boolean | undefined;
  /** For how long to wait until it is free. Default: until the holder's lease must have run out. */
  readonly wait?: Duration | undefined;
  /** Ends the wait, which then rejects with the signal's reason; what was asked stays asked. */
  readonly signal?: AbortSignal | undefined;
}

/** What became of a forced release: the holder has ended unless neither `isFree` nor `successor` says so. */
export interface ForceReleaseResult {
  /** Whether the last answer showed the lock free, or its holder is dead by now. */
  readonly isFree: boolean;
  /** The holder that was asked, or freed; undefined where the lock was free already. */
  readonly holder: string | undefined;
  /** Its label. */
  readonly owner: string | undefined;
  /** The next holder, where the lock was granted again by then: it was neither asked nor freed. */
  readonly successor: { readonly holder: string; readonly owner: string | undefined } | undefined;
}

const LONGEST_TEXT = 1_000;
const WAIT_RANGE = { leastMs: 0, mostMs: 24 * 3_600_000 };
const PAUSE_MS = 250;

/**
 * Asks the holder of a record to end, or frees the record; see `Holdfast.forceRelease`. In this order:
 *
 * 1. Read the record: whom to ask.
 * 2. Write `forced` into it. A holder that moves to its session afterwards finds `forced` in the move's answer.
 * 3. Tell the session that the answer to step 2 shows: a holder that moved before reads its record no more.
 * 4. With `now`, free the record. Only a holder that will hear of it is freed, so an operator that dies
 *    before this step leaves a lock that is held as before, and a second call begins anew.
 */
export async function forceRelease(
  context: AcquireContext,
  ref: RecordRef,
  options: Partial<ForceReleaseOptions>,
  defaultBy: string,
): Promise<ForceReleaseResult> {
  const { reason, by = defaultBy, now = false, wait, signal } = options;
  if (!isText(reason)) throw noText("reason");
  if (!isText(by)) throw noText("by");
  const { force } = context.format;
  if (force === undefined) {
    throw refuse(`Records of format "${context.format.name}" have no room for a forced release.`);
  }
  const limitMs = wait === undefined ? undefined : durationMs("wait", wait, WAIT_RANGE);
  const patience = new Patience(context, ref, limitMs, signal);
  const first = await patience.insist(() => lookOnce(context, ref));
  if (first.state !== "held") return resultOf(context, ref, undefined, first);
  patience.knows(first);
  const at = isoTimeOf(context.wallMs());
  const forced = { holder: first.holder, by, reason, at, now: false };
  const asked = await patience.insist(() => writeOnce(context, ref, force(ref, forced)));
  if (!names(asked, first)) return resultOf(context, ref, first, asked);
  patience.wasAsked();
  const { session } = asked;
  if (session !== undefined)
    await patience.insist(() => notifyOnce(context, session, first.holder));
  const last = now
    ? await patience.insist(() => writeOnce(context, ref, freeingOf(context, ref, forced)))
    : await untilOver(context, ref, first, patience);
  return resultOf(context, ref, first, last);
}

function freeingOf(context: AcquireContext, ref: RecordRef, forced: ForcedRelease): Write {
  const { holder } = forced;
  const note = { ...forced, now: true };
  return context.freeing(
    ref,
    { maybe: [holder] },
    { keepData: true, lastHolder: holder, forced: note },
  );
}

/** Resolves to the record once that holder is gone, or was watched dead, or the wait is over. */
async function untilOver(
  context: AcquireContext,
  ref: RecordRef,
  first: HeldRecord,
  patience: Patience,
): Promise<LeaseRecord> {
  for (;;) {
    await patience.pause();
    const record = await patience.insist(() => lookOnce(context, ref));
    if (!names(record, first) || isDead(context, ref) || patience.isOver) return record;
  }
}

function names(record: LeaseRecord, { holder }: HeldRecord): record is HeldRecord {
  return record.state === "held" && record.holder === holder;
}

// A queue before the lock says nothing about its holder.
function isDead(context: AcquireContext, ref: RecordRef): boolean {
  const { kind } = context.decide(ref, false, { kind: "barge" });
  return kind === "take over" || kind === "end session";
}

function resultOf(
  context: AcquireContext,
  ref: RecordRef,
  victim: HeldRecord | undefined,
  found: LeaseRecord,
): ForceReleaseResult {
  const next = found.state === "held" && found.holder !== victim?.holder ? found : undefined;
  return {
    isFree: found.state !== "held" || (next === undefined && isDead(context, ref)),
    holder: victim?.holder,
    owner: victim?.owner,
    successor: next === undefined ? undefined : { holder: next.holder, owner: next.owner },
  };
}

/** Sends what must be answered, with pauses, for as long as the caller waits; at least once. */
class Patience {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #signal: AbortSignal | undefined;
  readonly #fromMs: number;
  readonly #isGiven: boolean;
  #limitMs: number;
  #whatFailed = "could not be released by force";

  constructor(
    context: AcquireContext,
    ref: RecordRef,
    limitMs: number | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#signal = signal;
    this.#fromMs = context.nowMs();
    this.#isGiven = limitMs !== undefined;
    this.#limitMs = limitMs ?? 4 * context.settings.requestTimeoutMs;
  }

  get isOver(): boolean {
    return this.#context.nowMs() - this.#fromMs >= this.#limitMs;
  }

  /** Once asked, a live holder renews within its lease, and then is silent for one. */
  knows({ leaseMs }: HeldRecord): void {
    if (!this.#isGiven) this.#limitMs += 2 * watchMs(leaseMs, this.#context.settings.maxClockDrift);
  }

  /** From now on a failure leaves a request that its holder may honour. */
  wasAsked(): void {
    this.#whatFailed =
      "was not released by force: its holder was asked to end, but may not know it; call forceRelease() again";
  }

  async pause(): Promise<void> {
    await this.#context.sleep(this.#context.jittered(PAUSE_MS), this.#signal);
    this.#throwIfAborted();
  }

  async insist<T>(ask: () => Promise<{ readonly told: T } | Unavailable>): Promise<T> {
    for (;;) {
      this.#throwIfAborted();
      const answer = await ask();
      if ("told" in answer) return answer.told;
      if (this.isOver) throw unavailableError(this.#ref.name, this.#whatFailed, answer);
      await this.pause();
    }
  }

  #throwIfAborted(): void {
    if (this.#signal?.aborted === true) throw this.#signal.reason;
    if (this.#context.closing.aborted) throw closedError(this.#ref.name);
  }
}

type Told<T> = { readonly told: T } | Unavailable;

async function lookOnce(context: AcquireContext, ref: RecordRef): Promise<Told<LeaseRecord>> {
  const { requestTimeoutMs } = context.settings;
  const answer = await context.read({ key: ref.key, consistent: true }, requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") return answer;
  const record = context.seeRecord(ref, answer.item, "strong");
  // Without a look at its session nobody could tell whether it is dead.
  if (record.state === "held" && record.session !== undefined) {
    await context.sessions.look(record.session, requestTimeoutMs);
  }
  return { told: record };
}

/** Answers what the record says after the write, or as it refused it. */
async function writeOnce(
  context: AcquireContext,
  ref: RecordRef,
  write: Write,
): Promise<Told<LeaseRecord>> {
  const answer = await context.write(write, context.settings.requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "applied" && answer.kind !== "refused") return answer;
  return { told: context.seeRecord(ref, answer.item, "strong") };
}

async function notifyOnce(
  context: AcquireContext,
  session: string,
  holder: string,
): Promise<Told<true>> {
  const write = context.format.notify?.(context.format.refOf("session", session), holder);
  if (write === undefined) return { told: true };
  const answer = await context.write(write, context.settings.requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  // Refused: the session has ended, and its leases with it.
  return answer.kind === "applied" || answer.kind === "refused" ? { told: true } : answer;
}

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

function closedError(lockName: string): HoldfastError {
  const message = `The client was closed while it released lock "${lockName}" by force; what was asked stays asked.`;
  return new HoldfastError("closed", message, { lockName });
}

function isText(text: unknown): text is string {
  return typeof text === "string" && text.length > 0 && text.length <= LONGEST_TEXT;
}

function noText(option: string): HoldfastError {
  return refuse(`The option \`${option}\` must be a text of 1 to ${LONGEST_TEXT} characters.`);
}
