import { HoldfastError } from "../errors.js";
import { noAnswerText } from "../internal/cause-text.js";
import type { Unknown } from "../platform/table.js";

/**
 * Returns the error for a table that does not answer while an acquisition waits. The error is not about a single lock,
 * so it has no `lockName`.
 */
export function silentTable(table: string, ended: Unknown, silentMs: number): HoldfastError {
  return new HoldfastError(
    "unreachable",
    `Table "${table}" has not answered for ${Math.round(silentMs)} ms${noAnswerText(ended)}. Acquisitions and campaigns ` +
      "try again until their wait is over. Check the endpoint, the region and the network.",
    { cause: ended.cause },
  );
}
