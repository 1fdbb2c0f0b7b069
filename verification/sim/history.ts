/** What a simulated run leaves behind; the checkers read nothing else. */
export type Event =
  /** A process was handed a lease, after waiting for it or at its first try. */
  | {
      readonly kind: "granted";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly waited?: boolean;
    }
  /**
   * A process learnt that its grant, or a renewal, was applied; it had sent it first at `sentMs`. With a
   * session, that was the move: from now on the lease lives by that.
   */
  | {
      readonly kind: "kept";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly sentMs: number;
      readonly leaseMs: number;
      readonly session?: string;
    }
  /** A holder sends a write that changes what rivals judge it by: another length, or the move to a session. */
  | {
      readonly kind: "changing";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly leaseMs: number;
      readonly session?: string;
    }
  /** A process learnt that its session was made, or renewed, by what it had sent first at `sentMs`. */
  | {
      readonly kind: "session kept";
      readonly by: string;
      readonly session: string;
      readonly sentMs: number;
      readonly leaseMs: number;
    }
  /** A process was told that its session is lost, or began to close it. */
  | {
      readonly kind: "session over";
      readonly by: string;
      readonly session: string;
      readonly why: "lost" | "closed";
    }
  /** The table made, renewed, ended or lost the row of a session; `version` is undefined once it is gone. */
  | {
      readonly kind: "session row";
      readonly by: string;
      readonly session: string;
      readonly version: bigint | undefined;
      readonly holder: string | undefined;
      readonly leaseMs?: number;
    }
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
  /** The table applied a write that made a holder, unmade one, or renewed its lease. */
  | {
      readonly kind: "record";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly holder: string | undefined;
      readonly leaseMs?: number;
      /** What the holder lives by, if not by renewals of its own. */
      readonly session?: string;
    }
  /** A transaction that carried a holder's condition arrived, and was carried out or refused. */
  | {
      readonly kind: "guarded";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly isApplied: boolean;
    }
  /** An acquisition began that may wait. */
  | { readonly kind: "waits"; readonly by: string; readonly name: string }
  /** An acquisition ended without a lease. */
  | {
      readonly kind: "gave up";
      readonly by: string;
      readonly name: string;
      readonly code: string;
      readonly waited?: boolean;
    }
  /** A request was answered; noted only in runs in which what things cost is checked. */
  | {
      readonly kind: "request";
      readonly by: string;
      readonly name: string;
      readonly what: RequestKind;
      readonly isApplied: boolean;
    }
  /** The same of a request about a session's row. */
  | {
      readonly kind: "session request";
      readonly by: string;
      readonly session: string;
      readonly what: RequestKind;
      readonly isApplied: boolean;
    }
  /** Something happened to a process. */
  | { readonly kind: "process"; readonly by: string; readonly what: Happening };

/** What a request is for, by its shape. */
export type RequestKind = "grant" | "renewal" | "release" | "data" | "poll" | "look";

/**
 * What can happen to a process. `hindered` and `free again` enclose the time in which it cannot be
 * expected to get anywhere: paused, cut off, or without its timers. `at rest`: for two leases and more nobody
 * in it has wanted, held or given back anything. `note` is for people.
 */
export type Happening =
  | "started"
  | "killed"
  | "hindered"
  | "free again"
  | "at rest"
  | `note: ${string}`;

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

/** An event as text, whole and exact: for hashes, which are to be the same wherever a seed runs. */
export function textOf(event: Timed): string {
  return Object.values(event).join("|");
}
