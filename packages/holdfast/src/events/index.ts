/**
 * The library's channels of `node:diagnostics_channel`, and the types of their messages. Each name is documented at its
 * definition.
 * @module
 */
export {
  type AcquireFailedEvent,
  type GrantEvent,
  LEASE_CHANNELS,
  type LeaseEvent,
  type LeaseRenewalEvent,
  type LeaseSubject,
  type LimitEvent,
  type LongHoldEvent,
  type LossEvent,
  type PlaceExpiredEvent,
  type PositionEvent,
  type ReleaseEvent,
  type RequestEvent,
  type WaitEvent,
} from "../core/events.js";
export type { Kind } from "../core/record/format.js";
export {
  ELECTION_CHANNELS,
  type LeadershipChange,
  type NoLeaderEvent,
  type RenewalEvent,
  type TaskRunEvent,
} from "../election/events.js";
