import {
  Holdfast,
  HoldfastError,
  type HoldfastOptions,
  inspect,
  type Lease,
  mutex,
} from "holdfast";
import { releaseByHolder } from "holdfast/admin";

/**
 * Takes a held lock away from its holder and acquires it, as a client does that considers the holder dead. The holder
 * learns of this at its next renewal, with the reason `stolen`. Resolves with the new lease: release it when the test
 * wants the lock to be free. Pass the `client` and the `table` of the code under test, and the `environment` of a test
 * in virtual time. Rejects with `invalid-argument` if the lock is not held.
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
  const { holder } = await inspect(locks, name);
  if (holder === undefined) {
    throw new HoldfastError(
      "invalid-argument",
      `Lock "${name}" is not held, so no client can lose it. Acquire the lock first.`,
      { lockName: name },
    );
  }
  await releaseByHolder(locks, name, holder);
  return mutex(locks, name).acquire({ wait: 0, renew: "manual" });
}
