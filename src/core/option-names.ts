import type { OptionNames } from "../internal/option-names.js";
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
  maxClockDrift: true,
  maxClockError: true,
  requestTimeout: true,
  closeTimeout: true,
  sharedSession: true,
  sessionPrefix: true,
  maxLocalHandoffs: true,
};

/** The options that set what a grant stores or requires, without those in {@link LEASE_NAMES}. */
const GRANT_NAMES: OptionNames<Omit<AnyAcquireOptions, keyof LeaseOptions | "signal">> = {
  data: true,
  existingData: true,
  attributes: true,
  existingAttributes: true,
  keepData: true,
  onlyIfExists: true,
};

/** `Lock.acquire` and `adoptLease()`. */
export const ACQUIRE_NAMES: OptionNames<AnyAcquireOptions> = {
  ...LEASE_NAMES,
  ...GRANT_NAMES,
  signal: true,
};

/** The options of `mutex()` that are defaults of its acquisitions. */
export const DEFAULT_NAMES: OptionNames<Omit<AnyAcquireOptions, "signal">> = {
  ...LEASE_NAMES,
  ...GRANT_NAMES,
};
