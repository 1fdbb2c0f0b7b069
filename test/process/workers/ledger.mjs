// What all processes of a test have done, in one file in the order of true time.
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { task } from "./common.mjs";
import { trueMs } from "./wrong-clock.mjs";

/** Appends one event. Fences are text. */
export function note(event) {
  appendFileSync(task.ledger, `${JSON.stringify({ ...event, by: task.by, atMs: trueMs() })}\n`);
}

/** Acts every 20 ms while the lease is held, for `lengthMs` at most. */
export async function act(lease, signal, of, lengthMs) {
  const untilMs = performance.now() + lengthMs;
  while (performance.now() < untilMs && !signal.aborted && lease.isHeld) {
    note({ kind: "acted", ...of });
    // A process that was stopped between the check and the line did not act in time: no check can prevent this.
    if (!lease.isHeld) note({ kind: "late", ...of });
    await pause(20);
  }
}
