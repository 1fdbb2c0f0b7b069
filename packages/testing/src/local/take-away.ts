import {
  Holdfast,
  HoldfastError,
  type HoldfastOptions,
  inspect,
  type Lease,
  mutex,
} from "holdfast";
import { forceRelease, releaseByHolder } from "holdfast/admin";

/**
 * Takes a held lock away from its holder and acquires it, as a client does that considers the holder dead. The holder
 * learns of this at its next renewal, with the reason `stolen`; on a session, at the session's, with the reason
 * `released-by-force`. Resolves with the new lease: release it when the test wants the lock to be free. Pass the `client`
 * and the `table` of the code under test, and the `environment` of a test in virtual time. Passes the waiters of a queue.
 * Rejects with `invalid-argument` if the lock is not held.
 * @example
 * const thief = await takeAway({ client, table: "locks" }, "report");
 */
export async function takeAway(options: HoldfastOptions, name: string): Promise<Lease> {
  if (options instanceof Holdfast) {
    throw new HoldfastError(
      "invalid-argument",
      "takeAway() makes its own client. Pass the options of your client, such as { client, table }, not the client.",
    );
  }
  const locks = new Holdfast({ owner: "takeAway", ...options });
  const { holder, session } = await inspect(locks, name);
  if (holder === undefined) {
    throw new HoldfastError(
      "invalid-argument",
      `Lock "${name}" is not held, so no client can lose it. Acquire the lock first.`,
      { lockName: name },
    );
  }
  // A holder on a session reads its record only if its session tells it to.
  if (session === undefined) await releaseByHolder(locks, name, holder);
  else await forceRelease(locks, name, { reason: "takeAway()", now: true });
  // Past the waiters of a queue, which would have the turn.
  const lease = await mutex(locks, name).tryAcquire({ renew: "manual", barge: true });
  if (lease !== null) return lease;
  const message = `Another client acquired lock "${name}" as soon as it was taken away.`;
  throw new HoldfastError("not-acquired", message, { lockName: name });
}
