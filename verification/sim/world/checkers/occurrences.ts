import type { Checker } from "../../checker.js";
import type { Event, Timed, Violation } from "../../history.js";

type OccurrenceEvent = Extract<Timed, Extract<Event, { readonly kind: "occurrence" }>>;

/**
 * An occurrence begins once, unless it was interrupted and may run again. No occurrence begins after its own completion
 * or after a later occurrence, and a process that ran an occurrence to its end does not begin it again. Only the process
 * that began an occurrence last completes it, and if an interrupted run is run again, only after it recorded the end. The last occurrence runs to its end. Exclusion forbids overlapping runs.
 */
export const occurrences: Checker = (history) => {
  const found: Violation[] = [];
  const [begun, ended, completed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const recorded = new Set<string>();
  const latest = new Map<string, string>();
  /** The process that began each occurrence last. */
  const beganBy = new Map<string, string>();
  const due: OccurrenceEvent[] = [];
  for (const event of history) {
    if (event.kind !== "occurrence") continue;
    const { by, name, occurrence, isRerun, atMs } = event;
    const key = `${name} ${occurrence}`;
    if (event.what === "ended") ended.add(key).add(`${key} in ${by}`);
    if (event.what === "recorded") recorded.add(`${key} by ${by}`);
    if (event.what === "completed") {
      completed.add(key);
      if (isRerun && !recorded.has(`${key} by ${by}`)) {
        const what = `${by} completed ${key}, and no record shows the end`;
        found.push({ invariant: "completed stays completed", atMs, what });
      }
      if (begun.has(key) && beganBy.get(key) !== by) {
        const what = `${by} completed ${key} after ${beganBy.get(key)} had begun it again`;
        found.push({ invariant: "completed stays completed", atMs, what });
      }
    }
    if (event.what === "due") due.push(event);
    if (event.what !== "began") continue;
    const report = (invariant: string, when: string): void => {
      found.push({ invariant, atMs, what: `${by} began ${key} ${when}` });
    };
    if (begun.has(key) && !isRerun) report("begun once", "again");
    if (completed.has(key)) report("completed stays completed", "after it was completed");
    if (occurrence < (latest.get(name) ?? "")) report("order of occurrences", "late");
    if (ended.has(`${key} in ${by}`)) report("ended stays ended", "again after its end");
    begun.add(key);
    beganBy.set(key, by);
    latest.set(name, occurrence);
  }
  for (const { name, occurrence, atMs } of due) {
    const key = `${name} ${occurrence}`;
    if (ended.has(key) || occurrence < (latest.get(name) ?? "")) continue;
    found.push({ invariant: "run at least once", atMs, what: `${key} was never run to its end` });
  }
  return found;
};
