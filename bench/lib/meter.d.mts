/** What was sent, and what it costs. */
export interface Sent {
  readonly requests: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly operations: Readonly<Record<string, number>>;
}

/** Starts counting what this process sends over `node:http`; the counts go on growing. */
export function startMeter(): Sent;

/** What came between two looks at the counts. */
export function difference(after: Sent, before: Sent): Sent;
