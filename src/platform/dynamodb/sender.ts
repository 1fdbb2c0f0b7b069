import type { SignalLike } from "../abort.js";

/** The operations of DynamoDB that the table's port is made of. */
export type Operation =
  | "UpdateItem"
  | "PutItem"
  | "DeleteItem"
  | "TransactWriteItems"
  | "GetItem"
  | "Scan"
  | "Query";

/**
 * Sends one request of DynamoDB's low-level API, and answers its output. Rejects with what went wrong: a
 * refusal of the service's as the SDK has it, told by its `name`, with `message` and what else it says.
 * `signal` ends it early.
 */
export interface Sender {
  (operation: Operation, input: object, signal: SignalLike): Promise<unknown>;
  /** Whether one request may be sent more than once, whatever its answer says of that; left out: not. */
  readonly maySendAgain?: true;
}

/** What carries requests in the place of an SDK client's own stack. */
export interface Transport {
  /**
   * A way for the requests of one table, each sent once. `onDate` is called with the `Date` of every
   * answer, refusals too, before the request is settled.
   */
  openSender(onDate: (date: string | undefined) => void): Sender;
}

/** Whether a client that users gave is one of these, and not the SDK's. */
export function isTransport(client: unknown): client is Transport {
  return typeof client === "object" && client !== null && "openSender" in client;
}
