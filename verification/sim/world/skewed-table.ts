import type { Call, NotNow, TablePort } from "../../../packages/holdfast/src/platform/table.js";
import {
  exchange,
  type RequestHost,
  travel,
} from "../../../packages/testing/src/faults/exchange.js";

// DynamoDB refuses signatures that are wrong by more than fifteen minutes. This table accepts up to an hour, because the
// client corrects only a larger error.
const CORRECTED_MS = 3_600_000;
const ANSWER_MS = 30;

/**
 * Wraps the network of a process with a wrong wall clock: the table refuses the signatures of its first requests, until an
 * answer has corrected the clock. `aheadMs`: how far the table's clock is ahead of the clock of the process.
 */
export function skewedTable(
  network: TablePort,
  host: RequestHost,
  aheadMs: () => number,
): TablePort {
  let correctionMs = 0;
  const correct = (): void => {
    correctionMs = Math.abs(aheadMs()) > CORRECTED_MS ? aheadMs() : 0;
  };
  const isAccepted = (): boolean => Math.abs(aheadMs() - correctionMs) <= CORRECTED_MS;
  const refused = (call: Call) =>
    exchange<NotNow>(host, call, (reply) =>
      travel(host, ANSWER_MS, () => {
        correct();
        reply({ kind: "skewed", cause: new Error("Signature expired") });
      }),
    );
  const transact = network.transact?.bind(network);
  return {
    connections: network.connections,
    ...(network.tellsDate === undefined ? {} : { tellsDate: network.tellsDate }),
    get clockCorrectionMs() {
      return correctionMs;
    },
    ...(transact && {
      transact: (all, call) => (isAccepted() ? transact(all, call) : refused(call)),
    }),
    write: (write, call) => (isAccepted() ? network.write(write, call) : refused(call)),
    read: (read, call) => (isAccepted() ? network.read(read, call) : refused(call)),
    scan: (scan, call) => (isAccepted() ? network.scan(scan, call) : refused(call)),
    query: (query, call) => (isAccepted() ? network.query(query, call) : refused(call)),
  };
}
