import type { Lease } from "../core/hold/lease.js";
import type { AcquireOptions } from "../core/options.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { Inspection } from "./inspect.js";

/**
 * What a program can acquire: a mutex, a fair lock, several locks, a semaphore, or a side of a read-write lock. The
 * function that makes the lock says what its requests cost, and what it does not promise. A holder can lose the lock: see
 * {@link Lease}. `S`: the types of the format; `O`: the options of one acquisition.
 */
export interface Lock<S extends FormatTypes = NativeTypes, O extends object = AcquireOptions<S>> {
  /** The name of the lock. Of several locks, their names, with commas. */
  readonly name: string;

  /**
   * Acquires the lock, waiting up to `wait` (by default longer than a dead holder blocks the lock, and at least
   * 60 s; 0 for no wait, `Infinity` for ever).
   *
   * Rejects with `not-acquired` after the wait, or with `onPlaceExpired: "fail"` after the loss of the place; with the
   * reason of `signal` if the signal aborts; with `closed`, `throttled`, `unreachable`, `misconfigured`,
   * `access-denied`, `foreign-record` or `unsupported-layout`; for a semaphore also with `limit-mismatch`. Throws
   * `invalid-argument`. A failed acquire leaves nothing in the table: a deletion in the background gives up each place in
   * a queue.
   */
  acquire(options?: O): Promise<Lease<S>>;

  /**
   * Acquires the lock without waiting. Resolves with null if the lock is held, or a semaphore has no room. Acquires a
   * free lock, and a dead holder's lock: its end is past by more than `maxClockError`, or this client has watched its
   * whole lease. Options that only matter to a wait have no effect. While the client's own claims fill its connections,
   * the attempt waits for its turn among them. Sends no request while another call of this client holds or acquires a
   * lock, or waits for a permit. Errors as {@link Lock.acquire}.
   */
  tryAcquire(options?: O): Promise<Lease<S> | null>;

  /**
   * Holds the lock while `body` runs, and always releases the lock afterwards. Returns the result of `body`, or rejects
   * with the error of `body`. An error of the release never replaces either; the client's `onError` gets the error.
   * Rejects with `lost` if the lock was lost before the body ended, unless the body threw an error of its own, or has itself
   * exported the lease. If the body failed with an `AbortError` or a `TimeoutError` because its signal aborted, as the SDK
   * does, that error is the `cause` of `lost`. Otherwise as {@link Lock.acquire}.
   */
  run<T>(body: (lease: Lease<S>) => T | PromiseLike<T>): Promise<T>;
  run<T>(options: O, body: (lease: Lease<S>) => T | PromiseLike<T>): Promise<T>;

  /**
   * Reads the state of the lock without acquiring the lock: see {@link inspect}. Of several locks, also of each, in
   * `parts`.
   */
  inspect(): Promise<Inspection<S>>;
}
