import type { Lease } from "../index.js";
import { Invocation, type LambdaContext, type LockOptions } from "./invocation.js";

/**
 * A Lambda handler that runs under a lock. The lease lasts for what is left of the invocation, less
 * `margin`, and ends by this machine's clocks: look at `lease.signal` or `lease.assertHeld()` before every
 * effect, also because a process that was frozen goes on in the middle. It does **not** promise that nobody
 * else runs: what must never be written by a former holder carries `lease.condition()`, or `lease.fence`.
 *
 * When it returns, the lock is released. What undoes a request that was not answered is awaited for at most
 * three request timeouts of the client (15 s by default). It does **not** promise that this has ended then: the
 * rest goes on when the process is used again, and a claim that lands in between ends with its lease, at the
 * latest when this invocation's time is over. One write to acquire, one to release; with `reuse` one more to store the result.
 *
 * The handler rejects with `not-acquired` where somebody else has the lock, or too little time is left;
 * with `lost` where the lease ended before the handler did; otherwise as `Mutex.acquire`.
 * @example
 * export const handler = withLock({ locks, name: (event) => `order/${event.id}` }, (event, context, lease) => ...);
 */
export function withLock<Event, Context extends LambdaContext, Result>(
  options: LockOptions<Event, Context>,
  handler: (event: Event, context: Context, lease: Lease) => Result | PromiseLike<Result>,
): (event: Event, context: Context) => Promise<Result> {
  return async (event, context) => {
    const invocation = new Invocation(options, event, context);
    let outcome: { readonly result: Result };
    try {
      const begun = await invocation.begin();
      outcome = {
        // Of the same handler: whoever stored it declared the same type.
        result:
          begun.kind === "reused"
            ? (begun.result as Result)
            : await handler(event, context, begun.lease),
      };
    } catch (error) {
      // The handler's own error wins.
      await invocation.end(undefined).catch(() => undefined);
      throw error;
    }
    await invocation.end(outcome);
    return outcome.result;
  };
}
