import type { Timed, Violation } from "../sim/history.js";
import { kindsExpected, type PlanOptions } from "./plan.js";

/** The options of a run. */
export interface RunOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly processes: number;
  /** An external table server, which is not killed; undefined: the run starts its own. */
  readonly endpoint: string | undefined;
  /** Whether clocks are skewed and stepped. */
  readonly hasClocks: boolean;
  /** Whether the workers acquire permits of one semaphore, and not locks. */
  readonly hasPermits: boolean;
}

/** Returns the parameters for the plan of a run. */
export function planOptionsOf(options: RunOptions): PlanOptions {
  const { seed, minutes, processes, endpoint, hasClocks, hasPermits } = options;
  const hasServer = endpoint === undefined;
  return { seed, lengthMs: minutes * 60_000, processes, hasClocks, hasServer, hasPermits };
}

/** The results of a run. */
export interface Summary {
  readonly seed: number;
  readonly processes: number;
  /** How long faults were injected, in seconds. */
  readonly seconds: number;
  /** The number of worker processes, including killed ones. */
  readonly started: number;
  readonly requests: number;
  readonly grants: number;
  /** How often a held lease was checked, followed by an act. */
  readonly acts: number;
  /** How often a check found the lease ended. */
  readonly heldBack: number;
  readonly guarded: { readonly committed: number; readonly refused: number };
  readonly gaveUp: Readonly<Record<string, number>>;
  readonly losses: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  /** The longest time without a grant, over all names, in milliseconds. */
  readonly worstGapMs: number;
  /** The permits of killed processes: how many, and how long the table had one; see `takeoversIn`. */
  readonly takeovers:
    | { readonly permits: number; readonly worstMs: number; readonly worstCountedMs: number }
    | undefined;
  readonly violations: readonly Violation[];
  /** The file with the history, if the run has violations. */
  readonly historyFile: string | undefined;
}

/** Computes the figures from the history. */
export function figuresOf(history: readonly Timed[]) {
  const of = (kind: Timed["kind"]): number => history.filter((one) => one.kind === kind).length;
  const guarded = history.filter((one) => one.kind === "guarded");
  const committed = guarded.filter(({ isApplied }) => isApplied).length;
  return {
    started: history.filter((one) => one.kind === "process" && one.what === "started").length,
    grants: of("granted"),
    acts: of("acted"),
    guarded: { committed, refused: guarded.length - committed },
    gaveUp: tally(history.flatMap((one) => (one.kind === "gave up" ? [one.code] : []))),
    losses: tally(history.flatMap((one) => (one.kind === "lost" ? [one.reason] : []))),
    worstGapMs: worstGapMs(history),
  };
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function worstGapMs(history: readonly Timed[]): number {
  const last = new Map<string, number>();
  let worst = 0;
  for (const event of history) {
    if (event.kind !== "granted") continue;
    worst = Math.max(worst, event.atMs - (last.get(event.name) ?? event.atMs));
    last.set(event.name, event.atMs);
  }
  return Math.round(worst);
}

/** Returns what has not happened in a run: kinds of faults, and events which the checkers need. */
export function missingIn(summary: Summary, options: PlanOptions): string[] {
  const { faults, grants, heldBack, guarded, losses } = summary;
  const happened: Readonly<Record<string, number>> = {
    ...faults,
    grant: grants,
    "hold that ended in time": heldBack,
    "guarded write committed": guarded.committed,
    "guarded write refused": guarded.refused,
    ...(options.hasPermits
      ? {
          "loss with its session": losses["session-ended"] ?? 0,
          "permit of a killed process": summary.takeovers?.permits ?? 0,
        }
      : { "loss by expiry": losses["expired"] ?? 0 }),
  };
  const kinds = new Set([...kindsExpected(options), ...Object.keys(happened)]);
  return [...kinds].filter((kind) => !happened[kind]);
}

/** Formats a summary for people. */
export function linesOf(summary: Summary): string[] {
  const { guarded, violations, historyFile } = summary;
  const list = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([what, times]) => `${what} ${times}`)
      .join(", ") || "none";
  const faults = Object.values(summary.faults).reduce((sum, times) => sum + times, 0);
  return [
    `seed ${summary.seed}: ${summary.seconds} s of faults, ${summary.processes} processes at a time, ` +
      `${summary.started} in all, ${summary.requests} requests`,
    `${summary.grants} grants, ${summary.acts} acts, ${summary.heldBack} held back in time`,
    `guarded writes: ${guarded.committed} committed, ${guarded.refused} refused`,
    `acquisitions given up: ${list(summary.gaveUp)}`,
    `losses: ${list(summary.losses)}`,
    `longest time without a grant of a name: ${(summary.worstGapMs / 1000).toFixed(1)} s`,
    ...(summary.takeovers === undefined
      ? []
      : [
          `permits of killed processes: ${summary.takeovers.permits}, in the table for at most ` +
            `${(summary.takeovers.worstMs / 1000).toFixed(1)} s after the kill, and ` +
            `${(summary.takeovers.worstCountedMs / 1000).toFixed(1)} s of those with an unhindered process first in the queue`,
        ]),
    `${faults} faults:`,
    ...Object.entries(summary.faults)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([kind, times]) => `  ${kind}: ${times}`),
    `${violations.length} violations`,
    ...violations.slice(0, 10).map(({ invariant, what }) => `  ${invariant}: ${what}`),
    ...(historyFile === undefined ? [] : [`the history is in ${historyFile}`]),
  ];
}
