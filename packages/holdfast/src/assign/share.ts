import type { MemberRow } from "../native/native-members.js";

/** A member, as the sharing sees it. */
export interface Sharer {
  readonly id: string;
  /** How much of the work it takes, compared with the others. 0: none. */
  readonly weight: number;
}

/**
 * Shares names out: returns the member that should have each name. Every caller with the same members and the same names
 * computes the same, in whatever order it has them. Pure.
 *
 * Each name goes to the member with the highest score for it (rendezvous hashing), unless that member has its share
 * already: the whole part of the exact share, and one of the names that are left over. So shares are exactly even, and of
 * 1,000 names and 10 members about 18 change between two members when another one comes or goes; the limit makes that
 * price. Without it no name would change between two others, but a share would be off by up to a third.
 *
 * Empty without members of a positive weight.
 */
export function shareOut(
  names: readonly string[],
  members: readonly Sharer[],
): ReadonlyMap<string, string> {
  const shares = members
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id, weight }) => ({ id, weight, hash: hashOf(id), room: 0, mayHaveMore: true }));
  const shared = new Map<string, string>();
  if (shares.length === 0) return shared;
  const whole = shares.reduce((sum, { weight }) => sum + weight, 0);
  for (const share of shares) share.room = Math.floor((names.length * share.weight) / whole);
  let left = names.length - shares.reduce((sum, { room }) => sum + room, 0);
  const hashed = names
    .map((name) => ({ name, hash: hashOf(name) }))
    .sort((one, other) => one.hash - other.hash || (one.name < other.name ? -1 : 1));
  for (const { name, hash } of hashed) {
    let best: (typeof shares)[number] | undefined;
    let highest = -1;
    for (const share of shares) {
      if (share.room === 0 && (left === 0 || !share.mayHaveMore)) continue;
      const score = scoreOf(mixed(hash ^ share.hash), share.weight);
      if (score <= highest) continue;
      highest = score;
      best = share;
    }
    if (best === undefined) continue;
    if (best.room > 0) best.room -= 1;
    else {
      best.mayHaveMore = false;
      left -= 1;
    }
    shared.set(name, best.id);
  }
  return shared;
}

/** A digest of a list of names, in any order: members with the same digest know the same names. Pure. */
export function digestOf(names: readonly string[]): string {
  let [sum, mix] = [0, 0];
  for (const name of names) {
    const hash = hashOf(name);
    sum = (sum + hash) >>> 0;
    mix = (mix ^ mixed(hash + 1)) >>> 0;
  }
  return `${names.length}-${sum.toString(36)}-${mix.toString(36)}`;
}

/** A member, as a reading of its group shows it. */
export interface SeenMember extends Pick<MemberRow, "session" | "weight" | "names" | "isLeaving"> {
  /** Whether its session is over. */
  readonly isDead: boolean;
}

/**
 * What a reading of a group tells of its sharing, from the members and the locks by name. Pure.
 *
 * `known` has the locks of the names that the members know, as far as their digests tell: a free one may have gone from the
 * names. `shared` has the session of the member that should have each; undefined while a name has never run, or the members
 * differ in their names.
 */
export function sharingIn<
  L extends { readonly state: string; readonly session?: string | undefined },
>(
  members: readonly SeenMember[],
  locks: ReadonlyMap<string, L>,
): {
  readonly known: ReadonlyMap<string, L>;
  readonly shared: ReadonlyMap<string, string> | undefined;
} {
  const held = new Map([...locks].filter(([, { state }]) => state === "held"));
  // Without those of another group, whose name begins with this one's: "orders/eu" beside "orders".
  const sessions = new Set(members.map(({ session }) => session));
  const theirs = new Map([...held].filter(([, { session }]) => sessions.has(session ?? "")));
  const [digest, other] = new Set(members.map(({ names }) => names));
  const known = [held, locks, theirs].find((some) => digestOf([...some.keys()]) === digest);
  if (known === undefined || other !== undefined) return { known: locks, shared: undefined };
  const sharers = members
    .filter(({ isLeaving, isDead }) => !isLeaving && !isDead)
    .map(({ session, weight }) => ({ id: session, weight }));
  return { known, shared: shareOut([...known.keys()], sharers) };
}

// The highest of -weight/ln(u) belongs to each member with the probability of its part of all weights.
function scoreOf(hash: number, weight: number): number {
  return -weight / Math.log((hash + 0.5) / 2 ** 32);
}

// 32 bits of FNV-1a with a rotation, over the code units, then the finaliser of MurmurHash3. No secret: a hash that is
// unlucky, or chosen, costs balance at most.
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    hash = (hash << 13) | (hash >>> 19);
  }
  return mixed(hash);
}

function mixed(bits: number): number {
  let hash = bits ^ (bits >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
