import { type Holdfast, partsOf } from "../client.js";
import { emitLimit } from "../core/events.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { threwError } from "../core/unavailable.js";
import { checkNames, type OptionNames, refuse, withNames } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import type { Lock } from "./lock.js";
import {
  type AcquirePermitOptions,
  PERMIT_NAMES,
  type PermitOptions,
  Permits,
  permitPartsOf,
} from "./permits.js";

// A record of 400 KB has some 2,300 holders. Heavier permits may use a higher limit.
const MOST_PERMITS = 10_000;

const SEMAPHORE_NAMES: OptionNames<Parameters<typeof semaphore>[2]> = /* @__PURE__ */ withNames(
  PERMIT_NAMES,
  { permits: true, onLimitMismatch: true },
);

/**
 * Returns the semaphore of this name: up to `permits` holders at a time. Grants permits of one name to several holders
 * at once, up to a limit that the table stores. Serves waiters in the order of arrival: a waiter with a small weight does
 * not pass an earlier waiter with a large weight. A semaphore does **not** limit a rate: a holder that releases at once
 * can acquire again at once. It does **not** promise that the holders that act at the same time never exceed the limit:
 * see {@link Lease}. Needs a table with a sort key. The call itself costs no request. Throws `invalid-argument`.
 *
 * One record has all permits, and each grant is one conditional write on this record. So DynamoDB never grants more
 * than the limit, even to a caller with stale information. A permit lives by a session of its client, so holding it costs
 * no request of its own; it ends with the session, and so does the permit of a dead process.
 *
 * `acquire` costs one write if there is room. The first permit of a client costs two more writes, which open the client's
 * session. A wait costs what the wait for a fair lock costs. While the semaphore is full, the first waiter reads the
 * session of each holder once a lease, one unit each. Each write costs a unit for each KB of the record; a KB has
 * about five permits. `tryAcquire` costs one write, and on a full semaphore a strongly consistent read of each holder's
 * session that this client has not read yet, because the permit of a dead holder counts as room. `inspect` costs a
 * strongly consistent read of the record, one unit for each 4 KB, and of holders' sessions: at most 100 in a call, those
 * that this client has not read for longest, and none that it has read in the last 5 s. Of a session that it has never
 * read, `appearsExpired` is false, and the end is unknown: call again for the next 100.
 *
 * Protocol: spec/protocol.md, "Permits". Dijkstra introduced the semaphore. Consul introduced semaphore entries that a
 * session keeps alive.
 */
export function semaphore(
  client: Holdfast<FormatTypes>,
  name: string,
  options: PermitOptions & {
    /**
     * The limit: the largest total weight of the held permits, from 1 to 10,000. The record has room for some 2,000
     * holders: DynamoDB refuses a grant above its 400 KB, with `misconfigured`. The first grant stores the limit in the
     * table. From then on the limit in the table counts for all callers, whatever their own number is, until `setLimit()` of
     * `holdfast/admin` changes it. A caller with a weight above the limit in the table gets `limit-mismatch`.
     */
    readonly permits: number;
    /**
     * What to do if the table has another limit than `permits`. `"refuse"`: reject with `limit-mismatch`; only a waiter that
     * was in the queue when the limit changed goes on waiting, under the new limit. A function: use the limit in the table,
     * and tell the function both numbers, once a client for each limit found. By default the caller uses the limit in the
     * table, and only the event `limit` of `holdfast/events` tells of it. What the function throws ends the acquisition; a
     * rejection of an async function goes to the client's `onError`.
     */
    readonly onLimitMismatch?:
      | "refuse"
      | ((limits: { readonly found: number; readonly permits: number }) => void)
      | undefined;
  },
): Lock<NativeTypes, AcquirePermitOptions> {
  const parts = permitPartsOf(partsOf(client, "semaphore()"));
  const { permits, onLimitMismatch, ...others } = checkNames(
    "semaphore()",
    options,
    SEMAPHORE_NAMES,
  );
  checkPermits(permits);
  const mayTell = onLimitMismatch === undefined || typeof onLimitMismatch === "function";
  if (!mayTell && onLimitMismatch !== "refuse") {
    throw refuse('The option `onLimitMismatch` must be a function or "refuse".');
  }
  const kind = "semaphore";
  const onLimit = (found: number, owner: string): void => {
    emitLimit({ kind, name }, owner, { found, permits });
    if (typeof onLimitMismatch !== "function") return;
    // Nobody awaits an async function.
    void Promise.resolve(onLimitMismatch({ found, permits })).catch((cause) =>
      parts.context.report(threwError("onLimitMismatch", { kind, name }, cause)),
    );
  };
  const of = { kind, name, limit: permits, onLimit: mayTell ? onLimit : undefined } as const;
  return new Permits(parts, of, others);
}

/** Checks the limit of a semaphore. Throws `invalid-argument`. */
export function checkPermits(permits: unknown): asserts permits is number {
  if (Number.isInteger(permits) && Number(permits) >= 1 && Number(permits) <= MOST_PERMITS) return;
  throw refuse(
    `The number of permits must be a whole number from 1 to ${MOST_PERMITS.toLocaleString("en")}; it is ${valueText(permits)}.`,
  );
}
