import type { ClientParts } from "../../client.js";
import type { Lease } from "../../core/hold/lease.js";
import type { FormatTypes, NativeTypes } from "../../core/record/format-types.js";
import { DAY_MS, type Duration, durationMs } from "../../internal/duration.js";
import { checkNames, type OptionNames, refuse } from "../../internal/option-names.js";

/** Work that runs at intervals, on the leader only. */
export interface LeaderTask<S extends FormatTypes = NativeTypes> {
  /** The task's name in events, health and errors; unique among the tasks of an election. */
  readonly name: string;
  /**
   * The time from one run's due instant to the next. After a longer run the next run begins at the first due instant
   * after the end: runs never overlap, and missed runs are not repeated.
   */
  readonly every: Duration;
  /** The work. An error is reported, and ends only this run. */
  readonly run: (run: TaskRun<S>) => unknown;
  /** How long a run may take before its signal aborts. Default: until the end of the term. */
  readonly timeout?: Duration | undefined;
  /** The longest random delay of each run. Default 0. */
  readonly jitter?: Duration | undefined;
  /** Whether the first run of a term begins at once, or an interval later. Default true. */
  readonly runAtStart?: boolean | undefined;
  /** Whether a failed run ends the term, so that another candidate leads. Default false. */
  readonly resignOnError?: boolean | undefined;
  /**
   * `inTable` of `holdfast/schedule`: the rhythm survives a change of leader. The runs are due at the multiples of `every`
   * since 1970, by the table's time. The newest instant that passed without a leader runs once, and a run that failed or was
   * cut off is repeated, 30 s later and then less often, until the next instant. Not with `jitter` and `runAtStart`. Costs
   * the requests of a schedule. Default: a leader knows only its own runs.
   */
  readonly remember?: TaskMemory | undefined;
}

/** Where a task remembers its runs. */
export interface TaskMemory {
  readonly kind: "task-memory";
}

/** A run that is due by the memory. */
export interface DueRun {
  readonly due: Date;
  readonly attempt: number;
  readonly lastSuccess: Date | undefined;
  readonly signal: AbortSignal;
}

/** The part of a {@link TaskMemory} that the tasks use: a program that imports none carries none of its code. */
export interface RemembersRuns extends TaskMemory {
  /** Returns the job of one term. `run` rejects if the run has failed. Throws `invalid-argument`. */
  jobOf(
    parts: Pick<ClientParts, "context" | "running" | "defaultOwner">,
    task: { readonly name: string; readonly everyMs: number },
    run: (due: DueRun) => Promise<void>,
  ): { readonly lateMs: number | undefined; start(): void; stop(): Promise<void> };
}

const TASK_NAMES: OptionNames<LeaderTask> = {
  name: true,
  every: true,
  run: true,
  timeout: true,
  jitter: true,
  runAtStart: "flag",
  resignOnError: "flag",
  remember: true,
};

/** One run of a task. */
export interface TaskRun<S extends FormatTypes = NativeTypes> {
  /** The task's name. */
  readonly name: string;
  /**
   * Aborts when the run must end: with the reason of the term's signal, with `unreachable` shortly before the deadline
   * of a lease without renewal, with `lost` and the reason `held-too-long` shortly before the end of `maxHold`, or with a
   * `TimeoutError` at the run's own timeout. Reading `aborted` asks the clocks
   * first.
   */
  readonly signal: AbortSignal;
  /** The lease of the leader. */
  readonly term: Lease<S>;
  /** The instant that is due, of a task with `remember`. */
  readonly due: Date | undefined;
  /** The number of this attempt for the instant, from 1. */
  readonly attempt: number;
  /** The instant of the last run that completed, on any leader, of a task with `remember`. Undefined before the first. */
  readonly lastSuccess: Date | undefined;
}

/** A task's options, resolved. */
export interface TaskSettings {
  readonly name: string;
  readonly everyMs: number;
  readonly run: (run: TaskRun) => unknown;
  readonly timeoutMs: number;
  readonly jitterMs: number;
  readonly runAtStart: boolean;
  readonly resignOnError: boolean;
  readonly memory: RemembersRuns | undefined;
}

const EVERY_RANGE = { leastMs: 1, mostMs: 365 * DAY_MS };

/** Resolves the tasks of one election, and checks them together. Throws `invalid-argument`. */
export function resolveTasks(tasks: readonly LeaderTask[]): readonly TaskSettings[] {
  if (!Array.isArray(tasks) || tasks.length === 0) {
    throw refuse("The option `tasks` must be a list of at least one task.");
  }
  const resolved = tasks.map(resolveTask);
  const names = resolved.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return resolved;
  throw refuse(`Two tasks have the name "${twice}". Give each task a unique name.`);
}

function resolveTask(worker: LeaderTask): TaskSettings {
  const {
    name,
    every,
    run,
    timeout,
    jitter = 0,
    runAtStart = true,
    resignOnError = false,
    remember,
  } = checkNames("a task", worker, TASK_NAMES);
  if (typeof name !== "string" || name === "") throw refuse("A task needs a `name`.");
  if (typeof run !== "function") throw refuse(`Task "${name}" needs a function \`run\`.`);
  const everyMs = durationMs("every", every, EVERY_RANGE);
  if (remember !== undefined) checkRemember(worker, remember);
  return {
    name,
    everyMs,
    run,
    timeoutMs:
      timeout === undefined
        ? Number.POSITIVE_INFINITY
        : durationMs("timeout", timeout, EVERY_RANGE),
    // With a delay longer than the interval, a run would begin after the next run.
    jitterMs: durationMs("jitter", jitter, { leastMs: 0, mostMs: everyMs }),
    runAtStart,
    resignOnError,
    memory: remember as RemembersRuns | undefined,
  };
}

function checkRemember({ name, jitter, runAtStart }: LeaderTask, remember: TaskMemory): void {
  if (remember?.kind !== "task-memory") {
    throw refuse(`The option \`remember\` of task "${name}" must be inTable of holdfast/schedule.`);
  }
  if (jitter === undefined && runAtStart === undefined) return;
  throw refuse(
    `Task "${name}" has \`remember\`, so that the table tells when it is due: leave out \`jitter\` and \`runAtStart\`.`,
  );
}
