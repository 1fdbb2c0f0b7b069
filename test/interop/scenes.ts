import type { DriverName, LockDriverName } from "../../scripts/lib/interop-drivers.mjs";
import type { Acquiring, Opening, Releasing } from "./driver.js";

/** Who is who in a scene: their client, or ours. */
export type Side = "theirs" | "ours";

/** Every scene, by what the table of what was run calls it. */
export const SCENES = {
  held: "nobody gets what is held and renewed",
  released: "each way of release lets the waiter in as soon as it looks",
  died: "a holder that dies is followed after its lease, not before",
  followed: "a holder that was followed can neither renew nor release",
  stopped: "a holder that is stopped past its lease is followed, and believes it no longer",
  waiterStopped: "a waiter that is stopped past the lease takes nothing that is renewed",
  data: "data and further attributes are read, and both list them",
  parts: "names that differ in their second part are two locks",
  contention: "five of each contend: no two hold at once, and none is left out",
  lostClaim: "a lost answer of ours, of a claim, leaves the lock with us",
  lostTakeover: "a lost answer of ours, of a takeover, leaves the lock with us",
  lostRenewal: "a lost answer of ours, of a renewal, keeps the lock with us",
  lostRelease: "a lost answer of ours, of a release, each way, frees it",
} as const;

export type SceneName = keyof typeof SCENES;

/** What a client may have nothing for, and how the table says so. */
export const LACKS = {
  list: "theirs lists nothing",
  read: "theirs reads nothing",
  held: "theirs does not tell whether it holds",
  beat: "theirs takes no heartbeats by hand",
  "stop its beats": "the beats of theirs cannot be left out",
  "carry data": "the format has no room for data",
  "tell a lost release": "theirs does not tell that it released too late",
} as const;

export type Lack = keyof typeof LACKS;

/** How one client does what every client can: the same scenes are played with each. */
export interface Manner {
  readonly opening: Partial<Opening>;
  /** Tries, and does not wait. */
  readonly once: Partial<Acquiring>;
  /** Waits for at least this many milliseconds. */
  readonly wait: (forMs: number) => Partial<Acquiring>;
  /** What it has nothing for: the scenes then leave out that one question, and ask the others. */
  readonly cannot?: readonly Lack[];
  /** How long after a death it follows, at least and at most; left out: a lease, and a tenth of it more. */
  readonly followsMs?: readonly [leastMs: number, mostMs: number];
  /** For how long a waiter may not notice a release. */
  readonly noticesWithinMs: number;
  /** Every way to release, by what a reader calls it. */
  readonly releases: Readonly<Record<string, Releasing>>;
}

/** What is counted in requests. */
export type Cost =
  | "acquire"
  | "renew"
  | "release and delete"
  | "release and keep"
  | "be refused at once";

/** A format: what its own client can do, and what ours does in it. */
export interface FormatCase {
  readonly format: DriverName;
  /** Whose driver; left out: the format's own. */
  readonly driver?: LockDriverName;
  /** The name of the sort key, where names have two parts. */
  readonly sortKey?: string;
  /** What is played; left out: everything, with names of one part. */
  readonly scenes?: readonly SceneName[];
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly theirs: Manner;
  readonly ours: Manner;
  /** What one of each costs, as operations of the table; or why there is none. */
  readonly costs: Readonly<Record<Cost, Readonly<Record<Side, readonly string[]>> | string>>;
}
