import { Admin } from "./admin/admin.js";
import {
  INSPECT_NAMES,
  INSPECT_PERMIT_NAMES,
  type InspectOptions,
  type InspectPermitOptions,
  isPermitKind,
  namedRef,
  permitRecordRef,
} from "./admin/kinds.js";
import {
  environmentFrom,
  type HoldfastOptions,
  SESSION_NAMES,
  type SessionOptions,
} from "./client-options.js";
import { threadFrom } from "./client-thread.js";
import { AcquireContext } from "./core/acquire/context.js";
import { resolveClient } from "./core/client-settings.js";
import { closeInOrder } from "./core/hold/close.js";
import { actingMs } from "./core/hold/deadline.js";
import type { LeaseTransfer } from "./core/hold/export.js";
import type { Lease } from "./core/hold/lease.js";
import { ACQUIRE_NAMES } from "./core/option-names.js";
import { type AcquireOptions, type ClientOptions, resolveAcquire } from "./core/options.js";
import { PermitMarks } from "./core/permits/marks.js";
import { requireCapability } from "./core/record/capability.js";
import type { FormatTypes, NativeTypes } from "./core/record/format-types.js";
import { refOf } from "./core/record/key.js";
import { checkName } from "./core/record/name.js";
import { SessionKeepAlive } from "./core/session/keep-alive.js";
import { Session } from "./core/session/session.js";
import { SharedSession } from "./core/session/shared.js";
import { Election } from "./election/election.js";
import type { Leading } from "./election/lead.js";
import { ELECTION_NAMES, type ElectionOptions } from "./election/options.js";
import {
  LEADER_TASKS_NAMES,
  LeaderTasks,
  type LeaderTasksOptions,
} from "./election/tasks/leader-tasks.js";
import { HoldfastError } from "./errors.js";
import { checkNames } from "./internal/option-names.js";
import { importLease } from "./locks/import.js";
import { type Inspection, inspect } from "./locks/inspect.js";
import { inspectPermits, type PermitInspection } from "./locks/inspect-permits.js";
import { Lock, type LockOptions } from "./locks/lock.js";
import { MultiLock, type MultiLockOptions } from "./locks/multi-lock.js";
import { type PermitOptions, type PermitParts, permitSessions } from "./locks/permits.js";
import { ReadWriteLock } from "./locks/read-write-lock.js";
import { Semaphore, type SemaphoreOptions } from "./locks/semaphore.js";
import { Occurrences, type OnceBeginning, type OnceResult } from "./once/once.js";
import { type OnceOptions, resolveOnce } from "./once/options.js";
import { defaultOwner } from "./platform/process.js";

/**
 * A client for the locks in one DynamoDB table.
 *
 * Not promised: a lease is not mutual exclusion, because any request and any process can be delayed. A holder
 * stops by its own clocks. Protect data from a former holder with `lease.condition()` or `lease.fence`. See
 * docs/safety.md.
 *
 * Use one client per process: the waiters for a name share a local queue, and all calls share observations.
 * The constructor sends no request. Throws `invalid-argument`.
 */
export class Holdfast<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #context: AcquireContext;
  /** The client's lengths of time, the defaults of its locks. */
  readonly #lengths: ClientOptions;
  readonly #owner: string;
  readonly #occurrences: Occurrences;
  readonly #shared: SharedSession | undefined;
  readonly #marks = new PermitMarks();
  /** The session of the permits, from the first semaphore or read-write lock. */
  #sessions: SharedSession | undefined;
  /** The leaders and candidates of this client, until the client closes. */
  readonly #leading = new Set<Leading>();
  #admin: Admin<S> | undefined;
  #closed: Promise<void> | undefined;
  /** @internal How long this client waits for an answer, in milliseconds. */
  readonly requestTimeoutMs: number;

  constructor(options: HoldfastOptions<S>) {
    this.#context = new AcquireContext(environmentFrom(options), resolveClient(options));
    this.#occurrences = new Occurrences(this.#context);
    this.requestTimeoutMs = this.#context.settings.requestTimeoutMs;
    const { lease, renew, wait, poll } = options;
    this.#lengths = { lease, renew, wait, poll };
    this.#owner = options.owner ?? defaultOwner();
    // Checked in the constructor, so that a mistake shows at the start and not at first use.
    const settings = resolveAcquire([options], this.#owner, this.#context.format.facts.defaults);
    actingMs(this.#context, settings.leaseMs);
    if (options.history === true) requireCapability(this.#context.format, "history");
    const thread = threadFrom(options, this.#context, settings.leaseMs);
    if (!options.sharedSession) return;
    requireCapability(this.#context.format, "sessions");
    this.#shared = new SharedSession(this.#context, settings, thread);
  }

  /**
   * Returns the mutex of this name: one holder at a time. With `fair: true` it is a fair lock. A name is any
   * well-formed string of 1 to 1,900 bytes, or two such strings in a format with a sort key. Costs no request.
   * Throws `invalid-argument`.
   */
  mutex(name: S["name"], options?: LockOptions<S>): Lock<S> {
    const [clientOptions, defaultOwner, shared] = [this.#lengths, this.#owner, this.#shared];
    const context = this.#context;
    return new Lock<S>({ context, name, options, clientOptions, defaultOwner, shared });
  }

  /**
   * Returns the fair lock of this name, `mutex(name, { fair: true })`: one holder at a time, first come, first
   * served. Without a namespace it is the same lock as `mutex(name)`. Needs a table with a sort key. Costs no
   * request. Throws `invalid-argument`.
   */
  fairLock(name: string, options: Omit<LockOptions, "fair"> = {}): Lock<S> {
    return this.mutex(name, { ...options, fair: true } as LockOptions as LockOptions<S>);
  }

  /**
   * Returns a multi-lock of 1 to 50 different names. DynamoDB grants all of them together or none, so two
   * multi-locks cannot deadlock. Needs a table with a sort key, and transactions: not a global table with
   * strong consistency. Costs no request. Throws `invalid-argument`.
   */
  multiLock(names: readonly string[], options: MultiLockOptions = {}): MultiLock {
    return new MultiLock(this.#context, names, options, this.#lengths, this.#owner, this.#shared);
  }

  /**
   * Returns the semaphore of this name: up to `permits` holders at a time. Needs a table with a sort key. The length of
   * its permits is the client's `lease`, or the length of `session`. Costs no request. Throws `invalid-argument`.
   */
  semaphore(name: string, options: SemaphoreOptions): Semaphore {
    return new Semaphore(this.#permitParts(), name, options);
  }

  /**
   * Returns the read-write lock of this name: many readers or one writer. Needs a table with a sort key. The length of its
   * permits is the client's `lease`, or the length of `session`. Costs no request. Throws `invalid-argument`.
   */
  readWriteLock(name: string, options: PermitOptions = {}): ReadWriteLock {
    return new ReadWriteLock(this.#permitParts(), name, options);
  }

  #permitParts(): PermitParts {
    const [context, clientOptions, defaultOwner] = [this.#context, this.#lengths, this.#owner];
    this.#sessions ??= this.#shared ?? permitSessions(context, clientOptions, defaultOwner);
    const [marks, sessions] = [this.#marks, this.#sessions];
    return { context, clientOptions, defaultOwner, marks, sessions };
  }

  /**
   * Opens a session, which keeps any number of locks alive: `mutex(name, { session })`. All these locks
   * together cost one renewal, a single write, a period. Costs two writes. If the table cannot be written to
   * for as long as `wait`, the call rejects as {@link Lock.acquire} does. Throws `invalid-argument`.
   */
  async session(options: SessionOptions = {}): Promise<Session> {
    requireCapability(this.#context.format, "sessions");
    checkNames("session()", options, SESSION_NAMES);
    const settings = resolveAcquire([options, this.#lengths], this.#owner);
    if (settings.renewMs === "manual") {
      throw new HoldfastError(
        "invalid-argument",
        "The option `renew` of a session must be a duration: the client renews a session itself.",
      );
    }
    return new Session(this.#context, await SessionKeepAlive.open(this.#context, settings));
  }

  /**
   * Returns one candidate for the leadership of this name. An election and a lock of the same name are
   * independent, except in the formats of other clients. The client's lengths of time do not apply to an
   * election. Costs no request. Throws `invalid-argument`.
   */
  election(name: S["name"], options: ElectionOptions = {}): Election<S> {
    return this.#election(name, checkNames("election()", options, ELECTION_NAMES));
  }

  #election(name: S["name"], options: ElectionOptions): Election<S> {
    const ref = refOf(this.#context.format, name, "leader");
    return new Election<S>(this.#context, ref, options, this.#owner, this.#leading);
  }

  /**
   * Returns tasks that run at intervals on the leader of a name only; `start()` starts them. Costs no request.
   * Throws `invalid-argument`.
   */
  leaderTasks(options: LeaderTasksOptions<S>): LeaderTasks<S> {
    checkNames("leaderTasks()", options, LEADER_TASKS_NAMES);
    return new LeaderTasks<S>(this.#election(options.name, options), options);
  }

  /**
   * Runs one occurrence of a scheduled task, unless another instance has begun it. By default at most once,
   * even if the process dies: see {@link OnceOptions.ifInterrupted}. **Not** promised: a run that continues
   * after its signal has aborted can overlap the next occurrence.
   *
   * Costs a read of half a unit. The caller that runs the occurrence sends three writes more, or four with both
   * `"rerun"` and `atLeastFor`. Rejects with `fn`'s error; with `lost` if the lease was lost before `fn` ended;
   * with `outcome-unknown` if the end was not acknowledged, so that a rerun may follow; with `misconfigured` for an instant
   * that is not due yet by the table's time; with `unreachable` or `throttled` if the occurrence was not begun. Throws
   * `invalid-argument`.
   */
  once<T>(
    name: string,
    options: OnceOptions,
    fn: (lease: Lease) => T | PromiseLike<T>,
  ): Promise<OnceResult<T>> {
    const settings = resolveOnce(options, this.#owner);
    const ref = this.#context.format.codec.refOf("once", checkName(name));
    return this.#occurrences.run(ref, settings, fn);
  }

  /** @internal Begins occurrences and leaves their runs to the caller. Throws `invalid-argument` as `once`. */
  occurrences(): (name: string, options: OnceOptions) => Promise<OnceBeginning> {
    const { format } = this.#context;
    format.codec.refOf("once", "any");
    return (name, options) => {
      const settings = resolveOnce(options, this.#owner);
      return this.#occurrences.begin(format.codec.refOf("once", checkName(name)), settings);
    };
  }

  /** The operations for operators of this table's locks. Costs no request. */
  get admin(): Admin<S> {
    this.#admin ??= new Admin<S>(this.#context, this.#owner);
    return this.#admin;
  }

  /**
   * Describes a lock, a leadership or a task of `once` without acquiring it: see {@link Lock.inspect}. Costs a strong read, and a
   * second read for a lease on a session; with the kind "semaphore" or "read-write" as {@link Semaphore.inspect}. Throws
   * `invalid-argument`.
   */
  inspect(name: S["name"], options?: InspectOptions): Promise<Inspection<S>>;
  inspect(name: string, options: InspectPermitOptions): Promise<PermitInspection>;
  inspect(
    name: S["name"],
    options: InspectOptions | InspectPermitOptions = {},
  ): Promise<Inspection<S> | PermitInspection> {
    const { kind } = options;
    if (isPermitKind(kind)) {
      checkNames("inspect()", options as InspectPermitOptions, INSPECT_PERMIT_NAMES);
      return inspectPermits(this.#context, permitRecordRef(this.#context.format, name, kind));
    }
    checkNames("inspect()", options as InspectOptions, INSPECT_NAMES);
    const ref = namedRef(this.#context.format, name, options as InspectOptions);
    return inspect(this.#context, ref) as Promise<Inspection<S>>;
  }

  /**
   * Imports the lock from a handle of `lease.export()`; each handle works once. The import is a new grant with a
   * new fence, and its deadline counts from before the send. Without a new `data`, the record keeps the old data.
   * Costs one write. Rejects with `not-acquired` if the handle was used before, or if its lease expired and
   * another client acquired the lock; otherwise as {@link Lock.acquire}.
   */
  import(handle: LeaseTransfer, options: AcquireOptions = {}): Promise<Lease> {
    checkNames("import()", options, ACQUIRE_NAMES);
    return importLease(this.#context, handle, [options, this.#lengths], this.#owner);
  }

  /**
   * Resolves when the client does nothing in the background: no acquisition, no release, no rollback. Call this
   * before the process is frozen. Leases stay held, and are renewed. Costs no request.
   */
  drain(): Promise<void> {
    return this.#context.drain();
  }

  /**
   * Closes the client. Pending acquisitions reject with `closed`. Leaders abort the signals of their `lead()`
   * callbacks, and release each term after its callback has ended, for at most `closeTimeout`. Then the other
   * leases end with reason `closed` and are released in parallel, one write each, for at most `closeTimeout`.
   * Rejects with a single error, which lists each lease without an acknowledged release. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= closeInOrder(this.#context, this.#leading);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
