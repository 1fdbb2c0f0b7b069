import type { Memory } from "./memory.js";
import type { Rule } from "./rule.js";

/** What to do with instants that passed without a run: during an outage, or while no process ran. */
export type CatchUp = "none" | "last" | "all";

/** What happens at an instant while the run before still goes on. */
export type Overlap = "skip" | "wait" | "interrupt";

/** The options by which a schedule decides. */
export interface Policy {
  readonly rule: Rule;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
  /** How often an instant is run again after a failed or interrupted run. */
  readonly retries: number;
  /** The pause before the first retry. It doubles up to {@link LONGEST_BACKOFF_MS}. */
  readonly backoffMs: number;
}

/**
 * The record, as an answer showed it:
 * - `free`: nobody runs. A memory without an end is then that of a claim that was undone before its run.
 * - `running`: a holder lives.
 * - `interrupted`: the holder is dead, or did not free the record itself. A memory without an end is that of its run.
 */
export interface Seen {
  readonly state: "free" | "running" | "interrupted";
  readonly memory: Memory | undefined;
}

/** The table's time, and when this process started the schedule, in milliseconds since 1970. */
export interface Now {
  readonly nowMs: number;
  /** How late the table's time may be, as this process knows it. */
  readonly errorMs: number;
  /** From when on instants count, if the record does not tell. */
  readonly fromMs: number;
}

/** What a process does next. */
type Step =
  | { readonly kind: "run"; readonly dueMs: number; readonly attempt: number }
  /** Look at the record again at this instant of the table's time; `undefined`: no instant is left. */
  | { readonly kind: "look"; readonly atMs: number | undefined }
  /** Another process runs: look again when its lease could be over, or at this instant. */
  | { readonly kind: "watch"; readonly atMs: number | undefined };

/** A step, and whether the record names an instant that only a wrong clock can have named. */
export interface Decided {
  readonly step: Step;
  readonly wrongMs: number | undefined;
}

/** An instant that nobody has begun for longer than this is missed. Longer than a process takes to look. */
export const MISSED_AFTER_MS = 60_000;
/** How many missed instants `catchUp: "all"` runs at most. */
const MOST_CAUGHT_UP = 100;
export const LONGEST_BACKOFF_MS = 3_600_000;

// As for `once()`: two processes bound the table's time differently.
const REPAIR_AFTER_MS = 60_000;

/** Decides what to run now, what to skip, and when to look next. Pure. */
export function decideStep(seen: Seen, now: Now, policy: Policy): Decided {
  const limitMs = limitOf(now);
  const isWrong = seen.memory !== undefined && seen.memory.dueMs > limitMs;
  const memory = isWrong ? undefined : seen.memory;
  const wrongMs = isWrong ? seen.memory?.dueMs : undefined;
  const baseMs =
    memory === undefined ? lastKnown(seen.memory, now, limitMs) : lastOf(memory, limitMs);
  const nextMs = policy.rule.next(Math.max(now.nowMs, baseMs));
  if (seen.state === "running") return { step: { kind: "watch", atMs: nextMs }, wrongMs };
  const again = memory && retryOf(seen.state, memory, now, policy);
  const due = dueOf(memory, baseMs, now, policy, again !== undefined);
  if (due !== undefined) return { step: { kind: "run", dueMs: due, attempt: 1 }, wrongMs };
  const newestMs = policy.rule.last(now.nowMs);
  const isSuperseded = policy.catchUp !== "all" && newestMs !== undefined && newestMs > baseMs;
  if (again === undefined || isSuperseded) return { step: { kind: "look", atMs: nextMs }, wrongMs };
  const { dueMs, attempt, atMs } = again;
  if (atMs <= now.nowMs) return { step: { kind: "run", dueMs, attempt }, wrongMs };
  const isNextFirst = policy.catchUp !== "all" && nextMs !== undefined && nextMs < atMs;
  return { step: { kind: "look", atMs: isNextFirst ? nextMs : atMs }, wrongMs };
}

/** The latest instant that a right clock can have named by now. */
function limitOf({ nowMs, errorMs }: Pick<Now, "nowMs" | "errorMs">): number {
  return nowMs + errorMs + REPAIR_AFTER_MS;
}

/** The last instant that has been begun or passed over. */
function lastOf({ dueMs, pastMs }: Memory, limitMs: number): number {
  return pastMs !== undefined && pastMs <= limitMs ? Math.max(dueMs, pastMs) : dueMs;
}

/** The last instant that is known to have run, of a record with a wrong one; else when this process started. */
function lastKnown(memory: Memory | undefined, now: Now, limitMs: number): number {
  const known = [memory?.success?.dueMs, memory?.failure?.dueMs, memory?.pastMs];
  const right = known.filter((ms) => ms !== undefined && ms <= limitMs) as number[];
  return right.length === 0 ? Math.min(now.fromMs, now.nowMs) : Math.max(...right);
}

/** Returns the instant to run for the first time, or undefined. */
function dueOf(
  memory: Memory | undefined,
  baseMs: number,
  { nowMs }: Now,
  { rule, catchUp }: Policy,
  hasRetry: boolean,
): number | undefined {
  const newestMs = rule.last(nowMs);
  if (newestMs === undefined || newestMs <= baseMs) return undefined;
  switch (catchUp) {
    case "all":
      // In order: an instant that is to be retried holds up those after it.
      return hasRetry ? undefined : firstMissed(rule, baseMs, newestMs);
    case "last":
      return newestMs;
    case "none": {
      // An instant that came during a run has waited, and is late only from the end of that run on.
      const hasWaited = memory?.endMs !== undefined && newestMs >= memory.begunMs;
      const sinceMs = hasWaited ? Math.max(newestMs, memory.endMs ?? newestMs) : newestMs;
      return nowMs - sinceMs <= MISSED_AFTER_MS ? newestMs : undefined;
    }
  }
}

/** The first instant after `baseMs`, or the first of the last {@link MOST_CAUGHT_UP} up to `newestMs`. */
function firstMissed(rule: Rule, baseMs: number, newestMs: number): number {
  const firstMs = rule.next(baseMs) ?? newestMs;
  let ms = firstMs;
  for (let count = 1; count < MOST_CAUGHT_UP && ms < newestMs; count += 1) {
    ms = rule.next(ms) ?? newestMs;
  }
  if (ms >= newestMs) return firstMs;
  ms = newestMs;
  for (let count = 1; count < MOST_CAUGHT_UP; count += 1) ms = rule.last(ms - 1) ?? ms;
  return ms;
}

function retryOf(
  state: Seen["state"],
  memory: Memory,
  now: Now,
  { retries }: Policy,
): { readonly dueMs: number; readonly attempt: number; readonly atMs: number } | undefined {
  const { dueMs, attempt, isEnded, retryAtMs } = memory;
  if (isEnded) {
    if (retryAtMs === undefined) return undefined;
    // Only a wrong clock can have set a later one, and for nobody knows how long.
    const isWrong = retryAtMs > limitOf(now) + LONGEST_BACKOFF_MS;
    return { dueMs, attempt: attempt + 1, atMs: isWrong ? now.nowMs : retryAtMs };
  }
  if (state === "free") return { dueMs, attempt, atMs: now.nowMs };
  return attempt <= retries ? { dueMs, attempt: attempt + 1, atMs: now.nowMs } : undefined;
}

/** How a run ended. */
export type Ended =
  | { readonly kind: "completed" }
  /** `isFinal`: the instant is not run again. `atOnce`: without a pause. */
  | {
      readonly kind: "failed";
      readonly error: string;
      readonly isFinal?: boolean;
      readonly atOnce?: boolean;
    };

/** Returns the memory of a run that begins. `before`: the memory that its grant replaces. Pure. */
export function begunOf(
  run: { readonly dueMs: number; readonly attempt: number },
  before: Seen,
  who: { readonly nowMs: number; readonly errorMs: number; readonly by: string },
  { rule }: Policy,
): Memory {
  const { dueMs, attempt } = run;
  const { memory } = before;
  // A run of an instant that was not due proves nothing for the time until then.
  const limitMs = limitOf(who);
  const { success } = memory ?? {};
  // A retry passes over what the run before it has passed over.
  const pastMs = memory?.dueMs === dueMs ? memory.pastMs : undefined;
  return {
    ...{ dueMs, attempt, isEnded: false, by: who.by, begunMs: who.nowMs, rule: rule.text, pastMs },
    success: success !== undefined && success.dueMs <= limitMs ? success : undefined,
    failure: interruptedIn(before, who.nowMs) ?? memory?.failure,
    nextMs: rule.next(Math.max(dueMs, pastMs ?? dueMs)),
  };
}

/** A run whose process died left no failure behind. */
export function interruptedIn({ state, memory }: Seen, atMs: number): Memory["failure"] {
  if (state !== "interrupted" || memory === undefined || memory.isEnded) return undefined;
  const { dueMs, attempt, by } = memory;
  return { dueMs, atMs, attempt, by, error: "interrupted: its process ended, or lost its lease" };
}

/** Returns the memory of a run that has ended. Pure. */
export function endedOf(begun: Memory, ended: Ended, nowMs: number, policy: Policy): Memory {
  const { rule, overlap } = policy;
  const { dueMs, attempt, by } = begun;
  const newestMs = overlap === "skip" ? rule.last(nowMs) : undefined;
  const isDuring = newestMs !== undefined && newestMs > dueMs && newestMs >= begun.begunMs;
  const pastMs = isDuring ? newestMs : begun.pastMs;
  const nextMs = rule.next(Math.max(dueMs, pastMs ?? dueMs));
  const over = { ...begun, isEnded: true, endMs: nowMs, pastMs, nextMs };
  if (ended.kind === "completed")
    return { ...over, outcome: "completed", success: { dueMs, atMs: nowMs } };
  const isOver = ended.isFinal === true || attempt > policy.retries;
  return {
    ...over,
    outcome: "failed",
    failure: { dueMs, atMs: nowMs, attempt, by, error: ended.error },
    retryAtMs: isOver
      ? undefined
      : nowMs + (ended.atOnce === true ? 0 : backoffMs(attempt, policy)),
  };
}

function backoffMs(attempt: number, { backoffMs }: Policy): number {
  return Math.min(backoffMs * 2 ** (attempt - 1), LONGEST_BACKOFF_MS);
}
