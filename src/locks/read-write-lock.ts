import type { Hold } from "../core/hold/hold.js";
import { cannotUpgrade, exchange } from "../core/permits/exchange.js";
import type { RecordRef } from "../core/record/format.js";
import { checkNames } from "../internal/option-names.js";
import { type RunArguments, runHolding } from "./locking.js";
import { Permit } from "./permit.js";
import {
  type AcquirePermitOptions,
  PERMIT_NAMES,
  type PermitOptions,
  type PermitParts,
  Permits,
} from "./permits.js";

// A writer is a permit of the whole limit, so the limit is also the most readers at once. More readers would make every
// write of the record cost more than 150 units.
const MOST_READERS = 1_000;

/** A held read lock: others may read, and nobody writes. */
export class ReadPermit extends Permit {
  readonly #ref: RecordRef;

  /** @internal Created by {@link ReadLock}. */
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

/** A held write lock: nobody else reads or writes. */
export class WritePermit extends Permit {
  readonly #hold: Hold;
  readonly #ref: RecordRef;

  /** @internal Created by {@link WriteLock}. */
  constructor(hold: Hold, ref: RecordRef) {
    super(hold);
    this.#hold = hold;
    this.#ref = ref;
  }

  /**
   * Becomes a reader in one write, before every waiting writer. This permit ends when the call begins: stop writing first.
   * Conditions on its fence fail from then on. Sends one request without faults. Rejects with `lost`.
   */
  async downgrade(): Promise<ReadPermit> {
    this.assertHeld();
    const to = { ref: this.#ref, weight: 1, limit: MOST_READERS };
    return new ReadPermit(await exchange(this.#hold, to));
  }
}

/** One side of a read-write lock: acquires its permits. */
abstract class Side<P extends Permit> {
  /** Acquires the lock, waiting up to `wait`. Costs and errors as {@link Semaphore.acquire}. */
  abstract acquire(options?: AcquirePermitOptions): Promise<P>;

  /** Acquires the lock without waiting. Resolves with null if there is no room. As {@link Semaphore.tryAcquire}. */
  abstract tryAcquire(options?: Pick<AcquirePermitOptions, "owner">): Promise<P | null>;

  /** Holds the lock while `body` runs, and always releases it afterwards. As {@link Lock.run}. */
  async run<T>(body: (permit: P) => T | PromiseLike<T>): Promise<T>;
  async run<T>(options: AcquirePermitOptions, body: (permit: P) => T | PromiseLike<T>): Promise<T>;
  async run<T>(...given: RunArguments<AcquirePermitOptions, P, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }
}

/** The read side: many readers at once, and no writer. */
export class ReadLock extends Side<ReadPermit> {
  readonly #permits: Permits;

  /** @internal Created by {@link ReadWriteLock.read}. */
  constructor(permits: Permits) {
    super();
    this.#permits = permits;
  }

  override acquire(options: AcquirePermitOptions = {}): Promise<ReadPermit> {
    return this.#permits.acquireOrThrow(options, 1, (hold) => new ReadPermit(hold));
  }

  override async tryAcquire(
    options: Pick<AcquirePermitOptions, "owner"> = {},
  ): Promise<ReadPermit | null> {
    const asked = { ...checkNames("tryAcquire()", options, { owner: true }), wait: 0 };
    return (await this.#permits.acquire(asked, 1, (hold) => new ReadPermit(hold))) ?? null;
  }
}

/** The write side: one writer, and no reader. */
export class WriteLock extends Side<WritePermit> {
  readonly #permits: Permits;

  /** @internal Created by {@link ReadWriteLock.write}. */
  constructor(permits: Permits) {
    super();
    this.#permits = permits;
  }

  override acquire(options: AcquirePermitOptions = {}): Promise<WritePermit> {
    return this.#permits.acquireOrThrow(options, MOST_READERS, (hold) => this.#permit(hold));
  }

  override async tryAcquire(
    options: Pick<AcquirePermitOptions, "owner"> = {},
  ): Promise<WritePermit | null> {
    const asked = { ...checkNames("tryAcquire()", options, { owner: true }), wait: 0 };
    const permit = await this.#permits.acquire(asked, MOST_READERS, (hold) => this.#permit(hold));
    return permit ?? null;
  }

  #permit(hold: Hold): WritePermit {
    return new WritePermit(hold, this.#permits.ref);
  }
}

/**
 * Many readers at once, up to 1,000, or one writer alone. Readers and writers are served first come, first served: a
 * reader that comes after a waiting writer waits for the writer, so neither side starves. A read-write lock does **not**
 * protect the data from a reader or writer that was paused beyond its deadline: use {@link Permit.condition} or the
 * fence. It is not reentrant: a reader that asks for the write lock waits for itself.
 *
 * A semaphore with a limit of 1,000, of which a reader takes one and a writer takes all.
 *
 * Protocol: spec/protocol.md, "Permits".
 */
export class ReadWriteLock {
  readonly name: string;
  readonly #read: ReadLock;
  readonly #write: WriteLock;

  /** @internal Created by `Holdfast.readWriteLock`. */
  constructor(parts: PermitParts, name: string, options: PermitOptions) {
    const asked = checkNames("readWriteLock()", options, PERMIT_NAMES);
    const permits = new Permits(parts, { kind: "read-write", name, limit: MOST_READERS }, asked);
    this.name = name;
    this.#read = new ReadLock(permits);
    this.#write = new WriteLock(permits);
  }

  /** Returns the read side. Costs no request. */
  read(): ReadLock {
    return this.#read;
  }

  /** Returns the write side. Costs no request. */
  write(): WriteLock {
    return this.#write;
  }
}
