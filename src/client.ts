import {
  type ForceReleaseOptions,
  type ForceReleaseResult,
  forceRelease,
} from "./admin/force-release.js";
import { type History, historyOf, noHistory } from "./admin/history.js";
import {
  type InspectOptions,
  type ListOptions,
  type ListPage,
  list,
  namedRef,
} from "./admin/list.js";
import { listQueue, type QueueListing } from "./admin/queue.js";
import { type ReleaseByHolderOptions, releaseByHolder } from "./admin/release-holder.js";
import { listSessions, type SessionListing } from "./admin/sessions.js";
import { environmentFrom, type HoldfastOptions, type SessionOptions } from "./client-options.js";
import { AcquireContext } from "./core/acquire/context.js";
import { closeInOrder } from "./core/hold/close.js";
import { actingMs } from "./core/hold/deadline.js";
import type { LeaseTransfer } from "./core/hold/export.js";
import type { Lease } from "./core/hold/lease.js";
import {
  type AcquireOptions,
  type ClientOptions,
  resolveAcquire,
  resolveClient,
} from "./core/options.js";
import type { FormatTypes, NativeTypes } from "./core/record/format-types.js";
import { assertSessions, queueRefOf, refOf } from "./core/record/key.js";
import { checkName } from "./core/record/name.js";
import { SessionKeepAlive } from "./core/session/keep-alive.js";
import { Session } from "./core/session/session.js";
import { SharedSession } from "./core/session/shared.js";
import { Election } from "./election/election.js";
import type { Leading } from "./election/lead.js";
import type { ElectionOptions } from "./election/options.js";
import { LeaderTasks, type LeaderTasksOptions } from "./election/tasks/leader-tasks.js";
import { HoldfastError } from "./errors.js";
import { FairLock, type FairLockOptions } from "./locks/fair-lock.js";
import { importLease } from "./locks/import.js";
import { type Inspection, inspect } from "./locks/inspect.js";
import { MultiLock, type MultiLockOptions } from "./locks/multi-lock.js";
import { Mutex, type MutexOptions } from "./locks/mutex.js";
import {
  type NodeCronCoordinator,
  type NodeCronOptions,
  nodeCronCoordinator,
} from "./once/node-cron.js";
import { Occurrences, type OnceResult } from "./once/once.js";
import { type OnceOptions, resolveOnce } from "./once/options.js";
import { LocalTable } from "./platform/dynamodb/local-table.js";
import { defaultOwner } from "./platform/process.js";

/**
 * Locks in one DynamoDB table.
 *
 * What it does not promise: a lease is not mutual exclusion in a world where anything can be delayed.
 * A holder knows by its own clocks when to stop; `lease.condition()` and `lease.fence` protect what
 * must not be written by a former holder. See docs/safety.md.
 *
 * One client for a process: waiters for one name then share one line, and observations are shared.
 * Making one costs no request. Throws `invalid-argument`.
 */
export class Holdfast<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #context: AcquireContext;
  /** What its locks ask for unless they say otherwise. */
  readonly #lengths: ClientOptions;
  readonly #owner: string;
  readonly #occurrences: Occurrences;
  readonly #shared: SharedSession | undefined;
  /** What leads, or stands by to, until the client closes. */
  readonly #leading = new Set<Leading>();
  #closed: Promise<void> | undefined;
  /** @internal For how long this client waits for an answer, in milliseconds. */
  readonly requestTimeoutMs: number;

  /**
   * The same object without a table, for local development: every lock is free, every candidate leads, also several at
   * once. It excludes no other holder, not even in this process. `inspect()` says `local`. Costs no request.
   * @example
   * const locks = isLocal ? Holdfast.local() : new Holdfast({ client, table: "locks" });
   */
  static local(
    options: Omit<HoldfastOptions, "client" | "table" | "keys" | "format"> = {},
  ): Holdfast {
    return new Holdfast({ ...options, client: new LocalTable(), table: "local" });
  }

  constructor(options: HoldfastOptions<S>) {
    this.#context = new AcquireContext(environmentFrom(options), resolveClient(options));
    this.#occurrences = new Occurrences(this.#context);
    this.requestTimeoutMs = this.#context.settings.requestTimeoutMs;
    const { lease, renew, wait, poll } = options;
    this.#lengths = { lease, renew, wait, poll };
    this.#owner = options.owner ?? defaultOwner();
    // Said when the client is made, not when it is first needed.
    const settings = resolveAcquire([options], this.#owner, this.#context.format.defaults);
    actingMs(this.#context, settings.leaseMs);
    if (options.history === true && this.#context.format.history === undefined) {
      throw noHistory(this.#context.format.name);
    }
    if (options.sharedSession !== true) return;
    assertSessions(this.#context.format);
    this.#shared = new SharedSession(this.#context, settings);
  }

  /**
   * The mutex of this name: one holder at a time. Any well-formed string of 1 to 1,900 bytes is a
   * name; in a format with a sort key, two of them are. Costs no request. Throws `invalid-argument`.
   */
  mutex(name: S["name"], options?: MutexOptions<S>): Mutex<S> {
    const ref = refOf(this.#context.format, name);
    return new Mutex<S>(this.#context, ref, options, this.#lengths, this.#owner, this.#shared);
  }

  /**
   * The fair lock of this name: one holder at a time, first come, first served. Without a namespace it is
   * the lock that `mutex(name)` is too. Needs a table with a sort key. Costs no request. Throws
   * `invalid-argument`.
   */
  fairLock(name: string, options: FairLockOptions = {}): FairLock {
    const ref = queueRefOf(this.#context.format, name, options.namespace);
    return new FairLock(this.#context, ref, options, this.#lengths, this.#owner, this.#shared);
  }

  /**
   * Several locks at once, 1 to 50 different names: all are granted together, or none is, so that no two
   * can wait for each other. Needs a table with a sort key, and transactions: not a global table with strong
   * consistency. Costs no request. Throws `invalid-argument`.
   */
  multiLock(names: readonly string[], options: MultiLockOptions = {}): MultiLock {
    return new MultiLock(this.#context, names, options, this.#lengths, this.#owner, this.#shared);
  }

  /**
   * Who holds a fair lock and who waits for it, in order; a mutex's waiters are seen only once they have a place. One
   * strong read, and a strong query of half a unit for each four or so waiters. Rejects with coded errors.
   */
  queue(name: string, options: { readonly namespace?: string } = {}): Promise<QueueListing> {
    return listQueue(this.#context, queueRefOf(this.#context.format, name, options.namespace));
  }

  /**
   * Opens a session, which any number of locks can live by: `mutex(name, { session })`. One renewal,
   * one write a period, then keeps all of them. Two writes. Rejects as {@link Mutex.acquire} does where
   * the table cannot be written to for as long as `wait`. Throws `invalid-argument`.
   */
  async session(options: SessionOptions = {}): Promise<Session> {
    assertSessions(this.#context.format);
    const settings = resolveAcquire([options, this.#lengths], this.#owner);
    if (settings.renewMs === "manual") {
      throw new HoldfastError(
        "invalid-argument",
        "A session renews itself: give it a `renew` in time.",
      );
    }
    return new Session(this.#context, await SessionKeepAlive.open(this.#context, settings));
  }

  /**
   * One candidate for the leadership of this name. Names of elections and of locks never meet, but in the formats of
   * other clients. Its lengths of time are its own, not the client's. Costs no request. Throws `invalid-argument`.
   */
  election(name: S["name"], options: ElectionOptions = {}): Election<S> {
    const ref = refOf(this.#context.format, name, "leader");
    return new Election<S>(this.#context, ref, options, this.#owner, this.#leading);
  }

  /**
   * Workers at intervals that run on the leader of a name only; `start()` sets them going. Costs no
   * request. Throws `invalid-argument`.
   */
  leaderTasks(options: LeaderTasksOptions<S>): LeaderTasks<S> {
    return new LeaderTasks<S>(this.election(options.name, options), options);
  }

  /**
   * Runs one occurrence of a scheduled task, if no other instance has begun it. At most once by default, also
   * if its process dies: see {@link OnceOptions.ifInterrupted}. It does **not** promise that a run has ended
   * before the next occurrence begins, if it goes on after its signal has aborted.
   *
   * Costs a read of half a unit; three writes more for the caller that runs it, four with both `"rerun"` and
   * `atLeastFor`. Rejects with `fn`'s error; with `lost`, if the lease was lost before `fn` ended; with
   * `outcome-unknown`, if a rerun may follow because the end was not acknowledged; with `unreachable` or
   * `throttled`, if it was not begun. Throws `invalid-argument`.
   */
  once<T>(
    name: string,
    options: OnceOptions,
    fn: (signal: AbortSignal, lease: Lease) => T | PromiseLike<T>,
  ): Promise<OnceResult<T>> {
    const settings = resolveOnce(options, this.#owner, this.#context.clock.wallMs());
    const ref = this.#context.format.refOf("once", checkName(name));
    return this.#occurrences.run(ref, settings, fn);
  }

  /**
   * A `RunCoordinator` for node-cron 4.6 and later, by which one of all instances runs each occurrence of a `distributed`
   * task: `cron.setRunCoordinator(locks.nodeCron())`. Each occurrence costs what {@link Holdfast.once} costs. Where the
   * table does not answer, node-cron skips it. Throws `invalid-argument` in a format without records for it.
   */
  nodeCron(options: NodeCronOptions = {}): NodeCronCoordinator {
    return nodeCronCoordinator(this.#context, this.#occurrences, this.#owner, options);
  }

  /**
   * What is known of a lock, or of a leadership, without acquiring it: see {@link Mutex.inspect}. One strong
   * read, and one of the session that it lives by. Throws `invalid-argument`.
   */
  inspect(name: S["name"], options: InspectOptions = {}): Promise<Inspection<S>> {
    const ref = namedRef(this.#context.format, name, options);
    return inspect(this.#context, ref) as Promise<Inspection<S>>;
  }

  /**
   * The locks, or the leaderships, of the table, page by page. It scans: each page reads up to a megabyte of the whole
   * table, at half a read unit for 4 KB. A second listing knows which holders were silent. Rejects with coded errors.
   */
  list(options: ListOptions = {}): AsyncIterable<ListPage<S>> {
    return list(this.#context, options) as AsyncIterable<ListPage<S>>;
  }

  /**
   * The sessions of the table, each with its locks. Two scans, held in memory. Rejects with coded errors.
   */
  async sessions(): Promise<SessionListing[]> {
    assertSessions(this.#context.format);
    return listSessions(this.#context);
  }

  /**
   * The last sixteen grants of a lock, or leadership, and the forced releases among them, as far as clients with
   * `history` noted them. Seventeen reads of half a unit. Throws coded errors.
   */
  history(name: string, options: InspectOptions = {}): Promise<History> {
    return historyOf(this.#context, namedRef(this.#context.format, name, options));
  }

  /**
   * Acquires the lock that a handle of `lease.export()` is for, once: a new grant, with a new fence, its
   * deadline counted from before its sending. Data stay, unless there are others. One write. Rejects with
   * `not-acquired` where it was used, or ran out and the lock was taken; else as {@link Mutex.acquire}.
   */
  import(handle: LeaseTransfer, options: AcquireOptions = {}): Promise<Lease> {
    return importLease(this.#context, handle, [options, this.#lengths], this.#owner);
  }

  /**
   * Frees a lock whose holder id is known, in one write: for a process that lost its handle. The holder learns of it
   * at its next renewal; on a session, at its next write to this lock. Resolves to whether the lock named that
   * holder. Rejects with coded errors. Throws `invalid-argument`.
   */
  release(name: S["name"], holder: string, options: ReleaseByHolderOptions = {}): Promise<boolean> {
    const ref = namedRef(this.#context.format, name, { namespace: options.namespace });
    return releaseByHolder(this.#context, ref, holder);
  }

  /**
   * Asks whoever holds a lock to end, and resolves once it is free, or its holder dead. The holder finds
   * the request at its next renewal: its lease is then lost, with reason `released-by-force` and the words
   * that say who and why; the lock is free when it calls `release()`, or once its lease has run out. So
   * there are never two holders; with `now` there may be, until the holder's next renewal, or its session's.
   * With `kind` "leader" it is the term of an election that ends so; its candidate may be elected again.
   *
   * It does **not** ask the next holder: where the lock was granted again meanwhile, the result names it as
   * `successor`. With `now` the holder is asked first, so that it hears of it, and the lock is freed last: where
   * it rejects, or its process ends before that, the lock may be held as before; call it again.
   *
   * One read, one write, one more where the lock lives by a session, one more with `now`, and some reads while it
   * waits. Who, when and why stay in {@link Inspection.forced} until the next. Rejects with coded errors. Throws `invalid-argument`.
   */
  forceRelease(name: S["name"], options: ForceReleaseOptions): Promise<ForceReleaseResult> {
    const ref = namedRef(this.#context.format, name, options ?? {});
    return forceRelease(this.#context, ref, options ?? {}, this.#owner);
  }

  /**
   * Resolves when the client does nothing in the background: no acquisition, no release, no rollback. For a process that
   * is frozen when its work is done. Leases stay held, and are renewed. Costs no request.
   */
  drain(): Promise<void> {
    return this.#context.drain();
  }

  /**
   * Ends everything: pending acquisitions reject with `closed`; what runs under `lead()` is told to end, and its term is
   * released after it has, for at most `closeTimeout`; then the other leases end with reason `closed` and are released
   * in parallel, one write each, for at most `closeTimeout`. Rejects with one error that lists each lease whose release
   * was not acknowledged. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= closeInOrder(this.#context, this.#leading);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
