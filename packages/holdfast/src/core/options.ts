import {
  DAY_MS,
  type Duration,
  type DurationRange,
  durationMs,
  inMs,
} from "../internal/duration.js";
import {
  checkCallback,
  checkNames,
  checkOneOf,
  type OptionNames,
  refuse,
} from "../internal/option-names.js";
import type { Item } from "../platform/table.js";
import type { Grant } from "./record/format.js";
import type { ExistingData, LeaseDefaults } from "./record/format-facts.js";
import type { FormatTypes, NativeTypes } from "./record/format-types.js";
import { resolveWait, type Wait, type WaitSettings } from "./wait.js";

/** How often a waiter reads the record. */
type PollOptions = NonNullable<AcquireOptions["poll"]>;

const POLL_NAMES: OptionNames<PollOptions> = { min: true, max: true };

/** The lengths of time of a lease, the pauses of a waiter, and the label of the holder. */
export type LeaseOptions = Pick<AcquireOptions, "lease" | "renew" | "wait" | "poll" | "owner">;

/** How a client notes its grants: the result of {@link grantHistory}. */
export interface GrantHistory {
  readonly kind: "grant history";
}

/** How a client rings others, and is rung: the result of `ring()`. */
export interface RingChoice {
  readonly kind: "ring";
}

/** The options of a client, for all its leases. */
export interface ClientOptions
  extends Pick<AcquireOptions, "lease" | "renew" | "wait" | "poll" | "owner" | "onWait"> {
  /** The bound on clock drift: how much faster or slower than true time any clock may run. Default 0.01, 1 %. */
  readonly maxClockDrift?: number | undefined;
  /**
   * Twice the maximum clock error of DynamoDB's servers. Default 10 s. Once the `Date` of DynamoDB's answer is past the
   * end in the record by this much, the client takes over from a dead holder without a watch. `"never"`: the client
   * always watches the record for a whole lease first.
   */
  readonly maxClockError?: Duration | "never" | undefined;
  /**
   * How long the client waits for the answer to one request. Default 5 s; to a claim or a renewal at most half of the time that
   * the lease still lasts.
   */
  readonly requestTimeout?: Duration | undefined;
  /** How long `close()` tries to release the held leases. Default 5 s. */
  readonly closeTimeout?: Duration | undefined;
  /**
   * `sharedSession()`: one session keeps the leases of the client's length alive, with one write a period for all of
   * them. Without it, every lease renews its own record, with one write a period. A lease with another length, or with
   * manual renewal, always renews itself. See docs/sessions.md.
   */
  readonly sharedSession?: { readonly kind: "shared session" } | false | undefined;
  /**
   * The beginning of the ids of this client's sessions, also of those that keep permits alive, for a table whose policies
   * limit each team to a prefix. Default none: an id is a random UUID.
   */
  readonly sessionPrefix?: string | undefined;
  /**
   * How many times in a row a lock may pass between waiters of this process before other processes get their
   * turn. Default 16. With 0 there is no local hand-off.
   */
  readonly maxLocalHandoffs?: number | undefined;
}

/** The options of one acquisition. */
export interface AcquireOptions<S extends FormatTypes = NativeTypes> {
  /** How long a lease lasts without a renewal: at least twice `renew`. Default 30 s, or the format's default. */
  readonly lease?: Duration | undefined;
  /**
   * How often the holder renews the lease. Default a third of the lease, or the format's fraction. `"manual"` starts
   * no timer: the caller renews with `lease.renew()`.
   */
  readonly renew?: Duration | "manual" | undefined;
  /**
   * How long the lease may be held at all, however often it is renewed: for a holder that is stuck, and would renew for ever.
   * The lease is then lost with the reason `held-too-long`, and the client renews it no more. Other clients acquire the lock
   * when its record has expired, at most a lease later, or when the holder releases. The message `longHold` of
   * `holdfast/events` comes when nine tenths of the time have passed. Default none.
   */
  readonly maxHold?: Duration | undefined;
  /**
   * How long `acquire` waits for a held lock: 0 for no wait, `Infinity` for ever, `{ beyondLease: "5s" }` for 5 s
   * longer than the watch of a dead holder. The wait counts from the start of the call, so a live holder does not
   * extend it. Default `{ beyondLease: "10s" }`, and at least 60 s; or the format's default.
   */
  readonly wait?:
    | Duration
    | {
        /**
         * How much longer to wait than a client must watch a dead holder. A client watches for the longer of its own lease
         * and the lease in the record, and for the allowed clock drift (`maxClockDrift`).
         */
        readonly beyondLease: Duration;
      }
    | undefined;
  /**
   * How long a waiter pauses between two reads of the record. By default the interval follows the length of the holds
   * that the waiter has seen: a tenth of a hold, at least 10 ms, and never more than the growing pause from `min` to
   * `max`. If you set `poll`, the pauses do not depend on the holds.
   */
  readonly poll?:
    | {
        /** The first pause between two reads, and the first pause after a change of the holder. Default 100 ms. */
        readonly min?: Duration | undefined;
        /** The longest pause. Default 2 s. */
        readonly max?: Duration | undefined;
      }
    | undefined;
  /**
   * The client calls this when `acquire` or `run` begins to wait, and then every 10 s until the wait ends: for a log, or to
   * give up by `signal`. Never for a call with a wait of 0, nor before the first attempt was refused. It sends no request,
   * and tells what this process has last seen. An error of the callback goes to the client's `onError`; the wait goes on.
   */
  readonly onWait?:
    | ((wait: {
        /** The name of the lock; of several, the first one found held. */
        readonly lockName: string;
        /** The readable label of the holder, or of one of the holders, if it is known. */
        readonly owner: string | undefined;
        /** Whether this client itself holds the lock: the caller waits for another call of its own process. False for permits. */
        readonly isOwn: boolean;
        /** For how long this process has seen no renewal of the holder, in milliseconds. Undefined if not known. */
        readonly silentMs: number | undefined;
        /**
         * In how many milliseconds a takeover is possible if the holder does not renew. Undefined if that is not known, and
         * for permits: each has its own holder.
         */
        readonly acquirableInMs: number | undefined;
        /** For how long this call has waited, in milliseconds. */
        readonly sinceMs: number;
      }) => unknown)
    | undefined;
  /** A readable label of the holder. Default: host name and process id. */
  readonly owner?: string | undefined;
  /**
   * Ends the wait. `acquire` then rejects with the signal's reason, and leaves nothing behind; after a takeover, and with
   * `keepData` or `existingData: "keep"`, perhaps its `data` and `attributes`.
   */
  readonly signal?: AbortSignal | undefined;
  /** User data to store with the lock: any JSON value, or the data type of the format. */
  readonly data?: S extends NativeTypes ? unknown : S["data"] | undefined;
  /**
   * Whether a grant replaces data already in the record. `"replace"`: `data` replaces them; a grant without `data`
   * removes them. `"keep"`: existing data stay, and the grant stores `data` only if the record has none. Default
   * `"replace"`, or the format's default.
   */
  readonly existingData?: "replace" | "keep" | undefined;
  /** Further attributes to write with the grant, in a format that supports attributes. */
  readonly attributes?: S["attributes"] | undefined;
  /**
   * Whether a grant replaces further attributes already in the record. `"replace"`: `attributes` replaces all of
   * them, unless the data are kept (`existingData: "keep"`). `"keep"`: attributes that `attributes` does not name
   * stay. Default `"replace"`.
   */
  readonly existingAttributes?: S["attributes"] extends undefined
    ? undefined
    : "replace" | "keep" | undefined;
  /** Whether a release leaves the user data in the record. Default false, or the format's default. */
  readonly keepData?: boolean | undefined;
  /** Whether to acquire the lock only if its record already exists. Default false. */
  readonly onlyIfExists?: boolean | undefined;
  /**
   * The action of a waiter with an expired place in the queue: after a pause or a network fault longer than the lease, or
   * when the table has served no read of it for as long. `"requeue"`, the default: joins again at the back. `"fail"`: rejects with `not-acquired`. The waiter never
   * gets the old place back.
   */
  readonly onPlaceExpired?: "requeue" | "fail" | undefined;
  /**
   * The client calls this whenever a read shows a new number of waiters before this waiter. The first waiter has the
   * number 0. The number is exact up to 16, except that a waiter with one waiter before it may learn only after 5 s
   * that this waiter gave up. Further back, the client subtracts the grants that it sees from its last count. It counts
   * at half the distance, and at least once a renewal period. An error that it throws ends the acquisition; a rejection
   * of an async callback goes to the client's `onError`.
   */
  readonly onPosition?: ((position: number) => void) | undefined;
  /**
   * What a waiter tells the holder of a mutex: `interrupt` or `announce` from `holdfast/requests`. Default: nothing. Without
   * a wait there is nothing to tell. See docs/requests.md.
   */
  readonly ifHeld?: { readonly kind: "interrupt" | "announce" } | undefined;
  /**
   * Whether `tryAcquire` may pass the waiters in the queue of the lock. Default false: the attempt then acquires the
   * lock only if every waiter in the queue is dead or gone. For `tryAcquire` only.
   */
  readonly barge?: boolean | undefined;
}

/** The options of one acquisition in any format. */
export type AnyAcquireOptions = Omit<
  AcquireOptions,
  "data" | "attributes" | "existingAttributes"
> & {
  readonly data?: unknown;
  readonly attributes?: Item | undefined;
  readonly existingAttributes?: ExistingData | undefined;
};

const LONGEST_FIRST_RETRY_MS = 1_000;

/** The options of one lease, resolved and checked together. */
export interface LeaseSettings extends WaitSettings {
  readonly leaseMs: number;
  readonly renewMs: number | "manual";
  readonly maxHoldMs: number | undefined;
  readonly minPollMs: number;
  readonly maxPollMs: number;
  /** The first pause before a request is sent again that DynamoDB did not serve: a poll may be longer than the lease. */
  readonly retryMs: number;
  /** The first pause while the length of a hold is not known. */
  readonly firstPollMs: number;
  /** Whether a waiter polls faster where holds are short. False if the caller has set `poll`. */
  readonly adaptsPoll: boolean;
  readonly owner: string;
  readonly signal: AbortSignal | undefined;
  readonly onWait: AcquireOptions["onWait"];
  readonly data: unknown;
  readonly existingData: ExistingData;
  readonly attributes: Grant["attributes"];
  readonly existingAttributes: ExistingData;
  readonly keepData: boolean;
  readonly onlyIfExists: boolean;
}

/** The defaults of the mutex on native records, each with its reason. */
export const DEFAULTS = Object.freeze({
  /** Longer than most garbage collections and short outages; short enough to wait out. */
  lease: "30s",
  /** Two renewals may fail, and the third still comes in time. */
  renewsPerLease: 3,
  /** Long enough for the watch of a dead holder and two lost requests. */
  wait: Object.freeze({ beyondLease: "10s" }),
  /** The default wait of a short lease: a live holder may take a while. */
  leastWait: "60s",
  /** At most ten half-unit reads a second, and only at first. */
  minPoll: "100ms",
  /** A waiter for a long job costs a quarter unit a second. */
  maxPoll: "2s",
  /** A hundred times the drift of a quartz clock; virtual machines drift more than quartz. */
  maxClockDrift: 0.01,
  /** Far more than the difference between servers with synchronised clocks. */
  maxClockError: "10s",
  /** The answer to a longer request is more likely lost than slow. */
  requestTimeout: "5s",
  closeTimeout: "5s",
  /** The most grants in a row to one process while other processes wait. */
  maxLocalHandoffs: 16,
});

/** The default `poll` of fair locks, in milliseconds. */
export const FAIR_POLL_MS = Object.freeze({
  /** The longest interval of the first waiter while it does not know how long a hold lasts. */
  min: 500,
  /** The longest interval of waiters further back: twelve reads a minute. */
  max: 5_000,
});

/** The same as the option. No call computes it: a bundle would keep the module for it. */
export const FAIR_POLL = Object.freeze({
  min: `${FAIR_POLL_MS.min}ms`,
  max: FAIR_POLL_MS.max,
} as const);

/**
 * The first interval of the first waiter, if the caller has not set `poll`. Only one process of a queue reads so often.
 */
const FAIR_FIRST_POLL_MS = 20;

const LEASE_RANGE: DurationRange = { leastMs: 100, mostMs: 365 * DAY_MS };
const RENEW_RANGE: DurationRange = { leastMs: 10, mostMs: 365 * DAY_MS };
const LEAST_WAIT_RANGE: DurationRange = { leastMs: 0, mostMs: DAY_MS };
const POLL_RANGE: DurationRange = { leastMs: 1, mostMs: DAY_MS };

const LONGEST_OWNER_BYTES = 1_000;

/**
 * Resolves the options of one acquisition. `layers`: first the acquisition's options, then the mutex's, then
 * the client's. Throws `invalid-argument`; never corrects a value silently.
 */
export function resolveAcquire(
  layers: readonly AnyAcquireOptions[],
  defaultOwner: string,
  defaults: LeaseDefaults = DEFAULTS,
): LeaseSettings {
  const asked = <K extends keyof AnyAcquireOptions>(key: K) => givenIn(layers, key);
  const leaseMs = durationMs("lease", given(asked("lease"), defaults.lease), LEASE_RANGE);
  const renew = given(asked("renew"), inMs(leaseMs / defaults.renewsPerLease));
  const renewMs = renew === "manual" ? renew : durationMs("renew", renew, RENEW_RANGE);
  const maxHold = asked("maxHold");
  const minPollMs = resolvePoll(layers, "min", defaults.minPoll);
  const maxPollMs = resolvePoll(layers, "max", defaults.maxPoll);
  if (minPollMs > maxPollMs) {
    throw refuse(
      `The option \`poll.min\` (${minPollMs} ms) must not exceed \`poll.max\` (${maxPollMs} ms).`,
    );
  }
  checkLease(leaseMs, renewMs);
  const adaptsPoll = layers.every(({ poll }) => poll === undefined || poll === FAIR_POLL);
  const isFair = layers.some(({ poll }) => poll === FAIR_POLL);
  return {
    leaseMs,
    renewMs,
    maxHoldMs: maxHold === undefined ? undefined : durationMs("maxHold", maxHold, LEASE_RANGE),
    ...waitOf(asked("wait"), defaults, leaseMs),
    minPollMs,
    maxPollMs,
    retryMs: Math.min(minPollMs, LONGEST_FIRST_RETRY_MS),
    firstPollMs: adaptsPoll && isFair ? FAIR_FIRST_POLL_MS : minPollMs,
    adaptsPoll,
    owner: checkOwner(given(asked("owner"), defaultOwner)),
    signal: asked("signal"),
    onWait: checkCallback("onWait", asked("onWait")),
    data: asked("data"),
    existingData: checkOneOf(
      "existingData",
      given(asked("existingData"), defaults.existingData ?? "replace"),
      EXISTING,
    ),
    attributes: asked("attributes"),
    existingAttributes: checkOneOf(
      "existingAttributes",
      given(asked("existingAttributes"), "replace"),
      EXISTING,
    ),
    keepData: asked("keepData") ?? defaults.keepData ?? false,
    onlyIfExists: asked("onlyIfExists") ?? false,
  };
}

/** Returns settings with another wait and signal. Throws `invalid-argument` for the wait. */
export function withWait<S extends LeaseSettings>(
  settings: S,
  wait: Wait | undefined,
  signal: AbortSignal | undefined,
): S {
  return {
    ...settings,
    ...(wait !== undefined && resolveWait(wait, settings.leaseMs, DEFAULTS.maxClockDrift)),
    signal,
  };
}

/** Checks the length of a lease against its renewals. Throws `invalid-argument`. */
export function checkLease(leaseMs: number, renewMs: number | "manual"): void {
  if (!Number.isInteger(leaseMs)) {
    throw refuse(`The option \`lease\` must be whole milliseconds; it is ${leaseMs}.`);
  }
  if (renewMs !== "manual" && leaseMs < 2 * renewMs) {
    throw refuse(
      `The option \`lease\` (${leaseMs} ms) must be at least twice \`renew\` (${renewMs} ms). ` +
        "Otherwise a single failed renewal ends the lease.",
    );
  }
}

/** Resolves the lease length of a renewal. Throws `invalid-argument`. */
export function resolveLease(value: Duration): number {
  return durationMs("lease", value, LEASE_RANGE);
}

function resolvePoll(
  layers: readonly AnyAcquireOptions[],
  key: keyof PollOptions,
  fallback: Duration,
): number {
  const polls = layers.map(({ poll }) => poll).filter((poll) => poll !== undefined);
  for (const poll of polls) checkNames("`poll`", poll, POLL_NAMES);
  return durationMs(`poll.${key}`, givenIn(polls, key) ?? fallback, POLL_RANGE);
}

/** The option of the first layer that has it. */
export function givenIn<O, K extends keyof O>(layers: readonly O[], key: K): O[K] | undefined {
  return layers.find((layer) => layer[key] !== undefined)?.[key];
}

// Not `??`: null is not a valid value, and must not silently select another layer's value.
function given<T>(value: T | undefined, fallback: T): T {
  return value === undefined ? fallback : value;
}

/** Checks a label for people. Throws `invalid-argument`. */
export function checkOwner(owner: string): string {
  if (typeof owner !== "string") throw refuse("The option `owner` must be a string.");
  const bytes = Buffer.byteLength(owner);
  if (owner === "" || bytes > LONGEST_OWNER_BYTES) {
    throw refuse(
      `The option \`owner\` must be 1 to ${LONGEST_OWNER_BYTES} bytes long; it has ${bytes}.`,
    );
  }
  return owner;
}

const EXISTING: readonly ExistingData[] = ["replace", "keep"];

// An acquisition corrects the wait by the drift bound of its client.
function waitOf(asked: Wait | undefined, defaults: LeaseDefaults, leaseMs: number): WaitSettings {
  const drift = DEFAULTS.maxClockDrift;
  if (asked !== undefined) return resolveWait(asked, leaseMs, drift);
  const leastMs = durationMs("wait", defaults.leastWait ?? 0, LEAST_WAIT_RANGE);
  return resolveWait(defaults.wait, leaseMs, drift, leastMs);
}
