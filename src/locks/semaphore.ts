import { type Holdfast, partsOf } from "../client.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import type { PermitInspection } from "./inspect-permits.js";
import { type RunArguments, runHolding } from "./locking.js";
import { Permit } from "./permit.js";
import {
  ACQUIRE_PERMIT_NAMES,
  type AcquirePermitOptions,
  PERMIT_NAMES,
  type PermitOptions,
  type PermitParts,
  Permits,
  permitPartsOf,
} from "./permits.js";

/** Options of a semaphore. */
export interface SemaphoreOptions extends PermitOptions {
  /**
   * The limit: the largest total weight of the held permits, from 1 to 1,000. The first acquisition stores the limit in
   * the table. An acquisition with another limit then rejects with `limit-mismatch`. A waiter that was in the queue when
   * `setLimit()` of `holdfast/admin` changed the limit goes on waiting, under the new limit.
   */
  readonly permits: number;
}

/** Options of {@link Semaphore.acquire}. */
export interface AcquireSemaphoreOptions extends AcquirePermitOptions {
  /** How much of the limit the permit takes: 1 to the limit. Default 1. */
  readonly weight?: number | undefined;
}

/** Options of {@link Semaphore.tryAcquire}, which never waits. */
export type TryAcquireSemaphoreOptions = Pick<AcquireSemaphoreOptions, "weight" | "owner">;

// With 1,000 holders, each write of the record costs about 190 write units.
const MOST_PERMITS = 1_000;

const SEMAPHORE_NAMES: OptionNames<SemaphoreOptions> = { ...PERMIT_NAMES, permits: true };
const ACQUIRE_NAMES: OptionNames<AcquireSemaphoreOptions> = {
  ...ACQUIRE_PERMIT_NAMES,
  weight: true,
};
const TRY_NAMES: OptionNames<TryAcquireSemaphoreOptions> = { weight: true, owner: true };

/**
 * Grants permits of one name to several holders at once, up to a limit that the table stores. Serves waiters in the
 * order of arrival: a waiter with a small weight does not pass an earlier waiter with a large weight. A semaphore does
 * **not** limit a rate: a holder that releases at once can acquire again at once. It does **not** promise that the
 * holders that act at the same time never exceed the limit; see {@link Permit}.
 *
 * One record has all permits, and each grant is one conditional write on this record. So DynamoDB never grants more
 * than the limit, even to a caller with stale information. The permit of a dead process is free again when its session
 * has ended.
 *
 * Protocol: spec/protocol.md, "Permits". Dijkstra introduced the semaphore. Consul introduced semaphore entries that a
 * session keeps alive.
 */
export class Semaphore {
  readonly name: string;
  /** The limit that this caller expects in the table. */
  readonly permits: number;
  readonly #permits: Permits;

  /** @internal Created by {@link semaphore}. */
  constructor(parts: PermitParts, name: string, options: SemaphoreOptions) {
    const { permits, ...others } = checkNames("semaphore()", options, SEMAPHORE_NAMES);
    checkPermits(permits);
    this.#permits = new Permits(parts, { kind: "semaphore", name, limit: permits }, others);
    this.name = name;
    this.permits = permits;
  }

  /**
   * Acquires a permit, and waits up to `wait` for room. The default wait is longer than a dead holder keeps its permit,
   * and at least 60 s; 0 means no wait, `Infinity` no limit.
   *
   * Costs one write if there is room. The first permit of a client costs two more writes, which open the client's
   * session. A wait costs what the wait for a fair lock costs. While the semaphore is full, the first waiter reads the
   * session of each holder once a lease, one unit each. Each write costs a unit for each KB of the record; a KB has
   * about five permits.
   *
   * Rejects with `limit-mismatch` if the table has another limit; otherwise as {@link Lock.acquire}. Throws
   * `invalid-argument`.
   */
  async acquire(options: AcquireSemaphoreOptions = {}): Promise<Permit> {
    const { weight = 1, ...others } = checkNames("acquire()", options, ACQUIRE_NAMES);
    this.#checkWeight(weight);
    return this.#permits.acquireOrThrow(others, weight, (hold) => new Permit(hold));
  }

  /**
   * Acquires a permit without waiting. Resolves with null if there is no room. Costs one write. On a full semaphore the
   * call also costs a strongly consistent read of each holder's session that this client has not read yet, because the
   * permit of a dead holder counts as room. Sends no request if another call of this client already waits. Errors as
   * {@link Semaphore.acquire}.
   */
  async tryAcquire(options: TryAcquireSemaphoreOptions = {}): Promise<Permit | null> {
    const { weight = 1, owner } = checkNames("tryAcquire()", options, TRY_NAMES);
    this.#checkWeight(weight);
    const permit = await this.#permits.acquire(
      { owner, wait: 0 },
      weight,
      (hold) => new Permit(hold),
    );
    return permit ?? null;
  }

  /** Holds a permit while `body` runs, and always releases it afterwards. As {@link Lock.run}. */
  async run<T>(body: (permit: Permit) => T | PromiseLike<T>): Promise<T>;
  async run<T>(
    options: AcquireSemaphoreOptions,
    body: (permit: Permit) => T | PromiseLike<T>,
  ): Promise<T>;
  async run<T>(...given: RunArguments<AcquireSemaphoreOptions, Permit, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }

  /**
   * Reads the semaphore and its permits. Acquires no permit. Costs a strongly consistent read of the record, one unit
   * for each 4 KB, and a strongly consistent read of holders' sessions: at most 100 in a call, those that this client has
   * not read for longest, and none that it has read in the last 5 s. Of a session that it has never read, `appearsExpired`
   * is false, and the end is unknown: call again for the next 100. Rejects with coded errors.
   */
  inspect(): Promise<PermitInspection> {
    return this.#permits.inspect();
  }

  #checkWeight(weight: number): void {
    if (Number.isInteger(weight) && weight >= 1 && weight <= this.permits) return;
    throw new HoldfastError(
      "invalid-argument",
      `The option \`weight\` must be a whole number from 1 to ${this.permits}, the number of permits; it is ${weight}.`,
    );
  }
}

/**
 * Returns the semaphore of this name: up to `permits` holders at a time. Needs a table with a sort key. The length of
 * its permits is the client's `lease`, or the length of `session`. Costs no request. Throws `invalid-argument`.
 */
export function semaphore(
  client: Holdfast<FormatTypes>,
  name: string,
  options: SemaphoreOptions,
): Semaphore {
  return new Semaphore(permitPartsOf(partsOf(client, "semaphore()")), name, options);
}

/** Checks the limit of a semaphore. Throws `invalid-argument`. */
export function checkPermits(permits: unknown): asserts permits is number {
  if (Number.isInteger(permits) && Number(permits) >= 1 && Number(permits) <= MOST_PERMITS) return;
  throw new HoldfastError(
    "invalid-argument",
    `The number of permits must be a whole number from 1 to ${MOST_PERMITS.toLocaleString("en")}; it is ${permits}.`,
  );
}
