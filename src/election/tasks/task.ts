import type { FormatTypes, NativeTypes } from "../../core/record/format-types.js";
import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs } from "../../internal/duration.js";
import type { Term, TermOf } from "../term.js";

/** Work at an interval that runs on the leader only. */
export interface LeaderTask<S extends FormatTypes = NativeTypes> {
  /** What events, health and errors call it; distinct within one coordinator. */
  readonly name: string;
  /**
   * From one run's due instant to the next one's. A run that takes longer makes the next one begin at the
   * first due instant after its end: none overlaps another, and none is caught up on.
   */
  readonly every: Duration;
  /**
   * The work. The signal aborts when it has to end: with the reason of the term's own signal, with
   * `unreachable` right before the deadline of a lease that nobody renews, with a `TimeoutError` at the
   * run's own timeout. What it rejects with is reported, and ends nothing else.
   */
  readonly run: (signal: AbortSignal, term: TermOf<S>) => unknown;
  /** For how long a run may take before it is told to end. Default: for as long as it leads. */
  readonly timeout?: Duration | undefined;
  /** By up to how much each run is put off, by chance. Default 0. */
  readonly jitter?: Duration | undefined;
  /** Whether it runs at the beginning of a term, or an interval later. Default true. */
  readonly runAtStart?: boolean | undefined;
  /** Whether a run that fails ends the term, so that another candidate takes its turn. Default false. */
  readonly resignOnError?: boolean | undefined;
}

/** A worker's options, resolved. */
export interface TaskSettings {
  readonly name: string;
  readonly everyMs: number;
  readonly run: (signal: AbortSignal, term: Term) => unknown;
  readonly timeoutMs: number;
  readonly jitterMs: number;
  readonly runAtStart: boolean;
  readonly resignOnError: boolean;
}

const DAY_MS = 24 * 3_600_000;
const EVERY_RANGE = { leastMs: 1, mostMs: 365 * DAY_MS };

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

/** Resolves the tasks of one coordinator, and checks them together. Throws `invalid-argument`. */
export function resolveTasks(tasks: readonly LeaderTask[]): readonly TaskSettings[] {
  if (!Array.isArray(tasks) || tasks.length === 0) {
    throw refuse("The option `tasks` must be a list of at least one worker.");
  }
  const resolved = tasks.map(resolveTask);
  const names = resolved.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return resolved;
  throw refuse(`Two tasks have the name "${twice}"; each needs one of its own.`);
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
  } = worker;
  if (typeof name !== "string" || name === "") throw refuse("A worker needs a `name`.");
  if (typeof run !== "function") throw refuse(`LeaderTask "${name}" needs a function \`run\`.`);
  const everyMs = durationMs("every", every, EVERY_RANGE);
  return {
    name,
    everyMs,
    run,
    timeoutMs:
      timeout === undefined
        ? Number.POSITIVE_INFINITY
        : durationMs("timeout", timeout, EVERY_RANGE),
    // Put off by more than an interval, a run would come after the next one.
    jitterMs: durationMs("jitter", jitter, { leastMs: 0, mostMs: everyMs }),
    runAtStart,
    resignOnError,
  };
}
