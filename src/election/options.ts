import type { AcquireSettings } from "../core/acquire/settings.js";
import { resolveAcquire } from "../core/options.js";
import { HoldfastError } from "../errors.js";
import { type Duration, type DurationRange, durationMs } from "../internal/duration.js";

/** Options of an election. Lengths of time are not taken from the client: they fit mutexes, not terms. */
export interface ElectionOptions {
  /**
   * The longest time from the last renewal of a leader that dies to the next leader: lease, renewal and
   * standby read are derived from it. Default `"60s"`, which gives 52 s, 10 s and 5 s. Cannot be given
   * together with one of the three.
   */
  readonly failover?: Duration | undefined;
  /** For how long a leader may be silent; at least two renewals. Default 52 s. */
  readonly lease?: Duration | undefined;
  /** How often the leader renews. Default 10 s; a fifth of the lease where that is given. */
  readonly renew?: Duration | undefined;
  /**
   * The longest pause between two reads of a candidate that stands by. Default 5 s; a tenth of the
   * lease where that is given.
   */
  readonly poll?: Duration | undefined;
  /** The candidate's label for people, which `leader()` shows. Default: the client's owner. */
  readonly owner?: string | undefined;
  /**
   * Whether this candidate is preferred to those that are not: standing by, it asks one of them to
   * hand over, once a term, and they let it go first. Default false.
   */
  readonly preferred?: boolean | undefined;
}

/** The lengths of time of an election, in milliseconds. */
export interface ElectionLengths {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly pollMs: number;
}

/** An election's options, resolved and checked together. */
export interface ElectionSettings extends ElectionLengths {
  /** What each grant asks of the kernel. */
  readonly grant: AcquireSettings;
  readonly preferred: boolean;
}

/** The defaults of elections, each with its reason. */
export const ELECTION_DEFAULTS = Object.freeze({
  /** A common promise to whoever is on call. */
  failoverMs: 60_000,
  /** Of the failover time: the watch of a lease of 52 s, which is 53.04 s, is what 60 s leave room for. */
  watchPart: 53.04 / 60,
  /** Five renewals in a lease: four may fail, and 40 s of outage cost no transition. */
  renewPart: 1 / 6,
  /** A standby reads for some cents a month; what is left of the 60 s are two seconds for requests. */
  pollPart: 1 / 12,
  /** Where only the lease is given: about the same relations. */
  renewsPerLease: 5,
  pollsPerLease: 10,
});

// Below it, requests of some milliseconds are no longer short beside the pauses between them.
const FAILOVER_RANGE: DurationRange = { leastMs: 300, mostMs: 24 * 3_600_000 };
const POLL_RANGE: DurationRange = { leastMs: 1, mostMs: 24 * 3_600_000 };

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

/** Resolves an election's options. Throws `invalid-argument`; nothing is corrected in silence. */
export function resolveElection(
  options: ElectionOptions,
  defaultOwner: string,
  maxClockDrift: number,
  keepData?: boolean | undefined,
): ElectionSettings {
  const { lease, renew, poll, preferred = false, owner } = options;
  const lengths = [lease, renew, poll].some((length) => length !== undefined)
    ? lengthsFrom(options, maxClockDrift)
    : lengthsOfFailover(options.failover ?? ELECTION_DEFAULTS.failoverMs, maxClockDrift);
  if (typeof preferred !== "boolean") {
    throw refuse(`The option \`preferred\` must be true or false; it is ${String(preferred)}.`);
  }
  const { leaseMs, renewMs, pollMs } = lengths;
  const grant = resolveAcquire(
    [{ lease: leaseMs, renew: renewMs, wait: 0, owner, poll: pollsOf(pollMs), keepData }],
    defaultOwner,
  );
  return { ...lengths, grant, preferred };
}

// How soon a grant that nobody answered is tried again: the kernel's own pace, but never above the poll.
function pollsOf(pollMs: number): { readonly min: number; readonly max: number } {
  return { min: Math.min(100, pollMs), max: Math.min(2_000, pollMs) };
}

function lengthsOfFailover(failover: Duration, maxClockDrift: number): ElectionLengths {
  const { watchPart, renewPart, pollPart } = ELECTION_DEFAULTS;
  const failoverMs = durationMs("failover", failover, FAILOVER_RANGE);
  return {
    // Rounded to whole milliseconds, as records have them; never above what the watch leaves room for.
    leaseMs: Math.floor((failoverMs * watchPart) / (1 + 2 * maxClockDrift) + 1e-6),
    renewMs: failoverMs * renewPart,
    pollMs: failoverMs * pollPart,
  };
}

function lengthsFrom(options: ElectionOptions, maxClockDrift: number): ElectionLengths {
  const { failover, lease, renew, poll } = options;
  if (failover !== undefined) {
    throw refuse(
      "The option `failover` derives `lease`, `renew` and `poll`: give it alone, or give them.",
    );
  }
  const fallback = lengthsOfFailover(ELECTION_DEFAULTS.failoverMs, maxClockDrift);
  const leaseMs =
    lease === undefined ? fallback.leaseMs : durationMs("lease", lease, FAILOVER_RANGE);
  const { renewsPerLease, pollsPerLease } = ELECTION_DEFAULTS;
  // Where the lease is the default one, so are the other two.
  const renewMs = lease === undefined ? fallback.renewMs : leaseMs / renewsPerLease;
  const pollMs = lease === undefined ? fallback.pollMs : leaseMs / pollsPerLease;
  return {
    leaseMs,
    renewMs: renew === undefined ? renewMs : durationMs("renew", renew, POLL_RANGE),
    pollMs: poll === undefined ? pollMs : durationMs("poll", poll, POLL_RANGE),
  };
}
