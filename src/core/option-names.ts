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
  maxLocalHandoffs: true,
};

/** What is stored with a grant: the options of an acquisition that does not wait, besides the lengths of time. */
const GRANT_NAMES: OptionNames<Omit<AnyAcquireOptions, keyof LeaseOptions | "signal">> = {
  data: true,
  existingData: true,
  attributes: true,
  existingAttributes: true,
  keepData: true,
  onlyIfExists: true,
};

/** `Lock.acquire` and `Holdfast.import`. */
export const ACQUIRE_NAMES: OptionNames<AnyAcquireOptions> = {
  ...LEASE_NAMES,
  ...GRANT_NAMES,
  signal: true,
};

/** `Holdfast.mutex`, besides what is no default of an acquisition. */
export const DEFAULT_NAMES: OptionNames<Omit<AnyAcquireOptions, "signal">> = {
  ...LEASE_NAMES,
  ...GRANT_NAMES,
};
