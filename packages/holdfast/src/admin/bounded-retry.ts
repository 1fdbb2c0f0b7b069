import type { AcquireContext } from "../core/acquire/context.js";
import { steady } from "../core/backoff.js";
import { OutageWatch } from "../core/outage-watch.js";
import { requireCapability } from "../core/record/capability.js";
import { watchMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import type { HeldRecord, LeaseRecord } from "../core/record/record.js";
import { titleOf, unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { REQUESTS } from "../native/native-requests.js";
import { type NoAnswer, retry } from "../platform/retry.js";
import { isJudged, type Misconfigured, type Write } from "../platform/table.js";

const PAUSE_MS = 250;

/** What the messages of one kind of call say. */
export interface Wording {
  /** Completes "Lock "a" ..." in the error of a call without an answer. */
  readonly failed: string;
  /** The same, once the record has the request. */
  readonly failedLate: string;
  /** Completes "Lock "a" ..." in the error of a call whose client was closed. */
  readonly closed: string;
}

/** Retries requests with pauses for as long as the caller waits; sends each at least once. */
export class BoundedRetry {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #signal: AbortSignal | undefined;
  readonly #fromMs: number;
  readonly #isGiven: boolean;
  readonly #wording: Wording;
  #limitMs: number;
  #whatFailed: string;

  constructor(
    context: AcquireContext,
    ref: RecordRef,
    wording: Wording,
    signal: AbortSignal | undefined,
    limitMs?: number,
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#wording = wording;
    this.#whatFailed = wording.failed;
    this.#signal = signal;
    this.#fromMs = context.nowMs();
    this.#isGiven = limitMs !== undefined;
    this.#limitMs = limitMs ?? 4 * context.settings.requestTimeoutMs;
  }

  get isOver(): boolean {
    return this.#context.nowMs() - this.#fromMs >= this.#limitMs;
  }

  /** After the request a live holder renews within its lease, and may then be silent for another lease. */
  allowFor({ leaseMs }: HeldRecord): void {
    if (!this.#isGiven) this.#limitMs += 2 * watchMs(leaseMs, this.#context.settings.maxClockDrift);
  }

  /** Notes that the record has the request: even if this call fails later, the holder may end its lease. */
  noteRequest(): void {
    this.#whatFailed = this.#wording.failedLate;
  }

  async pause(): Promise<void> {
    await this.#context.sleep(this.#context.jittered(PAUSE_MS), this.#signal);
    this.#throwIfAborted();
  }

  /** Sends a request, which the caller's signal must end, too. Tells the client's `onError` of an outage while it retries. */
  async send<T>(ask: () => Promise<Result<T>>): Promise<T> {
    this.#throwIfAborted();
    const watch = new OutageWatch(this.#context);
    const retried = await retry(this.#context, ask, {
      backoff: steady(PAUSE_MS),
      signal: this.#signal,
      isOver: () => this.#context.closing.aborted,
      onNoAnswer: (answer) => {
        if (this.isOver && this.#signal?.aborted !== true) {
          const { name, kind } = this.#ref;
          throw unavailableError(name, this.#whatFailed, answer, titleOf([name], kind));
        }
        watch.onNoResponse(answer);
      },
    }).finally(() => watch.dispose());
    if (retried.kind === "answered") return retried.answer.value;
    throw retried.kind === "aborted" ? this.#signal?.reason : this.#closedError();
  }

  #throwIfAborted(): void {
    if (this.#signal?.aborted === true) throw this.#signal.reason;
    if (this.#context.closing.aborted) throw this.#closedError();
  }

  #closedError(): HoldfastError {
    const { name, kind } = this.#ref;
    const message = `${titleOf([name], kind)} ${this.#wording.closed}`;
    return new HoldfastError("closed", message, { lockName: name });
  }
}

interface Answered<T> {
  readonly kind: "answered";
  readonly value: T;
}

export type Result<T> = Answered<T> | NoAnswer | Misconfigured;

export async function readOnce(
  context: AcquireContext,
  ref: RecordRef,
  signal?: AbortSignal,
): Promise<Result<LeaseRecord>> {
  const answer = await context.read({ key: ref.key, consistent: true }, undefined, signal);
  if (answer.kind !== "found") return answer;
  return { kind: "answered", value: context.seeRecord(ref, answer, "strong") };
}

/** Reads the session of a holder, too: only this shows whether the holder is dead. */
export async function readWithSession(
  context: AcquireContext,
  ref: RecordRef,
  signal?: AbortSignal,
): Promise<Result<LeaseRecord>> {
  const read = await readOnce(context, ref, signal);
  const record = read.kind === "answered" ? read.value : undefined;
  if (record?.state === "held" && record.session !== undefined) {
    await context.sessions.look(record.session, signal);
  }
  return read;
}

/** Returns the record after the write, or the record that refused the write. */
export async function writeOnce(
  context: AcquireContext,
  ref: RecordRef,
  write: Write,
  signal?: AbortSignal,
): Promise<Result<LeaseRecord>> {
  const answer = await context.write(write, undefined, signal);
  if (!isJudged(answer)) return answer;
  return { kind: "answered", value: context.seeRecord(ref, answer, "strong") };
}

const NOTIFIED: Answered<true> = { kind: "answered", value: true };

export async function notifyOnce(
  context: AcquireContext,
  session: string,
  holder: string,
  signal?: AbortSignal,
): Promise<Result<true>> {
  const requests = requireCapability(context.format, REQUESTS);
  const write = requests.notify(context.format.codec.refOf("session", session), holder);
  const answer = await context.write(write, undefined, signal);
  // Refused: the session and its leases have ended.
  return isJudged(answer) ? NOTIFIED : answer;
}
