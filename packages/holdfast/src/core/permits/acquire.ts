import { isHoldfastError } from "../../errors.js";
import { localTurn, withAcquisition } from "../acquire/acquire.js";
import type { Cancellation, Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AtTable, Granted, RecordAcquisition } from "../acquire/settings.js";
import type { Hold } from "../hold/hold.js";
import type { Contend } from "../queue/fifo.js";
import { queueing } from "../queue/fifo.js";
import type { QueueOptions } from "../queue/options.js";
import type { SessionKeepAlive } from "../session/keep-alive.js";
import { hasExpired } from "../session/open.js";
import { isOutageError, tooSlow, type Unavailable } from "../unavailable.js";
import { checkPermits } from "./grant.js";
import { PermitLoop } from "./loop.js";
import type { Wish } from "./wish.js";

/** Provides the session of permits: the caller's, or the client's own. */
export interface PermitSessions {
  /**
   * Resolves with an open session. The session stays open for the caller until `ended`. Calls `onNoResponse` after each
   * request of the opening that DynamoDB did not serve.
   */
  opened(user: object, onNoResponse: Cancelling["onNoResponse"]): Promise<SessionKeepAlive>;
  ended(user: object): void;
}

/** One acquisition of a permit. */
interface PermitAcquisition extends Omit<RecordAcquisition, "cancellation">, Omit<Wish, "life"> {
  readonly sessions: PermitSessions;
  readonly inQueue: QueueOptions;
}

/** Acquires a permit. Resolves with undefined if there is no room and the wait is 0. */
export function acquirePermit<L extends { release(): Promise<unknown> }>(
  acquisition: PermitAcquisition,
  begin: (hold: Hold) => L,
): Promise<L | undefined> {
  const { context, ref, settings } = acquisition;
  return withAcquisition<readonly [Granted] | undefined, L>({
    ...{ context, refs: [ref], settings },
    grant: (cancellation) => granted(acquisition, cancellation),
    begin: ([{ hold }]) => begin(hold),
  });
}

async function granted(
  { context, ref, settings: asked, sessions, inQueue, ...wish }: PermitAcquisition,
  cancellation: Cancellation,
): Promise<readonly [Granted] | undefined> {
  // Keeps the session open during the acquisition.
  const user = {};
  const contend: Contend = async (contending) => {
    const life = await openedOrLater({ ...contending, settings: asked, sessions }, user);
    if (life === undefined) return { kind: "not-first" };
    return new PermitLoop(contending, { ...wish, life }).run();
  };
  try {
    const settings = { ...asked, queueing: queueing("at once", inQueue, contend) };
    const { localQueues } = context;
    const localQueue = localQueues.alone();
    const contending: AtTable = { context, ref, localQueue, settings, cancellation };
    // A waiter of this process is queued, and no call may pass it, so a call without a wait gets no permit.
    if (localQueues.isBusy(ref.id) && settings.waitMs === 0) return undefined;
    // Calls contend at the same time until one of them has to wait: there may be room for all.
    while (!localQueues.isBusy(ref.id)) {
      const outcome = await contend(contending);
      if (outcome.kind === "granted") return [outcome.granted];
      if (outcome.kind === "not-available") return undefined;
      if (outcome.kind === "queued") break;
    }
    // The record may have shown a queue, and no holder. A listener may end the wait: a queue that nobody enters would stay.
    cancellation.onWait(undefined);
    if (cancellation.isStopped) throw cancellation.error();
    return await inTurn({ ...contending, localQueue: localQueues.of(ref.id) });
  } finally {
    sessions.ended(user);
  }
}

/** Waits in the queue. The waiters of this process take turns: one contends at the table for all. */
async function inTurn(contending: AtTable): Promise<readonly [Granted] | undefined> {
  const { localQueue, settings, cancellation } = contending;
  cancellation.standIn(localQueue);
  if (!localQueue.tryEnter()) {
    if (settings.waitMs === 0) return undefined;
    await localTurn(contending);
  }
  try {
    const one = await settings.queueing?.acquire(contending);
    return one && [one];
  } finally {
    localQueue.next();
  }
}

/** Whether the attempt to open the session failed for a reason that may be over before the end of the wait. */
function isPassing(context: AcquireContext, error: unknown): boolean {
  return isHoldfastError(error) && (isOutageError(error) || context.mayHeal(error));
}

/** An acquisition that needs the session of its permits. */
interface Opening extends RecordAcquisition {
  readonly sessions: PermitSessions;
}

/**
 * Opens the session. Resolves with undefined, after a pause, if this failed for a reason that may be over before the end
 * of the wait: the next attempt opens another session.
 */
export async function openedOrLater(
  opening: Opening,
  user: object,
): Promise<SessionKeepAlive | undefined> {
  const { context, ref, settings, cancellation } = opening;
  try {
    const life = await openedOrCancelled(opening, user);
    life.checkPermitsBy((asked) => checkPermits({ context, ref: asked }, life));
    return life;
  } catch (error) {
    const isExpired = hasExpired(error);
    if (cancellation.waits && !cancellation.isStopped && (isExpired || isPassing(context, error))) {
      await context.sleep(context.jittered(settings.retryMs), cancellation.signal);
      return undefined;
    }
    // The caller's own reason may be the loss of another lease.
    if (!isExpired || error === settings.signal?.reason) throw error;
    // DynamoDB did not answer for the length of the session, so no permit was lost.
    throw tooSlow([ref.name], settings.leaseMs, error, ref.kind);
  }
}

// Other callers use the same opening of the session, so the end of this wait must not abort the opening. A call without
// a wait ends at once with refused credentials, and otherwise after its few retries, as at the record itself.
function openedOrCancelled(
  { context, sessions, settings: { leaseMs }, cancellation }: Opening,
  user: object,
): Promise<SessionKeepAlive> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(cancellation.error());
    cancellation.signal.addEventListener("abort", stop);
    if (cancellation.isStopped) stop();
    const forget = (): void => cancellation.signal.removeEventListener("abort", stop);
    const retriesUntilMs = context.nowMs() + Math.min(context.settings.requestTimeoutMs, leaseMs);
    let hasFailed = false;
    const onNoResponse = (unavailable: Unavailable): void => {
      hasFailed = true;
      cancellation.onNoResponse(unavailable);
      if (cancellation.waits) return;
      if (unavailable.kind === "denied" || context.nowMs() >= retriesUntilMs) stop();
    };
    const onOpened = (life: SessionKeepAlive): void => {
      // The outage of the opening is over: the next one is told again.
      if (hasFailed) cancellation.onResponse();
      resolve(life);
    };
    sessions.opened(user, onNoResponse).then(onOpened, reject).finally(forget);
  });
}
