import type { Capability } from "../core/record/capability.js";
import type { SessionWrites } from "../core/record/format.js";
import { changeCondition, renewalChange, withSet } from "./native.js";
import { expiresAt, heldCondition, keysOf, n, s } from "./native-conditions.js";

/** Leases that a session keeps alive, in place of their own renewals. */
export const SESSIONS: Capability<SessionWrites> = {
  feature: "sessions",
  why: "its records cannot name a session, so every lock renews its own record",
  of: (format) => (keysOf(format) === undefined ? undefined : nativeSessions),
};

const nativeSessions: SessionWrites = {
  moveTo: (ref, held, renewal, session) => ({
    key: ref.key,
    condition: changeCondition(held, renewal),
    // The session's own record has the end.
    change: withSet(renewalChange(held, { ...renewal, endMs: undefined }), {
      leaseMs: n(renewal.leaseMs),
      session: s(session),
    }),
  }),
  keepFromExpiring: (ref, held, { wallMs, leaseMs }) => ({
    key: ref.key,
    condition: ref.shared?.heldCondition(held) ?? heldCondition(held),
    change: { set: { expiresAt: expiresAt(wallMs, leaseMs) }, remove: [] },
  }),
};
