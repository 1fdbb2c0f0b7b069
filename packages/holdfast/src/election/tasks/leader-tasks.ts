import { type Holdfast, partsOf } from "../../client.js";
import { FailingCall } from "../../core/failing-call.js";
import type { FormatTypes, NativeTypes } from "../../core/record/format-types.js";
import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs, inMs } from "../../internal/duration.js";
import { checkNames, type OptionNames } from "../../internal/option-names.js";
import { serialisable } from "../../internal/printed.js";
import { Election } from "../election.js";
import { Ending } from "../ending.js";
import { ELECTION_NAMES, type ElectionOptions } from "../options.js";
import type { Term } from "../term.js";
import { Schedule, type TaskHealth } from "./schedule.js";
import { type LeaderTask, resolveTasks } from "./task.js";

/** Options of leader tasks: the options of the election, and the tasks. */
export interface LeaderTasksOptions<S extends FormatTypes = NativeTypes> extends ElectionOptions {
  /** The election's name. */
  readonly name: S["name"];
  /** The tasks that run on the leader. */
  readonly tasks: readonly LeaderTask<S>[];
  /**
   * How long before the deadline of a lease without renewal the signals of the runs abort, so that the runs end in
   * time. Default a 25th of the lease, at most 2 s.
   */
  readonly stopBefore?: Duration | undefined;
}

const LEADER_TASKS_NAMES: OptionNames<LeaderTasksOptions> = {
  ...ELECTION_NAMES,
  name: true,
  tasks: true,
  stopBefore: true,
};

/** The state of the leader tasks, for a probe. */
export interface LeaderTasksHealth {
  /**
   * - `leader`: this candidate leads, and its tasks run.
   * - `follower`: another candidate leads, or none; also while the table does not answer.
   * - `wedged`: a run continues after its signal aborted. End the process: nothing else ends the run.
   * - `stopped`: not started, or stopped.
   */
  readonly state: "leader" | "follower" | "wedged" | "stopped";
  /** The fence of the current term; undefined also in a format without fences. */
  readonly term: bigint | undefined;
  readonly tasks: readonly TaskHealth[];
  /**
   * The error that prevents campaigning, until DynamoDB serves the candidate again; else undefined. After refused
   * credentials the candidate tries again soon, and after any other error a lease later.
   */
  readonly trouble: unknown;
}

const STOP_BEFORE_PART = 1 / 25;
const LONGEST_STOP_BEFORE_MS = 2_000;

/**
 * Tasks that run at intervals, on the leader only. Runs of a task never overlap in this process, over all terms.
 *
 * **Not** promised: that runs of different processes never overlap, if a run continues after its signal aborted. See
 * `condition(lease)` for your own writes.
 *
 * A run is *wedged* if it continues after the abort of its signal. No code can end such a run from outside, so:
 * - Its task does not run again before the run has ended.
 * - While the lease is renewed, this process keeps the leadership, even after `resign()` or `stop()`. The other tasks
 *   continue.
 * - Once the lease is lost, another candidate may lead, guarded writes of the run are refused, and this process does
 *   not campaign before the run has ended.
 * - `health()` says `wedged`, so that a probe can end the process.
 */
export class LeaderTasks<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #election: Election<S>;
  readonly #schedules: readonly Schedule[];
  readonly #stopping = new AbortController();
  #serving: Promise<void> | undefined;
  #isServing = false;
  readonly #failing: FailingCall;

  /** @internal Made by {@link leaderTasks}. */
  constructor(election: Election<S>, options: LeaderTasksOptions<S>) {
    const { candidate } = election;
    const { leaseMs, renewMs } = candidate.settings;
    const stopBeforeMs = durationMs(
      "stopBefore",
      options.stopBefore ?? inMs(Math.min(leaseMs * STOP_BEFORE_PART, LONGEST_STOP_BEFORE_MS)),
      // With a longer time, runs would be ended between two acknowledged renewals.
      { leastMs: 1, mostMs: leaseMs - renewMs },
    );
    const tasks = resolveTasks(options.tasks as readonly LeaderTask[]);
    this.#election = election;
    this.#failing = new FailingCall(candidate.context, candidate);
    this.#schedules = tasks.map((worker) => new Schedule(candidate, worker, stopBeforeMs));
    election.onTransition(({ kind }) => {
      if (kind !== "elected") return;
      candidate.trouble.answered(true);
      this.#failing.onSuccess();
    });
  }

  /** The candidate behind these tasks. */
  get election(): Election<S> {
    return this.#election;
  }

  /**
   * Campaigns, and runs the tasks during each term, until stopped or the client closes.
   *
   * Costs the requests of the election. An error that prevents campaigning goes to the client's `onError`, once until another one
   * or a term; the next attempt comes a lease later. Idempotent. Throws `closed`, also after `stop()`.
   */
  start(): void {
    if (this.#stopping.signal.aborted || this.#election.candidate.context.closing.aborted) {
      const { name } = this.#election;
      throw new HoldfastError(
        "closed",
        `The leader tasks of "${name}" were stopped, or their client was closed. Create new leader tasks.`,
        { lockName: name },
      );
    }
    this.#serving ??= this.#serve();
  }

  /**
   * Aborts the signals of all runs, waits until the runs have ended, and releases the leadership.
   *
   * Another candidate leads within a poll. Never resolves while a run is wedged. Costs one write. Idempotent.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#serving;
  }

  /** Ends the current term as {@link LeaderTasks.stop} does, and campaigns again two polls later. */
  async resign(): Promise<void> {
    await this.#election.resign();
  }

  /** Returns the state for a probe, by the clocks. Costs no request. */
  health(): LeaderTasksHealth {
    const tasks = this.#schedules.map((schedule) => schedule.health());
    const isLeader = this.#election.isLeader;
    return serialisable({
      state: tasks.some(({ isWedged }) => isWedged)
        ? "wedged"
        : isLeader
          ? "leader"
          : this.#isServing
            ? "follower"
            : "stopped",
      term: isLeader ? this.#election.term?.fence : undefined,
      tasks,
      trouble: this.#election.candidate.trouble.error,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(): Promise<void> {
    const { context, settings, trouble } = this.#election.candidate;
    const ending = new Ending(context.closing, this.#election.name, this.#stopping.signal);
    const { signal } = ending;
    this.#isServing = true;
    while (!signal.aborted) {
      try {
        await this.#election.lead({ signal }, (term) => this.#work(term as unknown as Term));
      } catch (error) {
        trouble.note(error);
        this.#failing.onFailure(error);
        await context.sleep(settings.leaseMs, signal);
      }
    }
    this.#isServing = false;
    ending.dispose();
  }

  async #work(term: Term): Promise<void> {
    await Promise.all(this.#schedules.map((schedule) => schedule.serve(term)));
  }
}

/**
 * Returns tasks that run at intervals on the leader of a name only; `start()` starts them. Costs no request.
 * Throws `invalid-argument`.
 */
export function leaderTasks<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  options: LeaderTasksOptions<S>,
): LeaderTasks<S> {
  const parts = partsOf(client, "leaderTasks()");
  checkNames("leaderTasks()", options, LEADER_TASKS_NAMES);
  return new LeaderTasks<S>(new Election<S>(parts, options.name, options), options);
}
