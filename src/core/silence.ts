import { HoldfastError } from "../errors.js";
import { noAnswerText } from "../internal/cause-text.js";
import type { Unknown } from "../platform/table.js";

/**
 * The error that tells the user of a table that answers nothing while an acquisition still waits. It concerns no single
 * lock, so it has no `lockName`.
 */
export function silentTable(table: string, ended: Unknown, silentMs: number): HoldfastError {
  return new HoldfastError(
    "unreachable",
    `Table "${table}" has not answered for ${Math.round(silentMs)} ms${noAnswerText(ended)}. Acquisitions and campaigns ` +
      "try again until their wait is over. Check the endpoint, the region and the network.",
    { cause: ended.cause },
  );
}
