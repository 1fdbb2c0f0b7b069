import { HoldfastError } from "../errors.js";
import { noAnswerText } from "../internal/cause-text.js";
import type { TablePort, Unknown } from "../platform/table.js";

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

/** Returns the error for a renewal that probably waits for a connection, and not for the table. */
export function busyConnections(
  { connections }: TablePort,
  name: string,
  waiting: number,
): HoldfastError {
  const all = connections === undefined ? "all" : `all ${connections}`;
  return new HoldfastError(
    "unreachable",
    `A renewal of lock "${name}" had no answer in time, and ${waiting} requests of this program wait for a connection: ` +
      `the program uses ${all} connections of the DynamoDB client that it shares with its locks. Leases can be lost ` +
      "although the table answers. Give the locks a DynamoDBClient of their own.",
    { lockName: name },
  );
}
