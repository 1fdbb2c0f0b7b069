import type { Lease } from "../index.js";
import { refuse } from "../internal/option-names.js";
import {
  checkLockOptions,
  Invocation,
  type LambdaContext,
  type LockOptions,
} from "./invocation.js";

/**
 * Wraps a Lambda handler to run under a lock. The lease lasts for the remaining time of the invocation, less
 * `margin`, and ends by this machine's clocks. Check `lease.signal` or `lease.assertHeld()` before every effect:
 * Lambda can freeze the process, and after the thaw the code continues in the middle of the handler. Does **not**
 * promise exclusion: a write that a former holder must never make needs `lease.condition()` or `lease.fence`.
 *
 * The wrapper releases the lock when the handler returns. Then it waits for the cleanup of unanswered requests, for at
 * most three request timeouts of the client (15 s by default), and no longer than the invocation lasts. Does **not**
 * promise that the cleanup has finished: the rest continues during the next invocation in this process. A claim that
 * DynamoDB applies later blocks the lock until another client takes over, as after a crash. The lease of such a claim is
 * at most the time that the invocation had left at its start. Each invocation costs two writes, an acquisition and a
 * release. With `reuse`, a third write stores the result.
 *
 * The wrapped handler rejects with `not-acquired` if another client holds the lock, or too little time is left, unless
 * `onBusy` answers; with `lost` if the lease ended before the handler did; otherwise as `Lock.acquire`.
 * @example
 * export const handler = withLock({ locks, name: (event) => `order/${event.id}` }, (event, context, lease) => ...);
 */
export function withLock<Event, Context extends LambdaContext, Result, Busy = never>(
  options: LockOptions<Event, Context, Busy>,
  handler: (event: Event, context: Context, lease: Lease) => Result | PromiseLike<Result>,
): (event: Event, context: Context) => Promise<Result | Busy> {
  checkLockOptions("withLock()", options);
  if (typeof handler !== "function") {
    throw refuse("The last argument of withLock() must be a function.");
  }
  return async (event, context) => {
    const invocation = new Invocation(options, event, context);
    let outcome: { readonly result: Result | Busy };
    try {
      const begun = await invocation.begin();
      outcome = {
        // A reused result comes from the same handler, so the type is the same.
        result:
          begun.kind === "held"
            ? await handler(event, context, begun.lease)
            : (begun.result as Result | Busy),
      };
    } catch (error) {
      // The caller gets the handler's error, and not an error of the release.
      await invocation.end(undefined).catch(() => undefined);
      throw error;
    }
    await invocation.end(outcome);
    return outcome.result;
  };
}
