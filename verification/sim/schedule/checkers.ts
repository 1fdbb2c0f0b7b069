import { LATE_MS } from "./instants.js";

/** What happened, in order, at instants of true time in milliseconds since 1970. */
export type ScheduleEvent =
  | {
      readonly kind: "began" | "acted" | "completed" | "failed";
      readonly atMs: number;
      readonly by: string;
      readonly fence: bigint;
      readonly dueMs: number;
      readonly attempt: number;
    }
  /** The process of a run has died, closed its client, or given the run up. */
  | { readonly kind: "gone"; readonly atMs: number; readonly by: string }
  /** A process found that the attempt of another one was cut off, perhaps before its work began. */
  | {
      readonly kind: "interrupted";
      readonly atMs: number;
      readonly dueMs: number;
      readonly attempt: number;
    }
  /** Since `fromMs` at least one process lived, and nothing failed. */
  | { readonly kind: "quiet"; readonly atMs: number; readonly fromMs: number };

/** The options of the schedule, and its instants by an oracle of the simulation. */
export interface Expected {
  readonly catchUp: "none" | "last" | "all";
  readonly retries: number;
  readonly instants: readonly number[];
}

type Run = Extract<ScheduleEvent, { readonly fence: bigint }>;
const isRun = (event: ScheduleEvent): event is Run => "fence" in event;

/** Each run is for an instant, not before it, and each attempt of an instant begins once, in order, after no success. */
export function wrongRuns(history: readonly ScheduleEvent[], expected: Expected): string[] {
  const found: string[] = [];
  const instants = new Set(expected.instants);
  const attempts = new Map<number, number>();
  const done = new Set<number>();
  let latestMs = 0;
  for (const event of history.filter(isRun)) {
    const { kind, dueMs, attempt, atMs } = event;
    const run = `${event.by}'s run ${attempt} for ${new Date(dueMs).toISOString()}`;
    if (kind === "completed" && expected.retries === 0) done.add(dueMs);
    if (kind !== "began") continue;
    if (!instants.has(dueMs)) found.push(`${run} is for no instant`);
    if (atMs < dueMs - LATE_MS.early) found.push(`${run} began ${dueMs - atMs} ms early`);
    if (attempt <= (attempts.get(dueMs) ?? 0)) found.push(`${run} began twice`);
    if (attempt > expected.retries + 1) found.push(`${run} is one too many`);
    if (dueMs < latestMs) found.push(`${run} came after a later instant`);
    if (done.has(dueMs)) found.push(`${run} came after a success`);
    attempts.set(dueMs, attempt);
    latestMs = Math.max(latestMs, dueMs);
  }
  return found;
}

/** While nothing fails, each instant is run in time, and those that are owed after an outage are caught up. */
export function lost(history: readonly ScheduleEvent[], expected: Expected): string[] {
  const found: string[] = [];
  const begun = new Map<number, number>();
  for (const event of history) {
    if (event.kind !== "began" && event.kind !== "interrupted") continue;
    begun.set(event.dueMs, Math.min(begun.get(event.dueMs) ?? event.atMs, event.atMs));
  }
  for (const quiet of history) {
    if (quiet.kind !== "quiet") continue;
    const owed = owedAt(quiet, expected);
    for (const dueMs of owed) {
      const begunMs = begun.get(dueMs) ?? Number.POSITIVE_INFINITY;
      if (begunMs <= quiet.atMs || wasCovered(history, dueMs)) continue;
      found.push(`Nothing ran for ${new Date(dueMs).toISOString()} (${expected.catchUp})`);
    }
  }
  return found;
}

function owedAt({ atMs, fromMs }: { atMs: number; fromMs: number }, expected: Expected): number[] {
  const past = expected.instants.filter((ms) => ms <= atMs - LATE_MS.begin);
  if (expected.catchUp === "all") return past;
  const during = past.filter((ms) => ms >= fromMs);
  const newest = expected.catchUp === "last" ? past.slice(-1) : [];
  return [...new Set([...during, ...newest])];
}

/** Whether a run went on at the instant, so that the instant may be passed over. */
function wasCovered(history: readonly ScheduleEvent[], dueMs: number): boolean {
  return history.filter(isRun).some((run) => {
    if (run.kind !== "began" || run.atMs > dueMs + LATE_MS.begin) return false;
    const over = history.find(
      (event) =>
        event.atMs >= run.atMs &&
        ((isRun(event) &&
          event.fence === run.fence &&
          ["completed", "failed"].includes(event.kind)) ||
          (event.kind === "gone" && event.by === run.by)),
    );
    return (over?.atMs ?? Number.POSITIVE_INFINITY) >= dueMs - LATE_MS.early;
  });
}

/** After all repetitions: each begun instant has a success, or all its attempts are spent. Only with `all` nothing supersedes. */
export function unfinished(history: readonly ScheduleEvent[], expected: Expected): string[] {
  if (expected.catchUp !== "all") return [];
  const last = history.findLast((event) => event.kind === "quiet");
  const owed = expected.instants.filter((ms) => ms <= (last?.atMs ?? 0) - LATE_MS.finish);
  return owed.flatMap((dueMs) => {
    const of = history.filter((event) => "dueMs" in event && event.dueMs === dueMs);
    if (of.some(({ kind }) => kind === "completed")) return [];
    const spent = Math.max(0, ...of.map((event) => ("attempt" in event ? event.attempt : 0)));
    if (spent === expected.retries + 1) return [];
    return [
      `${new Date(dueMs).toISOString()} has neither a success nor all its attempts: ${spent}`,
    ];
  });
}
