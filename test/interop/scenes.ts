import type { DriverName, LockDriverName } from "../../scripts/lib/interop-drivers.mjs";
import type { Acquiring, Opening, Releasing } from "./driver.js";

/** A side in a scene: their client, or ours. */
export type Side = "theirs" | "ours";

/** Every scene, by its name in the table of results. */
export const SCENES = {
  held: "no rival acquires a renewed lock",
  released: "every kind of release lets the waiter in at the next poll",
  died: "a dead holder's lock is taken over after the lease, not before",
  followed: "a former holder can neither renew nor release",
  stopped: "a holder paused past its lease loses the lock, and no longer believes",
  waiterStopped: "a waiter paused past the lease does not take a renewed lock",
  data: "both clients read and list data and further attributes",
  parts: "names with different second parts are two locks",
  contention: "five processes of each side contend: no two hold at once, every process is granted",
  lostClaim: "our claim with a lost answer keeps the lock",
  lostTakeover: "our takeover with a lost answer keeps the lock",
  lostRenewal: "our renewal with a lost answer keeps the lock",
  lostRelease: "our release of every kind, with a lost answer, frees the lock",
} as const;

export type SceneName = keyof typeof SCENES;

/** Abilities which a client may lack, with the words for the table. */
export const LACKS = {
  list: "their client cannot list locks",
  read: "their client cannot read a lock",
  held: "their client does not report whether a lock is held",
  beat: "their client has no manual heartbeat",
  "stop its beats": "their client's heartbeats cannot be turned off",
  "carry data": "the format stores no data",
  "tell a lost release": "their client does not report a late release",
} as const;

export type Lack = keyof typeof LACKS;

/** How one client performs the common steps of all scenes. */
interface Manner {
  readonly opening: Partial<Opening>;
  /** One attempt, without a wait. */
  readonly once: Partial<Acquiring>;
  /** A wait of at least this many milliseconds. */
  readonly wait: (forMs: number) => Partial<Acquiring>;
  /** The abilities which the client lacks: scenes omit these checks, and make all further checks. */
  readonly cannot?: readonly Lack[];
  /**
   * The least and the longest time to a takeover after a death; absent: a lease, and a lease plus a tenth.
   */
  readonly followsMs?: readonly [leastMs: number, mostMs: number];
  /** The longest time until a waiter notices a release. */
  readonly noticesWithinMs: number;
  /** Every way of release, by its name for readers. */
  readonly releases: Readonly<Record<string, Releasing>>;
}

/** The operations whose requests are counted. */
export type Cost =
  | "acquire"
  | "renew"
  | "release and delete"
  | "release and keep"
  | "be refused at once";

/** A format: the abilities of its own client, and of ours in this format. */
export interface FormatCase {
  readonly format: DriverName;
  /** The driver; absent: the format's own. */
  readonly driver?: LockDriverName;
  /** The name of the sort key, for names of two parts. */
  readonly sortKey?: string;
  /** The scenes to play; absent: all, with names of one part. */
  readonly scenes?: readonly SceneName[];
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly theirs: Manner;
  readonly ours: Manner;
  /** The requests of each operation on the table; or why the operation does not exist. */
  readonly costs: Readonly<Record<Cost, Readonly<Record<Side, readonly string[]>> | string>>;
}
