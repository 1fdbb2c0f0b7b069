import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf } from "../core/record/key.js";
import { checkNames } from "../internal/option-names.js";
import {
  FORCE_NAMES,
  type ForceReleaseOptions,
  type ForceReleaseResult,
  forceRelease,
} from "./force-release.js";
import { type History, historyOf } from "./history.js";
import {
  checkHolderKind,
  type HolderKind,
  INSPECT_NAMES,
  type InspectOptions,
  type ListOptions,
  type ListPage,
  list,
  namedRef,
} from "./list.js";
import { listQueue, type QueueListing } from "./queue.js";
import { type ReleaseByHolderOptions, releaseByHolder } from "./release-holder.js";
import { listSessions, type SessionListing } from "./sessions.js";
import { type LimitChange, setLimit } from "./set-limit.js";
import { SURVEY_NAMES, type Survey, type SurveyOptions, survey } from "./survey.js";

/** Operations on a table's locks for operators, available as `Holdfast.admin`. */
export class Admin<S extends FormatTypes = NativeTypes> {
  readonly #context: AcquireContext;
  readonly #defaultBy: string;

  /** @internal Made by `Holdfast.admin`. */
  constructor(context: AcquireContext, defaultBy: string) {
    this.#context = context;
    this.#defaultBy = defaultBy;
  }

  /**
   * Lists the locks, the leaderships, or the tasks of `once`, of the table, page by page.
   *
   * Each page scans up to a megabyte of the whole table, at half a read unit for 4 KB. A second listing by the same
   * client recognises silent holders. Rejects with coded errors.
   */
  list(options: ListOptions = {}): AsyncIterable<ListPage<S>> {
    return list(this.#context, options) as AsyncIterable<ListPage<S>>;
  }

  /**
   * Lists the holder of a fair lock and the waiters, in order.
   *
   * A mutex's waiters appear only once they have a place in the queue. Costs a strongly consistent read, and a strongly
   * consistent query of half a unit for each four or so waiters. Rejects with coded errors.
   */
  queue(name: string, options: { readonly namespace?: string } = {}): Promise<QueueListing> {
    checkNames("queue()", options, { namespace: true });
    return listQueue(this.#context, queueRefOf(this.#context.format, name, options.namespace));
  }

  /**
   * Lists the sessions of the table, each with its locks.
   *
   * Scans twice, and holds the result in memory. Rejects with coded errors.
   */
  async sessions(): Promise<SessionListing[]> {
    requireCapability(this.#context.format, "sessions");
    return listSessions(this.#context);
  }

  /**
   * Reads all kinds of records, the places in queues and the sessions of the table, by one scan.
   *
   * Scans the whole table as `list` does, and holds the result in memory. Includes free locks. A second survey by the
   * same client recognises silent holders. Rejects with coded errors. Throws `invalid-argument`.
   */
  async survey(options: SurveyOptions = {}): Promise<Survey> {
    requireCapability(this.#context.format, "sessions");
    return survey(this.#context, checkNames("survey()", options, SURVEY_NAMES));
  }

  /**
   * Reads the last sixteen grants of a lock, or leadership, and the forced releases among them.
   *
   * Only clients with the option `history` note their grants. Costs seventeen reads of half a unit. Throws coded
   * errors.
   */
  history(
    name: string,
    options: InspectOptions & { readonly kind?: HolderKind | undefined } = {},
  ): Promise<History> {
    checkHolderKind(checkNames("history()", options, INSPECT_NAMES));
    return historyOf(this.#context, namedRef(this.#context.format, name, options));
  }

  /**
   * Frees a lock by its holder id, for a process that lost its handle.
   *
   * The holder loses its lease at its next renewal; on a session, at its next write to this lock. Costs one write.
   * Resolves to whether the lock named this holder. Rejects with coded errors. Throws `invalid-argument`.
   */
  releaseByHolder(
    name: S["name"],
    holder: string,
    options: ReleaseByHolderOptions = {},
  ): Promise<boolean> {
    checkNames("releaseByHolder()", options, { namespace: true });
    const ref = namedRef(this.#context.format, name, { namespace: options.namespace });
    return releaseByHolder(this.#context, ref, holder);
  }

  /**
   * Changes the limit of a semaphore, or sets it before the first acquisition.
   *
   * Holders keep their permits: below what is in use, no permit is granted until enough are released. Callers that still
   * use the old limit are refused with `limit-mismatch`, so start new processes with the new limit first, or stop the old
   * ones. Costs a read and a write. Rejects with coded errors. Throws `invalid-argument`.
   */
  setLimit(name: string, permits: number): Promise<LimitChange> {
    return setLimit(this.#context, name, permits);
  }

  /**
   * Asks the holder of a lock to release, and resolves once the lock is free or the holder is dead.
   *
   * The holder reads the request at its next renewal: its lease is then lost with reason `released-by-force`, and the
   * message says by whom and why. The lock is free when the holder calls `release()`, or when the lease expires. So
   * there are never two holders; with `now` there may be, until the next renewal of the holder or its session. With
   * `kind` "leader" the request ends the term of an election; the same candidate may be elected again.
   *
   * The next holder is **not** asked: if the lock was granted again meanwhile, the result names this `successor`. With
   * `now` the holder is asked first and the lock freed last: if this call rejects, or the process ends, before the last
   * write, the lock may still be held; call again.
   *
   * Costs a read, a write, a write more for a lock on a session, a write more with `now`, and some reads while waiting.
   * `Inspection.forced` shows by whom, when and why, until the next request to a holder of the name. Rejects with coded
   * errors. Throws `invalid-argument`.
   */
  forceRelease(name: S["name"], options: ForceReleaseOptions): Promise<ForceReleaseResult> {
    checkHolderKind(checkNames("forceRelease()", options, FORCE_NAMES));
    const ref = namedRef(this.#context.format, name, options);
    return forceRelease(this.#context, ref, options, this.#defaultBy);
  }
}
