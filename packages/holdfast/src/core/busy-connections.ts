import { HoldfastError } from "../errors.js";
import type { TablePort } from "../platform/table.js";

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
