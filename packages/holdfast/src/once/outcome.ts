import { textOf } from "../internal/shown.js";

/** How a run ended, as its record tells it. Absent after runs of node-cron, and of earlier versions of this library. */
export interface Outcome {
  readonly outcome: "completed" | "failed";
  /** The error of a failed run, cut to 300 characters. */
  readonly error?: string;
}

/** Returns the outcome of a run that threw `error`. */
export function outcomeOf(error: unknown): Outcome {
  return { outcome: "failed", error: textOf(error) };
}
