/** What a simulated run leaves behind; the checkers read nothing else. */
export type Event =
  /** A process received a lease, after a wait or at its first attempt. */
  | {
      readonly kind: "granted";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly waited?: boolean;
    }
  /**
   * An answer showed a process that DynamoDB applied its grant or renewal, first sent at `sentMs`. If `session` is
   * present, the write was the move to the session.
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
  /**
   * A holder sends a write which changes how rivals judge its record: a change of length, or the move to a session.
   */
  | {
      readonly kind: "changing";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly leaseMs: number;
      readonly session?: string;
    }
  /** A process learnt that the creation or renewal of a session, first sent at `sentMs`, was applied. */
  | {
      readonly kind: "session kept";
      readonly by: string;
      readonly session: string;
      readonly sentMs: number;
      readonly leaseMs: number;
    }
  /** A process learnt of the loss of its session, or began to close the session. */
  | {
      readonly kind: "session over";
      readonly by: string;
      readonly session: string;
      readonly why: "lost" | "closed";
    }
  /**
   * The table created, renewed, ended or deleted a session's row; `version` is undefined after a deletion.
   */
  | {
      readonly kind: "session row";
      readonly by: string;
      readonly session: string;
      readonly version: bigint | undefined;
      readonly holder: string | undefined;
      readonly leaseMs?: number;
      /** How far the end in the record is ahead of the true time; absent if the record has no end. */
      readonly endInMs?: number;
    }
  /** A holder checked the lease, found it held, and acted. */
  | { readonly kind: "acted"; readonly by: string; readonly name: string; readonly fence: bigint }
  /** A holder learnt of the loss of the lease. */
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
      /** Present in runs of the world. */
      readonly holder?: string;
    }
  /** The table applied a write which set a holder, removed a holder, or renewed a lease. */
  | {
      readonly kind: "record";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly holder: string | undefined;
      readonly leaseMs?: number;
      /** How far the end in the record is ahead of the true time; absent if the record has no end. */
      readonly endInMs?: number;
      /** The session of the holder; absent if the holder renews its own record. */
      readonly session?: string;
    }
  /** A place in the queue for a name was written, renewed or deleted. */
  | {
      readonly kind: "place";
      readonly by: string;
      readonly name: string;
      /** The last ticket of the place. */
      readonly ticket: bigint;
      /** Undefined: the place was deleted. */
      readonly holder: string | undefined;
      readonly leaseMs?: number;
      readonly session?: string;
      /** As of a record; noted only in runs of the world. */
      readonly endInMs?: number;
    }
  /** The last ticket taken and the last ticket granted, in a record of a lock; noted only in runs of the world. */
  | {
      readonly kind: "queue";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly holder: string | undefined;
      readonly tail: bigint | undefined;
      readonly served: bigint | undefined;
      /** Whether the write was of a waiter that interrupts, which passes the queue. */
      readonly interrupts?: true;
    }
  /** A transaction with a holder's condition arrived, and was carried out or refused. */
  | {
      readonly kind: "guarded";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly isApplied: boolean;
      /** What the transaction appended to the name's list; only in runs of real processes. */
      readonly entry?: string;
    }
  /**
   * The record of a lock or a leadership shows a request to its holder: to release, to resign, or to prefer another
   * candidate. `isTold`: the holder's next renewal shows the request. `isNow`: an operator freed the record at once.
   */
  | {
      readonly kind: "asked";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly what: string;
      readonly isTold: boolean;
      readonly isNow: boolean;
    }
  /** A process begins a use, with a fence of its own, of the grant with the fence `of`. */
  | {
      readonly kind: "use";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly of: bigint;
      readonly keepMs: number;
    }
  /** A holder reads its record every `everyMs`, so that a request reaches it soon. */
  | {
      readonly kind: "listens";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly everyMs: number;
    }
  /** A holder was told that another caller interrupts it. */
  | { readonly kind: "heard"; readonly by: string; readonly name: string; readonly fence: bigint }
  /** A process holds the lease for so long at most. */
  | {
      readonly kind: "limited";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly maxHoldMs: number;
    }
  /** A waiter that interrupts has taken its number in a record, with this id. */
  | { readonly kind: "number"; readonly by: string; readonly name: string; readonly asker: string }
  /** A grant left the id of a waiter that interrupts in its record. */
  | {
      readonly kind: "asker";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly asker: string;
    }
  /** A waiter that interrupts was granted the lock. */
  | {
      readonly kind: "interrupts";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
    }
  /** A process was granted several locks together, each with fence and name. */
  | { readonly kind: "granted together"; readonly by: string; readonly parts: readonly string[] }
  /** A process imported the transfer with the fence `from`. */
  | {
      readonly kind: "imported";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly from: bigint;
    }
  /** A forced release of this holder returned to its operator. */
  | {
      readonly kind: "forced";
      readonly by: string;
      readonly name: string;
      readonly holder: string;
    }
  /** The permits in the record of a semaphore or a read-write lock, after a change. */
  | {
      readonly kind: "permits";
      readonly by: string;
      readonly name: string;
      readonly used: number;
      readonly limit: number | undefined;
      readonly holders: readonly string[];
      readonly fences: readonly bigint[];
    }
  /** A process got, used or ended a permit. `limit`: the process's own number. */
  | {
      readonly kind: "permit";
      readonly by: string;
      readonly name: string;
      readonly holder: string;
      readonly what: "granted" | "acted" | "released" | "lost";
      readonly weight: number;
      readonly limit: number;
    }
  /** A holder ended its lease for an importer; the transfer has a fence of its own. */
  | {
      readonly kind: "exported";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
    }
  /** A holder with this fence begins to export its lease. */
  | {
      readonly kind: "exports";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
    }
  /** A process tries to pass those who wait for a lock, or can no longer be granted by that try. */
  | { readonly kind: "barges" | "barged"; readonly by: string; readonly name: string }
  /** A process began to import the transfer with this fence, or gave up without an answer. */
  | {
      readonly kind: "imports" | "import given up";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
    }
  /** An operator began a forced release: the operator's process may free the record. */
  | { readonly kind: "forces"; readonly by: string; readonly name: string; readonly isNow: boolean }
  /** A leader ended its term at a request, or a holder was interrupted. */
  | {
      readonly kind: "obeyed";
      readonly by: string;
      readonly name: string;
      readonly fence: bigint;
      readonly what: string;
    }
  /** The work of an occurrence began or ended, or the call for the occurrence resolved. */
  | {
      readonly kind: "occurrence";
      readonly by: string;
      readonly name: string;
      readonly occurrence: string;
      /** `recorded`: the record shows the end. `due`: a process called for the occurrence after the faults. */
      readonly what: "began" | "ended" | "recorded" | "completed" | "due";
      readonly isRerun: boolean;
    }
  /** An acquisition with a wait began. */
  | { readonly kind: "waits"; readonly by: string; readonly name: string }
  /** An acquisition ended without a lease. */
  | {
      readonly kind: "gave up";
      readonly by: string;
      readonly name: string;
      readonly code: string;
      readonly waited?: boolean;
    }
  /** A request was answered; noted only in runs which check costs. */
  | {
      readonly kind: "request";
      readonly by: string;
      readonly name: string;
      readonly what: RequestKind;
      readonly isApplied: boolean;
    }
  /** A request about a session's row was answered; noted only in runs which check costs. */
  | {
      readonly kind: "session request";
      readonly by: string;
      readonly session: string;
      readonly what: RequestKind;
      readonly isApplied: boolean;
    }
  /** A read of the queue for a name was answered; noted only in runs which check costs. */
  | { readonly kind: "queue read"; readonly by: string; readonly name: string }
  /** An event in the life of a process. */
  | { readonly kind: "process"; readonly by: string; readonly what: Happening };

/** The purpose of a request, by its shape. */
export type RequestKind = "grant" | "renewal" | "release" | "data" | "poll" | "look";

/**
 * An event in the life of a process. `hindered` and `free again` enclose the time without expected progress: the
 * process is paused, cut off, or without its timers. `at rest`: for more than two leases its workers have wanted,
 * held and released nothing. `note` is for people.
 */
export type Happening =
  | "started"
  | "killed"
  | "hindered"
  | "free again"
  | "at rest"
  | `note: ${string}`;

/** An event with its true time. */
export type Timed = Event & { readonly atMs: number };

/** A violation of an invariant. */
export interface Violation {
  readonly invariant: string;
  readonly atMs: number;
  readonly what: string;
}

/** Formats an event as a line of a timeline. */
export function lineOf(event: Timed): string {
  const { atMs, by, kind, ...rest } = event;
  const details = Object.entries(rest)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(" ");
  return `${(atMs / 1000).toFixed(3).padStart(9)} s  ${by.padEnd(8)} ${kind.padEnd(9)} ${details}`;
}

/** Formats an event exactly and completely, for hashes which are equal on every machine. */
export function textOf(event: Timed): string {
  return Object.values(event).join("|");
}
