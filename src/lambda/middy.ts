import type { Lease } from "../index.js";
import { Invocation, type LambdaContext, type LockOptions } from "./invocation.js";

/** What is needed of a request of middy's. */
interface MiddyRequest<Event, Context> {
  readonly event: Event;
  readonly context: Context;
  readonly response?: unknown;
}

/** A middleware as middy takes it. */
export interface LockMiddleware<Event, Context> {
  readonly before: (request: MiddyRequest<Event, Context>) => Promise<unknown>;
  readonly after: (request: MiddyRequest<Event, Context>) => Promise<void>;
  readonly onError: (request: MiddyRequest<Event, Context>) => Promise<void>;
}

const leases = new WeakMap<object, Lease>();

/**
 * The same as {@link withLock}, as a middleware for middy: put it last, so that it is the first to end. The
 * handler gets its lease by {@link leaseOf}. A result that is reused ends the request early.
 * @example
 * export const handler = middy(work).use(lockMiddleware({ locks, name: "nightly" }));
 */
export function lockMiddleware<Event, Context extends LambdaContext>(
  options: LockOptions<Event, Context>,
): LockMiddleware<Event, Context> {
  const invocations = new WeakMap<object, Invocation<Event, Context>>();
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
      return begun.result;
    },
    after: async ({ context, response }) => {
      await invocations.get(context)?.end({ result: response });
    },
    // Middy has the handler's own error, which wins.
    onError: async ({ context }) => {
      await invocations
        .get(context)
        ?.end(undefined)
        .catch(() => undefined);
    },
  };
}

/**
 * The lease under which this invocation runs, by its context; undefined outside of {@link lockMiddleware}.
 * Costs no request.
 */
export function leaseOf(context: object): Lease | undefined {
  return leases.get(context);
}
