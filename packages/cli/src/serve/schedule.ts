import { lateMs, scheduleState } from "holdfast/schedule";
import type { Schedule } from "./view-types.js";

/** Reads the memory of a schedule from its record; undefined if no run has begun. `isLive`: has a live holder. Pure. */
export function scheduleOf(data: unknown, nowMs: number, isLive: boolean): Schedule | undefined {
  const state = scheduleState(data);
  if (state === undefined) return undefined;
  const { rule, due, isOpen, outcome, attempt, next, retryAt, lastSuccess, lastFailure } = state;
  return {
    ...{ rule, due: due.toISOString(), outcome: isOpen ? "open" : outcome, attempt },
    ...{ next: next?.toISOString(), retryAt: retryAt?.toISOString() },
    lateMs: lateMs(state, nowMs, isLive),
    lastSuccess: lastSuccess?.due.toISOString(),
    lastFailure: lastFailure && { due: lastFailure.due.toISOString(), error: lastFailure.error },
  };
}
