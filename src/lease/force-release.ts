import { HoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { isoTimeOf } from "../platform/clock.js";
import type { Write } from "../platform/table.js";
import { watchMs } from "./decide.js";
import type { RecordRef } from "./format.js";
import type { Kernel } from "./kernel.js";
import type { InspectOptions } from "./list.js";
import type { ForcedRelease, HeldRecord, LeaseRecord } from "./record.js";
import { type Trouble, troubleError } from "./trouble.js";

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

/** What became of a forced release. */
export interface ForceReleaseResult {
  /** Whether the lock is free, or its holder is dead by now; false at the end of the wait. */
  readonly isFree: boolean;
  /** The holder that was asked, or freed; undefined where nobody held it. */
  readonly holder: string | undefined;
  /** Its label. */
  readonly owner: string | undefined;
}

const LONGEST_TEXT = 1_000;
const WAIT_RANGE = { leastMs: 0, mostMs: 24 * 3_600_000 };
const PAUSE_MS = 250;

/** Asks the holder of a record to end, or ends it; see `Holdfast.forceRelease`. */
export async function forceRelease(
  kernel: Kernel,
  ref: RecordRef,
  options: ForceReleaseOptions,
  defaultBy: string,
): Promise<ForceReleaseResult> {
  const { reason, by = defaultBy, now = false, wait, signal } = options;
  checkText("reason", reason);
  checkText("by", by);
  if (kernel.format.force === undefined) {
    throw refuse(`Records of format "${kernel.format.name}" have no room for a forced release.`);
  }
  const limitMs = wait === undefined ? undefined : durationMs("wait", wait, WAIT_RANGE);
  const patience = new Patience(kernel, ref, limitMs, signal);
  const first = await patience.insist(() => lookOnce(kernel, ref));
  if (first.state !== "held") return { isFree: true, holder: undefined, owner: undefined };
  patience.knows(first);
  const at = isoTimeOf(kernel.wallMs());
  const forced = { holder: first.holder, by, reason, at, now };
  const victim = { holder: first.holder, owner: first.owner };
  const isOver = await patience.insist(() =>
    writeOnce(kernel, ref, writeOf(kernel, ref, first, forced)),
  );
  // Freed at once, a refusal may be of the second sending: its holder is to hear of it all the same.
  if (isOver && !now) return { isFree: true, ...victim };
  const session = first.session;
  if (session !== undefined) await patience.insist(() => notifyOnce(kernel, session, first.holder));
  if (now) return { isFree: true, ...victim };
  return { isFree: await untilOver(kernel, ref, first, patience), ...victim };
}

function writeOf(kernel: Kernel, ref: RecordRef, held: HeldRecord, forced: ForcedRelease): Write {
  if (!forced.now) return kernel.format.force?.(ref, forced) as Write;
  const from = { known: { holder: held.holder, fence: held.fence }, maybe: [] };
  return kernel.freeing(ref, from, { keepData: true, lastHolder: held.holder, forced });
}

/** Resolves once that holder is gone, or was watched dead; to whether that came within the wait. */
async function untilOver(
  kernel: Kernel,
  ref: RecordRef,
  first: HeldRecord,
  patience: Patience,
): Promise<boolean> {
  for (;;) {
    await patience.pause();
    const record = await patience.insist(() => lookOnce(kernel, ref));
    if (record.state !== "held" || record.holder !== first.holder) return true;
    const { kind } = kernel.decide(ref, false);
    if (kind === "take over" || kind === "end session") return true;
    if (patience.isOver) return false;
  }
}

/** Sends what must be answered, with pauses, for as long as the caller waits; at least once. */
class Patience {
  readonly #kernel: Kernel;
  readonly #ref: RecordRef;
  readonly #signal: AbortSignal | undefined;
  readonly #fromMs: number;
  readonly #isGiven: boolean;
  #limitMs: number;

  constructor(
    kernel: Kernel,
    ref: RecordRef,
    limitMs: number | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#kernel = kernel;
    this.#ref = ref;
    this.#signal = signal;
    this.#fromMs = kernel.nowMs();
    this.#isGiven = limitMs !== undefined;
    this.#limitMs = limitMs ?? 4 * kernel.settings.requestTimeoutMs;
  }

  get isOver(): boolean {
    return this.#kernel.nowMs() - this.#fromMs >= this.#limitMs;
  }

  /** Once asked, a live holder renews within its lease, and then is silent for one. */
  knows({ leaseMs }: HeldRecord): void {
    if (!this.#isGiven) this.#limitMs += 2 * watchMs(leaseMs, this.#kernel.settings.driftBound);
  }

  async pause(): Promise<void> {
    await this.#kernel.sleep(this.#kernel.jittered(PAUSE_MS), this.#signal);
    this.#throwIfAborted();
  }

  async insist<T>(ask: () => Promise<{ readonly told: T } | Trouble>): Promise<T> {
    for (;;) {
      this.#throwIfAborted();
      const answer = await ask();
      if ("told" in answer) return answer.told;
      if (this.isOver) throw troubleError(this.#ref.name, "could not be released by force", answer);
      await this.pause();
    }
  }

  #throwIfAborted(): void {
    if (this.#signal?.aborted === true) throw this.#signal.reason;
    if (this.#kernel.closing.aborted) throw closedError(this.#ref.name);
  }
}

type Told<T> = { readonly told: T } | Trouble;

async function lookOnce(kernel: Kernel, ref: RecordRef): Promise<Told<LeaseRecord>> {
  const { requestTimeoutMs } = kernel.settings;
  const answer = await kernel.read({ key: ref.key, consistent: true }, requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") return answer;
  const record = kernel.seeRecord(ref, answer.item, "strong");
  // Without a look at its session nobody could tell whether it is dead.
  if (record.state === "held" && record.session !== undefined) {
    await kernel.sessions.look(record.session, requestTimeoutMs);
  }
  return { told: record };
}

/** Answers whether the record named that holder no more. */
async function writeOnce(kernel: Kernel, ref: RecordRef, write: Write): Promise<Told<boolean>> {
  const answer = await kernel.write(write, kernel.settings.requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "applied" && answer.kind !== "refused") return answer;
  kernel.seeRecord(ref, answer.item, "strong");
  return { told: answer.kind === "refused" };
}

async function notifyOnce(kernel: Kernel, session: string, holder: string): Promise<Told<true>> {
  const write = kernel.format.notify?.(kernel.format.refOf("session", session), holder);
  if (write === undefined) return { told: true };
  const answer = await kernel.write(write, kernel.settings.requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  // Refused: the session has ended, and its leases with it.
  return answer.kind === "applied" || answer.kind === "refused" ? { told: true } : answer;
}

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

function closedError(lockName: string): HoldfastError {
  const message = `The client was closed while it released lock "${lockName}" by force; what was asked stays asked.`;
  return new HoldfastError("closed", message, { lockName });
}

function checkText(option: string, text: unknown): void {
  if (typeof text === "string" && text.length > 0 && text.length <= LONGEST_TEXT) return;
  throw refuse(`The option \`${option}\` must be a text of 1 to ${LONGEST_TEXT} characters.`);
}
