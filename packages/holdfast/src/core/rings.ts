import type { SignalLike } from "../platform/abort.js";
import type { HeldRecord } from "./record/record.js";
import type { RecordRef } from "./record/ref.js";

/**
 * What a ring tells a waiter: `free`, its record was released, and this waiter was told first; `look`, its record has
 * changed. A ring is a hint: it brings the next request forward, and proves nothing.
 */
export type RingKind = "free" | "look";

/** The part of a held record by which a client can be rung. */
export type Ringable = Pick<HeldRecord, "holder" | "ring">;

/** A lease of this client that others may wait for. */
export interface RungHold {
  readonly ref: RecordRef;
  readonly held: { readonly holder: string };
  readonly isHeld: boolean;
  readonly requested: { waited(): void };
  /** Reads the record: another client may have written a request for this holder. */
  look(): Promise<unknown>;
}

/** The rings of one client, in both directions. No method sends a request to the table, and none waits for the network. */
export interface Rings {
  /** Resolves in a moment, when the client listens or cannot; undefined afterwards. A grant before has no mark. */
  readonly opening: Promise<void> | undefined;
  /** Returns the mark that a grant writes, by which waiters find this client; undefined if it does not listen. */
  markOf(ref: RecordRef, holder: string): string | undefined;
  /** Notes a grant that may carry a mark. */
  began(hold: RungHold): void;
  /** Rings those who wait for a record: DynamoDB has answered its release, or the removal of the entry. */
  freed(ref: RecordRef): void;
  /** Returns how one waiter listens. */
  ear(): Ear;
  /** Tells the holder of this record that the record has a request for it. */
  asked(record: Ringable): void;
  close(): void;
}

/** How one waiter listens, to one client at a time. */
export interface Ear {
  /** Tells the client that made this record that the waiter waits. Says nothing twice. */
  listen(record: Ringable | undefined): void;
  /**
   * Sleeps for `delayMs`, or for about `longestMs` if that is longer and the other client answers, until a ring or until
   * `signal` aborts. Returns the ring, also one that came before the call. Never rejects.
   */
  sleep(delayMs: number, longestMs: number, signal: SignalLike): Promise<RingKind | undefined>;
  close(): void;
}
