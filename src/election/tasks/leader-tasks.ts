import type { FormatTypes, NativeTypes } from "../../core/record/format-types.js";
import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs } from "../../internal/duration.js";
import type { Election } from "../election.js";
import { Ending } from "../ending.js";
import type { ElectionOptions } from "../options.js";
import type { Term } from "../term.js";
import { Schedule, type TaskHealth } from "./schedule.js";
import { type LeaderTask, resolveTasks } from "./task.js";

/** Options of a coordinator: those of its election, and its tasks. */
export interface LeaderTasksOptions<S extends FormatTypes = NativeTypes> extends ElectionOptions {
  /** The name that is led. */
  readonly name: S["name"];
  /** What runs on the leader. */
  readonly tasks: readonly LeaderTask<S>[];
  /**
   * How long before the deadline of a lease that nobody renews runs are told to end, so that they have
   * ended by then. Default a 25th of the lease, at most 2 s.
   */
  readonly stopBefore?: Duration | undefined;
}

/** How a coordinator does, for a probe. */
export interface LeaderTasksHealth {
  /**
   * - `leader`: it leads, and its tasks run.
   * - `follower`: another does, or nobody; also while the table does not answer.
   * - `wedged`: a run goes on although it was told to end. End the process: nothing else can end it.
   * - `stopped`: it was not started, or was stopped.
   */
  readonly state: "leader" | "follower" | "wedged" | "stopped";
  /** The fence of the present term; undefined also in a format whose grants are not numbered. */
  readonly term: bigint | undefined;
  readonly tasks: readonly TaskHealth[];
  /** Why it cannot even campaign: a wrong configuration. It tries again a lease later. */
  readonly trouble: unknown;
}

const STOP_BEFORE_PART = 1 / 25;
const LONGEST_STOP_BEFORE_MS = 2_000;

/**
 * Workers at intervals that run on the leader only. Of one worker no run overlaps another in this process,
 * over all terms. It does **not** promise that about other processes where a run goes on although it was
 * told to end: see {@link Term.condition}.
 *
 * A run that does not end when it is told to is *wedged*. It cannot be ended from outside, so: its worker
 * does not run again before it has ended; while the lease is renewed, it keeps the leadership, also
 * against `resign()` and `stop()`, and the other tasks run on; once the lease is lost, others may lead,
 * its guarded writes are refused, and this process does not campaign before it has ended. `health()` says
 * `wedged`, so that a probe can end the process.
 */
export class LeaderTasks<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #election: Election<S>;
  readonly #schedules: readonly Schedule[];
  readonly #stopping = new AbortController();
  #trouble: unknown;
  #serving: Promise<void> | undefined;
  #isServing = false;

  /** @internal Made by `Holdfast.coordinator`. */
  constructor(election: Election<S>, options: LeaderTasksOptions<S>) {
    const { candidate } = election;
    const { leaseMs, renewMs } = candidate.settings;
    const stopBeforeMs = durationMs(
      "stopBefore",
      options.stopBefore ?? Math.min(leaseMs * STOP_BEFORE_PART, LONGEST_STOP_BEFORE_MS),
      // Told to end any earlier, runs would be ended between two renewals that are answered.
      { leastMs: 1, mostMs: leaseMs - renewMs },
    );
    const tasks = resolveTasks(options.tasks as readonly LeaderTask[]);
    this.#election = election;
    this.#schedules = tasks.map((worker) => new Schedule(candidate, worker, stopBeforeMs));
    election.onTransition(({ kind }) => {
      if (kind === "elected") this.#trouble = undefined;
    });
  }

  /** The candidate that it stands for. */
  get election(): Election<S> {
    return this.#election;
  }

  /**
   * Campaigns, and runs the tasks whenever it leads, until it is stopped or the client closes. Costs
   * what the election costs. What keeps it from campaigning at all goes to the client's `onError`, and it
   * tries again a lease later. Idempotent. Throws `closed`, also after `stop()`.
   */
  start(): void {
    if (this.#stopping.signal.aborted || this.#election.candidate.context.closing.aborted) {
      const { name } = this.#election;
      throw new HoldfastError(
        "closed",
        `The leader tasks of "${name}" was stopped, or its client closed. Make a new one.`,
        { lockName: name },
      );
    }
    this.#serving ??= this.#serve();
  }

  /**
   * Tells all runs to end, waits until they have, and releases the leadership, so that another candidate
   * leads within a poll. Resolves once that is done: never, while a run is wedged. One write. Idempotent.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#serving;
  }

  /** Ends the present term like {@link LeaderTasks.stop}, and campaigns again two polls later. */
  async resign(): Promise<void> {
    await this.#election.resign();
  }

  /** How it does, for a probe; asks the clocks. Costs no request. */
  health(): LeaderTasksHealth {
    const tasks = this.#schedules.map((schedule) => schedule.health());
    const isLeader = this.#election.isLeader;
    return {
      state: tasks.some(({ isWedged }) => isWedged)
        ? "wedged"
        : isLeader
          ? "leader"
          : this.#isServing
            ? "follower"
            : "stopped",
      term: isLeader ? (this.#election.term as Term | undefined)?.fence : undefined,
      tasks,
      trouble: this.#trouble,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(): Promise<void> {
    const { context, report, settings } = this.#election.candidate;
    const ending = new Ending(context.closing, this.#election.name, this.#stopping.signal);
    const { signal } = ending;
    this.#isServing = true;
    while (!signal.aborted) {
      try {
        await this.#election.lead({ signal }, (stop, term) => this.#work(stop, term as Term));
      } catch (error) {
        this.#trouble = error;
        report(error);
        await context.sleep(settings.leaseMs, signal);
      }
    }
    this.#isServing = false;
    ending.dispose();
  }

  async #work(signal: AbortSignal, term: Term): Promise<void> {
    await Promise.all(this.#schedules.map((schedule) => schedule.serve(term, signal)));
  }
}
