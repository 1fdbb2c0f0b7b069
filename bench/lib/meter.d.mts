/** The requests sent, and their cost. */
export interface Sent {
  readonly requests: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly operations: Readonly<Record<string, number>>;
}

/** Starts counting the requests of this process over `node:http`; the counts keep growing. */
export function startMeter(): Sent;

/** The difference between two readings of the counts. */
export function difference(after: Sent, before: Sent): Sent;
