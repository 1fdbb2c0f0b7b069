import { type Holdfast, partsOf } from "../client.js";
import type { Hold } from "../core/hold/hold.js";
import { cannotUpgrade, exchange } from "../core/permits/exchange.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { checkNames } from "../internal/option-names.js";
import type { PermitInspection } from "./inspect-permits.js";
import { type RunArguments, runHolding } from "./locking.js";
import { Permit } from "./permit.js";
import {
  type AcquirePermitOptions,
  PERMIT_NAMES,
  type PermitOptions,
  Permits,
  permitPartsOf,
} from "./permits.js";

// A writer is a permit of the whole limit, so the limit is also the most readers at once. With so many readers, each
// write of the record costs some 190 units.
const MOST_READERS = 1_000;

/** A held read lock: others may read, and no client writes. */
export class ReadPermit extends Permit {
  readonly #ref: RecordRef;

  /** @internal Created by {@link readLock}. */
  constructor(hold: Hold) {
    super(hold);
    this.#ref = hold.ref;
  }

  /**
   * Always rejects with `invalid-argument`: two readers that wait to become writers would wait for each other for ever.
   * Release the read lock and acquire the write lock instead.
   */
  async upgrade(): Promise<never> {
    throw cannotUpgrade(this.#ref);
  }
}

/** A held write lock: no other client reads or writes. */
export class WritePermit extends Permit {
  readonly #hold: Hold;
  readonly #ref: RecordRef;
  #reader: Promise<ReadPermit> | undefined;

  /** @internal Created by {@link writeLock}. */
  constructor(hold: Hold, ref: RecordRef) {
    super(hold);
    this.#hold = hold;
    this.#ref = ref;
  }

  /**
   * Turns the write lock into a read lock, before any waiting writer can acquire the lock. This permit ends when the
   * call begins: stop writing first. Conditions on its fence fail from then on. Costs one write, and more only if an
   * answer is lost. Under {@link PermitLock.run} the read lock ends with the callback, too.
   *
   * Rejects with `lost`, also if an operator has asked this writer to release the lock, or with the error of a wrong
   * configuration. The client then frees the lock in the background, with retries while its session lives.
   */
  async downgrade(): Promise<ReadPermit> {
    this.assertHeld();
    const to = { ref: this.#ref, weight: 1, limit: MOST_READERS };
    this.#reader = exchange(this.#hold, to).then((hold) => new ReadPermit(hold));
    return this.#reader;
  }

  /** @internal Returns the read permit after a downgrade, or else this permit. */
  async last(): Promise<Permit> {
    return (await this.#reader?.catch(() => undefined)) ?? this;
  }
}

/** One side of a read-write lock: acquires read permits, or write permits. */
export class PermitLock<P extends Permit> {
  readonly name: string;
  readonly #permits: Permits;
  readonly #weight: number;
  readonly #begin: (hold: Hold) => P;

  /** @internal Created by {@link readLock} and {@link writeLock}. */
  constructor(permits: Permits, weight: number, begin: (hold: Hold) => P) {
    this.name = permits.ref.name;
    this.#permits = permits;
    this.#weight = weight;
    this.#begin = begin;
  }

  /** Acquires the lock, waiting up to `wait`. Costs and errors as {@link Semaphore.acquire}. */
  acquire(options: AcquirePermitOptions = {}): Promise<P> {
    return this.#permits.acquireOrThrow(options, this.#weight, this.#begin);
  }

  /** Acquires the lock without waiting. Resolves with null if there is no room. As {@link Semaphore.tryAcquire}. */
  async tryAcquire(options: Pick<AcquirePermitOptions, "owner"> = {}): Promise<P | null> {
    const asked = { ...checkNames("tryAcquire()", options, { owner: true }), wait: 0 };
    return (await this.#permits.acquire(asked, this.#weight, this.#begin)) ?? null;
  }

  /** Holds the lock while `body` runs, and always releases it afterwards. As {@link Lock.run}. */
  async run<T>(body: (permit: P) => T | PromiseLike<T>): Promise<T>;
  async run<T>(options: AcquirePermitOptions, body: (permit: P) => T | PromiseLike<T>): Promise<T>;
  async run<T>(...given: RunArguments<AcquirePermitOptions, P, T>): Promise<T> {
    return runHolding(
      given,
      (options) => this.acquire(options),
      async (permit) => (permit instanceof WritePermit ? permit.last() : permit),
    );
  }

  /**
   * Reads who reads or writes under the lock. Acquires nothing. A reader's permit weighs 1, and a writer's permit
   * the whole limit. Costs as {@link Semaphore.inspect}. Rejects with coded errors.
   */
  inspect(): Promise<PermitInspection> {
    return this.#permits.inspect();
  }
}

/**
 * Returns the read side of the read-write lock of this name: many readers at once, up to 1,000, or one writer alone. Readers
 * and writers are served first come, first served: a reader that comes after a waiting writer waits for the writer, so
 * neither side starves. A read-write lock does **not** protect the data from a reader or writer that was paused beyond
 * its deadline: use {@link Permit.condition} or the fence. It is not reentrant: a reader that asks for the write lock
 * waits for itself.
 *
 * Works as a semaphore with a limit of 1,000: a reader takes one permit, and a writer takes all of them. Needs a table
 * with a sort key. The length of the permits is the client's `lease`, or the length of `session`. Costs no request.
 * Throws `invalid-argument`.
 *
 * Protocol: spec/protocol.md, "Permits".
 */
export function readLock(
  client: Holdfast<FormatTypes>,
  name: string,
  options: PermitOptions = {},
): PermitLock<ReadPermit> {
  const permits = permitsOf(client, "readLock()", name, options);
  return new PermitLock(permits, 1, (hold) => new ReadPermit(hold));
}

/**
 * Returns the write side of the read-write lock of this name: see {@link readLock}. Costs no request. Throws
 * `invalid-argument`.
 */
export function writeLock(
  client: Holdfast<FormatTypes>,
  name: string,
  options: PermitOptions = {},
): PermitLock<WritePermit> {
  const permits = permitsOf(client, "writeLock()", name, options);
  return new PermitLock(permits, MOST_READERS, (hold) => new WritePermit(hold, permits.ref));
}

function permitsOf(
  client: Holdfast<FormatTypes>,
  caller: string,
  name: string,
  options: PermitOptions,
): Permits {
  const parts = permitPartsOf(partsOf(client, caller));
  const asked = checkNames(caller, options, PERMIT_NAMES);
  return new Permits(parts, { kind: "read-write", name, limit: MOST_READERS }, asked);
}
