import { type OptionNames, withNames } from "../internal/option-names.js";
import type { AnyAcquireOptions, ClientOptions, LeaseOptions } from "./options.js";

/** The names of the options of clients, locks and acquisitions, for `checkNames`. */

export const LEASE_NAMES: OptionNames<LeaseOptions> = {
  lease: true,
  renew: true,
  wait: true,
  poll: true,
  owner: true,
};

export const CLIENT_NAMES: OptionNames<ClientOptions> = {
  ...LEASE_NAMES,
  onWait: true,
  maxClockDrift: true,
  maxClockError: true,
  requestTimeout: true,
  closeTimeout: true,
  sharedSession: true,
  sessionPrefix: true,
  maxLocalHandoffs: true,
};

/** The options of one function or kind of lock alone. */
type OwnNames = "barge" | "ifHeld";

/** The options that set what a grant stores or requires, without those in {@link LEASE_NAMES}. */
const GRANT_NAMES: OptionNames<
  Omit<
    AnyAcquireOptions,
    keyof LeaseOptions | "onWait" | "signal" | OwnNames | keyof typeof QUEUE_NAMES
  >
> = {
  maxHold: true,
  data: true,
  existingData: true,
  attributes: true,
  existingAttributes: true,
  keepData: "flag",
  onlyIfExists: "flag",
};

/** The options of a waiter in a queue. */
export const QUEUE_NAMES: OptionNames<Pick<AnyAcquireOptions, "onPlaceExpired" | "onPosition">> = {
  onPlaceExpired: true,
  onPosition: true,
};

/** `adoptLease()`, which waits in no queue. */
export const ADOPT_NAMES: OptionNames<
  Omit<AnyAcquireOptions, keyof typeof QUEUE_NAMES | "onWait" | OwnNames>
> = /* @__PURE__ */ withNames(LEASE_NAMES, GRANT_NAMES, { signal: true });

/** The options of `mutex()` that are defaults of its acquisitions. */
export const DEFAULT_NAMES: OptionNames<Omit<AnyAcquireOptions, "signal" | OwnNames>> = {
  ...LEASE_NAMES,
  onWait: true,
  ...GRANT_NAMES,
  ...QUEUE_NAMES,
};

/** `Lock.acquire`. */
export const ACQUIRE_NAMES: OptionNames<Omit<AnyAcquireOptions, OwnNames>> = {
  ...DEFAULT_NAMES,
  signal: true,
};
