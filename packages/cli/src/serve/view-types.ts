/** What the server sends to the page, as JSON: fences and tickets are strings of digits. */

export type Kind = "lock" | "leader" | "once" | "semaphore" | "read-write";

/** `late`: no sign of life for longer than the lease. `silent`: a client may take over. */
type RowState = "free" | "held" | "late" | "silent";

/** Names one record. */
export interface Named {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** A record in the list. Lengths of time in milliseconds, at the reading. */
export interface Row extends Named {
  /** Of a record with permits: the state of the longest silent permit. */
  readonly state: RowState;
  /** Of a record with permits: the first of several owners, as a text. */
  readonly owner?: string | undefined;
  readonly holder?: string | undefined;
  readonly fence?: string | undefined;
  readonly session?: string | undefined;
  /** The session of the member that should have the name, if a group shares it. Undefined while that is not known. */
  readonly shouldBe?: string | undefined;
  /** By the clocks of the holder and of the server's machine. */
  readonly heldForMs?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** Since the last sign of life. */
  readonly silentMs?: number | undefined;
  readonly acquirableInMs: number;
  /** The request to the present holder, in words that follow its label. */
  readonly request?: string | undefined;
  readonly waiters: number;
  /** By the clocks of the waiters and of the server's machine. */
  readonly longestWaitMs?: number | undefined;
  /** Of a semaphore or a read-write lock only. */
  readonly permits?: PermitCount | undefined;
  /** Of a schedule, or of a task of `once()`, that has begun a run. */
  readonly schedule?: Schedule | undefined;
}

/** What the record of a schedule remembers. Instants in the format of `toISOString()`. */
export interface Schedule {
  /** Undefined for a task of `once()`. */
  readonly rule?: string | undefined;
  /** The last instant that was begun. */
  readonly due: string;
  /** How its last run ended. `open`: it goes on, or was cut off. */
  readonly outcome?: "completed" | "failed" | "open" | undefined;
  readonly attempt: number;
  readonly next?: string | undefined;
  readonly retryAt?: string | undefined;
  /** By how much its next instant or retry is late, at the reading; 0 if it is on time. */
  readonly lateMs: number;
  readonly lastSuccess?: string | undefined;
  readonly lastFailure?: { readonly due: string; readonly error: string } | undefined;
}

/** How much of a limit is in use. */
export interface PermitCount {
  readonly used: number;
  /** Undefined before the first grant. */
  readonly limit?: number | undefined;
  readonly holders: number;
  /** Holders without a sign of life for longer than their lease. */
  readonly silent: number;
}

/** One permit of a semaphore or of a read-write lock. */
export interface Permit {
  readonly holder: string;
  readonly owner?: string | undefined;
  readonly weight: number;
  readonly fence: string;
  readonly session: string;
  readonly state: RowState;
  readonly leaseMs: number;
  readonly silentMs?: number | undefined;
  readonly acquirableInMs: number;
}

export interface SessionRow {
  readonly id: string;
  readonly state: string;
  readonly owner?: string | undefined;
  readonly openedAt?: string | undefined;
  readonly appearsExpired: boolean;
  /** The first thousand records with a holder on this session. */
  readonly records: readonly Named[];
  /** How many records have a holder on this session. */
  readonly holds: number;
}

/**
 * A term of a leader. `ended`: readings showed the term, and then its end. `noted`: no reading showed its end, which was
 * at `toMs` at the latest.
 */
export interface Term {
  readonly name: string;
  readonly fence: string;
  readonly owner: string;
  readonly state: "on" | "ended" | "noted";
  readonly fromMs: number;
  /** Undefined while the term lasts. */
  readonly toMs?: number | undefined;
}

/** A member of a group that shares names. Its session has the locks of its names. */
export interface MemberRow {
  readonly group: string;
  readonly session: string;
  readonly owner: string;
  readonly weight: number;
  readonly isLeaving: boolean;
  /** Its session is over, or appears to be. */
  readonly isDead: boolean;
}

export interface Unreadable {
  readonly kind: Kind;
  readonly name: string;
  readonly found: string;
}

/** What a reading of the table found, or a page of it. In no order but that of the sessions and of the terms. */
export interface TableView {
  readonly rows: readonly Row[];
  readonly sessions: readonly SessionRow[];
  readonly terms: readonly Term[];
  readonly members: readonly MemberRow[];
  readonly unreadable: readonly Unreadable[];
}

/** The facts about the server that every answer has. */
export interface Status {
  readonly table: string;
  readonly prefix: string;
  readonly refreshMs: number;
  readonly allowRelease: boolean;
  /** The number of the reading; 0 before the first. */
  readonly reading: number;
  readonly ageMs?: number | undefined;
  /** The wall clock of the server's machine, for ages of terms. */
  readonly nowMs: number;
  /** Read units of the last reading, and of all requests since the start. */
  readonly units?: number | undefined;
  readonly totalUnits: number;
  /** Why the last reading failed. */
  readonly error?: string | undefined;
  /** Whether the last reading shows the whole table. */
  readonly isWhole: boolean;
}

export interface TableAnswer extends Status {
  /** The number of pages of this reading. */
  readonly pages: number;
  /** The requested page. Undefined if the caller has this reading. */
  readonly view?: TableView | undefined;
}

export interface Waiter {
  readonly position: number;
  readonly calls: number;
  readonly ticket: string;
  readonly owner?: string | undefined;
  readonly since?: string | undefined;
  readonly appearsExpired: boolean;
}

/** A grant, a forced release, or a count of grants without a note. Newest first. */
export type Event =
  | {
      readonly what: "grant";
      readonly fence: string;
      readonly owner: string;
      readonly holder: string;
      readonly at: string;
      readonly how: string;
    }
  | {
      readonly what: "forced";
      readonly by: string;
      readonly reason: string;
      readonly at: string;
    }
  | { readonly what: "gap"; readonly missing: string };

export interface Action {
  readonly what: string;
  readonly command: string;
}

/** A permit, with the commands for what can be done with it. */
export interface PermitDetail extends Permit {
  readonly actions: readonly Action[];
}

/** One record, by strongly consistent reads. */
export interface Detail {
  readonly row: Row;
  readonly words: string;
  readonly data?: string | undefined;
  readonly permits: readonly PermitDetail[];
  readonly waiters: readonly Waiter[];
  readonly events: readonly Event[];
  readonly actions: readonly Action[];
  /** Other records with a holder on the same session: the first of them, and how many there are. */
  readonly besides: readonly Named[];
  readonly besidesCount: number;
}

export interface DetailAnswer extends Status {
  readonly detail?: Detail | undefined;
}
