import type { SignalLike } from "../abort.js";

/** The DynamoDB operations that the table port uses. */
export type Operation =
  | "UpdateItem"
  | "PutItem"
  | "DeleteItem"
  | "TransactWriteItems"
  | "GetItem"
  | "Scan"
  | "Query";

/** Receives the `Date` header of an answer, or undefined if the answer has none. */
export type OnDate = (date: string | undefined) => void;

/**
 * Sends one request of DynamoDB's low-level API and returns the output. Rejects as the SDK does: if DynamoDB refuses
 * the request, the error has a `name` and a `message`. `signal` ends the request early. Calls `onDate` with the `Date`
 * header of the answer, also of a refusal, before the request settles.
 */
export interface Sender {
  (operation: Operation, input: object, signal: SignalLike, onDate: OnDate): Promise<unknown>;
  /** Whether the sender calls `onDate`. Default false. */
  readonly tellsDate?: true;
  /** Returns where the last request went, for messages; undefined before the first request. */
  readonly lastEndpoint?: () => string | undefined;
  /** How many requests the sender sends at once; undefined if not known, or not known yet. */
  readonly connections?: () => number | undefined;
  /** How many requests of the program wait for one of these connections now; undefined if not known. */
  readonly waitingForConnection?: () => number | undefined;
  /** Whether the sender may send one request more than once, and the answer does not show it. Default false. */
  readonly maySendAgain?: true;
}

/** Carries requests to DynamoDB, in place of an SDK client. */
export interface Transport {
  /** Opens a sender for one table. The sender sends each request once. */
  openSender(): Sender;
}

/** Whether a client from the user is a {@link Transport} and not an SDK client. */
export function isTransport(client: unknown): client is Transport {
  return typeof client === "object" && client !== null && "openSender" in client;
}
