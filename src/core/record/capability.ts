import { HoldfastError } from "../../errors.js";
import type { LeaseFormat } from "./format.js";

/** The optional groups of a format: a format has a group only if its records support the feature. */
type Capability =
  | "sessions"
  | "queue"
  | "history"
  | "requests"
  | "transfers"
  | "attributes"
  | "permits";

/** The names of the capabilities in messages, and why a format may lack them. */
const LACKING: Readonly<Record<Capability, { readonly feature: string; readonly why: string }>> =
  /* @__PURE__ */ Object.freeze({
    sessions: {
      feature: "sessions",
      why: "its records cannot name a session, so every lock renews its own record",
    },
    queue: { feature: "fair locks", why: "its other clients ignore the queue" },
    history: {
      feature: "history",
      why: "it needs native records, and a table with a sort key",
    },
    requests: {
      feature: "requests to a holder",
      why: "its records cannot store a request",
    },
    transfers: {
      feature: "transfers",
      why: "its other clients ignore the reservation of a lock for an importer",
    },
    permits: {
      feature: "semaphores and read-write locks",
      why: "they need native records, and a table with a sort key",
    },
    attributes: {
      feature: "the option `attributes`",
      why: "its records store only user data. Use the option `data`",
    },
  });

/**
 * Returns a group of the format. Throws `invalid-argument` if the format lacks the group. `feature` names the feature
 * in the message.
 */
export function requireCapability<C extends Capability>(
  format: LeaseFormat,
  capability: C,
  feature: string = LACKING[capability].feature,
): NonNullable<LeaseFormat[C]> {
  const group = format[capability];
  if (group !== undefined) return group;
  const isNativeQueue = capability === "queue" && format.name === "native";
  const why = isNativeQueue
    ? "the entries of the queue need a table with a sort key. See the option `keys`"
    : LACKING[capability].why;
  throw new HoldfastError(
    "invalid-argument",
    `Format "${format.name}" does not support ${feature}: ${why}.`,
  );
}
