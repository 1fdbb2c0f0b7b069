import type { AcquireSettings } from "../core/acquire/settings.js";
import { resolveAcquire } from "../core/options.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { type Duration, type DurationRange, durationMs, inMs } from "../internal/duration.js";
import { type OptionNames, refuse } from "../internal/option-names.js";

/** Options of an election. Defaults of the client do not apply: they fit mutexes, not terms. */
export interface ElectionOptions {
  /**
   * The longest time from the last renewal of a dead leader to the next leader. `lease`, `renew` and `poll` are derived
   * from it. Default `"60s"`, which gives 52 s, 10 s and 5 s. Excludes `lease`, `renew` and `poll`.
   */
  readonly failover?: Duration | undefined;
  /** How long a leader may go without renewing; at least two renewals. Default 52 s. */
  readonly lease?: Duration | undefined;
  /** How often the leader renews. Default 10 s; with `lease`, a fifth of the lease. */
  readonly renew?: Duration | undefined;
  /** How long a term may last at all, as `maxHold` of a lock: for a leader that is stuck. Default none. */
  readonly maxHold?: Duration | undefined;
  /** The longest pause between two reads of a standby candidate. Default 5 s; with `lease`, a tenth of the lease. */
  readonly poll?: Duration | undefined;
  /** The candidate's label for people, as shown by `leader()`. Default: the client's owner. */
  readonly owner?: string | undefined;
  /**
   * Whether this candidate is preferred. A preferred standby asks a leader that is not preferred to resign, once a
   * term; the remaining candidates let the preferred candidate go first. Default false.
   */
  readonly preferred?: boolean | undefined;
}

export const ELECTION_NAMES: OptionNames<ElectionOptions> = {
  failover: true,
  lease: true,
  renew: true,
  maxHold: true,
  poll: true,
  owner: true,
  preferred: "flag",
};

/** Options of `Election.campaign`. */
export interface CampaignOptions<S extends FormatTypes = NativeTypes> {
  /** Ends the campaign, which then rejects with the signal's reason and leaves nothing in the table. */
  readonly signal?: AbortSignal | undefined;
  /** The value to proclaim in the same request as the grant: any JSON value, or user data of the format. */
  readonly value?: S["data"] | undefined;
}

/** Options of `Election.lead`. */
export interface LeadOptions<S extends FormatTypes = NativeTypes> extends CampaignOptions<S> {
  /** Whether to campaign again after a term. Default true. */
  readonly again?: boolean | undefined;
}

export const CAMPAIGN_NAMES: OptionNames<CampaignOptions> = { signal: true, value: true };
export const LEAD_NAMES: OptionNames<LeadOptions> = {
  signal: true,
  value: true,
  again: "flag",
};

/** The durations of an election, in milliseconds. */
interface ElectionLengths {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly pollMs: number;
}

/** An election's options, resolved and checked together. */
export interface ElectionSettings extends ElectionLengths {
  /** The settings of each grant. */
  readonly grant: AcquireSettings;
  readonly preferred: boolean;
}

/** The defaults of elections, each with its reason. A function, so that a program without elections has none of them. */
const electionDefaults = () => ({
  /** A common promise to the people on call. */
  failoverMs: 60_000,
  /** The watch of a lease of 52 s takes 53.04 s of the 60 s of failover. */
  watchPart: 53.04 / 60,
  /** Five renewals in a lease: four may fail, and an outage of 40 s costs no transition. */
  renewPart: 1 / 6,
  /** Standby reads cost some cents a month. About two seconds of the 60 s remain for requests. */
  pollPart: 1 / 12,
  /** With only `lease` given: about the same proportions. */
  renewsPerLease: 5,
  pollsPerLease: 10,
});

// Below 300 ms, request times of some milliseconds are no longer short beside the pauses.
const FAILOVER_RANGE: DurationRange = { leastMs: 300, mostMs: 24 * 3_600_000 };
const POLL_RANGE: DurationRange = { leastMs: 1, mostMs: 24 * 3_600_000 };

/** Resolves an election's options. Throws `invalid-argument`; corrects nothing silently. */
export function resolveElection(
  options: ElectionOptions,
  defaultOwner: string,
  maxClockDrift: number,
  keepData?: boolean | undefined,
): ElectionSettings {
  const { lease, renew, maxHold, poll, preferred = false, owner } = options;
  const lengths = [lease, renew, poll].some((length) => length !== undefined)
    ? lengthsFrom(options, maxClockDrift)
    : lengthsOfFailover(options.failover ?? electionDefaults().failoverMs, maxClockDrift);
  const { leaseMs, renewMs, pollMs } = lengths;
  const grant = resolveAcquire(
    [
      {
        lease: inMs(leaseMs),
        renew: inMs(renewMs),
        maxHold,
        wait: 0,
        owner,
        poll: pollsOf(pollMs),
        keepData,
      },
    ],
    defaultOwner,
  );
  return { ...lengths, grant, preferred };
}

// The backoff after an unanswered grant: as in the core, but never above the poll.
function pollsOf(pollMs: number): { readonly min: Duration; readonly max: Duration } {
  return { min: inMs(Math.min(100, pollMs)), max: inMs(Math.min(2_000, pollMs)) };
}

function lengthsOfFailover(failover: Duration, maxClockDrift: number): ElectionLengths {
  const { watchPart, renewPart, pollPart } = electionDefaults();
  const failoverMs = durationMs("failover", failover, FAILOVER_RANGE);
  return {
    // Rounded down to whole milliseconds, as records store them.
    leaseMs: Math.floor((failoverMs * watchPart) / (1 + 2 * maxClockDrift) + 1e-6),
    renewMs: failoverMs * renewPart,
    pollMs: failoverMs * pollPart,
  };
}

function lengthsFrom(options: ElectionOptions, maxClockDrift: number): ElectionLengths {
  const { failover, lease, renew, poll } = options;
  if (failover !== undefined) {
    throw refuse(
      "The option `failover` sets `lease`, `renew` and `poll`. Give either `failover` or these options.",
    );
  }
  const fallback = lengthsOfFailover(electionDefaults().failoverMs, maxClockDrift);
  const leaseMs =
    lease === undefined ? fallback.leaseMs : durationMs("lease", lease, FAILOVER_RANGE);
  const { renewsPerLease, pollsPerLease } = electionDefaults();
  // With the default lease, `renew` and `poll` keep their defaults too.
  const renewMs = lease === undefined ? fallback.renewMs : leaseMs / renewsPerLease;
  const pollMs = lease === undefined ? fallback.pollMs : leaseMs / pollsPerLease;
  return {
    leaseMs,
    renewMs: renew === undefined ? renewMs : durationMs("renew", renew, POLL_RANGE),
    pollMs: poll === undefined ? pollMs : durationMs("poll", poll, POLL_RANGE),
  };
}
