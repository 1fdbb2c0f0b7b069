/** What a simulated run leaves behind; the checkers read nothing else. */
export type Event =
  /** A process was handed a lease. */
  | { readonly kind: "granted"; readonly by: string; readonly name: string; readonly fence: bigint }
  /** A holder asked whether it still holds, was told yes, and acted. */
  | { readonly kind: "acted"; readonly by: string; readonly name: string; readonly fence: bigint }
  /** A holder was told that it has lost the lease. */
  | {
      readonly kind: "lost";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly reason: string;
    }
  | {
      readonly kind: "released";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
    }
  /** The table applied a write that made a holder, or unmade one. */
  | {
      readonly kind: "record";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly holder: string | undefined;
    }
  /** A transaction that carried a holder's condition arrived, and was carried out or refused. */
  | {
      readonly kind: "guarded";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly isApplied: boolean;
    }
  /** An acquisition ended without a lease. */
  | { readonly kind: "gave up"; readonly by: string; readonly name: string; readonly code: string }
  /** Something happened to a process: paused, resumed, killed, started, its clock stepped. */
  | { readonly kind: "process"; readonly by: string; readonly what: string };

/** An event, and when it happened in true time. */
export type Timed = Event & { readonly atMs: number };

/** Something that must never happen, with the invariant that it breaks. */
export interface Violation {
  readonly invariant: string;
  readonly atMs: number;
  readonly what: string;
}

/** An event as one line of a timeline. */
export function lineOf(event: Timed): string {
  const { atMs, by, kind, ...rest } = event;
  const details = Object.entries(rest)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(" ");
  return `${(atMs / 1000).toFixed(3).padStart(9)} s  ${by.padEnd(8)} ${kind.padEnd(9)} ${details}`;
}
