import type { HoldfastError } from "../errors.js";
import type { Lease } from "../index.js";
import { refuse } from "../internal/option-names.js";
import {
  checkLockOptions,
  Invocation,
  type LambdaContext,
  type LockOptions,
} from "./invocation.js";

/** The members of middy's request that the middleware reads. */
export interface MiddyRequest<Event, Context> {
  readonly event: Event;
  readonly context: Context;
  readonly response?: unknown;
}

/** A middleware for middy. */
export interface LockMiddleware<Event, Context> {
  readonly before: (request: MiddyRequest<Event, Context>) => Promise<unknown>;
  readonly after: (request: MiddyRequest<Event, Context>) => Promise<void>;
  readonly onError: (request: MiddyRequest<Event, Context>) => Promise<void>;
}

const leases = new WeakMap<object, Lease>();

/**
 * Runs a middy handler under a lock, as {@link withLock} does. Put this middleware last, so that its `after`
 * runs first. In the handler, {@link leaseOf} returns the lease. If the middleware can reuse a result, middy returns
 * this result and does not call the handler; the same holds for the answer of `onBusy`, which must not be undefined.
 * @example export const handler = middy(work).use(lockMiddleware({ locks, name: "nightly" }));
 */
export function lockMiddleware<Event, Context extends LambdaContext, Busy = never>(
  options: LockOptions<Event, Context, Busy>,
): LockMiddleware<Event, Context> {
  checkLockOptions("lockMiddleware()", options);
  const invocations = new WeakMap<object, Invocation<Event, Context, Busy>>();
  return {
    before: async ({ event, context }) => {
      const invocation = new Invocation(options, event, context);
      invocations.set(context, invocation);
      const begun = await invocation.begin();
      if (begun.kind === "held") {
        leases.set(context, begun.lease);
        return undefined;
      }
      await invocation.end(undefined);
      if (begun.result === undefined) throw noAnswer();
      return begun.result;
    },
    after: async ({ context, response }) => {
      await invocations.get(context)?.end({ result: response });
    },
    // Middy already has the error of the request. An error of this call must not replace it.
    onError: async ({ context }) => {
      await invocations
        .get(context)
        ?.end(undefined)
        .catch(() => undefined);
    },
  };
}

/**
 * Returns the lease of the invocation with this context. Returns undefined if {@link lockMiddleware} acquired no lease
 * for the invocation. Sends no request.
 */
export function leaseOf(context: object): Lease | undefined {
  return leases.get(context);
}

function noAnswer(): HoldfastError {
  return refuse(
    "`onBusy` of lockMiddleware() returned undefined, after which middy would run the handler without the lock. Return an " +
      "answer, or throw the error.",
  );
}
