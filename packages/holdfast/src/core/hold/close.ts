import { HoldfastError } from "../../errors.js";
import { sleep } from "../../internal/sleep.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import { instantOf } from "../../platform/clock.js";
import { type Denied, retry } from "../../platform/retry.js";
import { isJudged, type WriteAnswer } from "../../platform/table.js";
import { steady } from "../backoff.js";
import type { ClientContext, OpenLease } from "../context.js";
import type { RecordRef } from "../record/format.js";
import { freeOnce, RELEASE_RETRY_MS, releaseNotAcknowledged } from "./release.js";

// The close timeout ended while a request was in flight.
const CUT_OFF = { kind: "cut off" } as const;

/** A callback under a lease. `close()` asks the callback to end, and keeps the client usable until then. */
export interface Running {
  readonly ended: Promise<unknown>;
  /** Ends the callback's lease in this process, and leaves the record to expire. */
  forsake(): void;
}

/** Closes as {@link closeAll}, after all running callbacks have ended or the close timeout has passed. */
export async function closeInOrder(
  context: ClientContext,
  running: ReadonlySet<Running>,
): Promise<void> {
  if (running.size === 0) return closeAll(context);
  const all = [...running];
  context.beginClosing();
  const bound = new Abort();
  const ended = Promise.all(all.map((callback) => callback.ended));
  await Promise.race([ended, sleep(context.timers, context.settings.closeTimeoutMs, true, bound)]);
  bound.abort();
  // A callback may still act, so other clients must not acquire the lock.
  for (const callback of running) callback.forsake();
  await closeAll(context);
}

/**
 * Ends the waiters, leases and background work of a client. Retries the releases for at most the close timeout.
 * Throws one error that lists each failure, also of a release that had begun before.
 */
export async function closeAll(context: ClientContext): Promise<void> {
  context.beginClosing();
  const holds = context.unreleased();
  const now = instantOf(context.clock);
  for (const hold of holds) hold.end("closed", undefined, now);
  const errors = await freeAll(context, holds, context.drain());
  const left = [...context.releasing].filter(isLock);
  for (const { ref } of left)
    errors.push(releaseNotAcknowledged(ref, undefined, ref.permit !== undefined));
  if (errors.length > 0) throw unreleased(errors, holds.filter(isLock).length + left.length);
}

/**
 * Frees the records of leases that have ended in this process, for at most the close timeout. Waits
 * for `besides` at most as long. Returns an error for each lock without an acknowledged release.
 */
export async function freeAll(
  context: ClientContext,
  holds: readonly OpenLease[],
  besides: Promise<void> = Promise.resolve(),
): Promise<HoldfastError[]> {
  const bound = new Abort();
  const over = aborted(bound);
  const { closeTimeoutMs } = context.settings;
  const timeUp = sleep(context.timers, closeTimeoutMs, true, bound);
  const errors: HoldfastError[] = [];
  const free = async (hold: OpenLease): Promise<void> => {
    const error = await freeUntil(context, hold, bound, over);
    if (error !== undefined) errors.push(error);
  };
  const freed = Promise.all(holds.map(free));
  try {
    await Promise.race([Promise.all([freed, besides]), timeUp]);
  } finally {
    bound.abort();
  }
  await freed;
  return errors;
}

/** Releases one lease. Returns an error if DynamoDB did not acknowledge the release of a lock. Never rejects. */
async function freeUntil(
  context: ClientContext,
  lease: OpenLease,
  bound: SignalLike,
  over: Promise<undefined>,
): Promise<HoldfastError | undefined> {
  const { ref, held, settings, userData } = lease;
  const options = { keepData: settings.keepData, lastData: userData.leftAtClose };
  let last: Exclude<WriteAnswer, { readonly kind: "applied" | "refused" }> | Denied | undefined;
  const attempt = async () => {
    // After the timeout, a release that still waits for its turn must not be sent.
    const send = () => freeOnce(context, ref, { known: held }, options, undefined, bound);
    const freeing = lease.requests.run(send);
    const sent = await Promise.race([freeing, over]);
    if (sent === undefined) return CUT_OFF;
    const answer = context.healing(sent);
    if (!isJudged(answer)) last = answer;
    return answer;
  };
  if (!bound.aborted) {
    const how = {
      backoff: steady(RELEASE_RETRY_MS),
      signal: bound,
      onMisconfigured: "end",
    } as const;
    const retried = await retry(context, attempt, how);
    if (retried.kind === "answered" && retried.answer !== CUT_OFF) return undefined;
  }
  return isLock(lease) ? releaseNotAcknowledged(ref, last, ref.permit !== undefined) : undefined;
}

/** A waiter that has left its place in a queue has no use for an error. */
function isLock({ ref }: { readonly ref: RecordRef }): boolean {
  return ref.isEntry !== true;
}

function aborted(signal: SignalLike): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined));
  });
}

function unreleased(errors: readonly HoldfastError[], held: number): HoldfastError {
  const names = errors.map((error) => `"${error.lockName}"`);
  const shown = names.slice(0, 10).join(", ") + (names.length > 10 ? ", ..." : "");
  return new HoldfastError(
    "outcome-unknown",
    `The client is closed. DynamoDB did not acknowledge the release of ${errors.length} of its ${held} locks: ${shown}. ` +
      "They are free now, or when their leases expire.",
    { errors, cause: errors[0]?.cause },
  );
}
