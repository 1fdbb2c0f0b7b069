import { refuse } from "../../internal/option-names.js";
import type { AttributeCheck, LeaseFormat, QueueFormat } from "./format.js";

/**
 * What not every format supports, and not every program needs. The module of a capability has its code: a program carries
 * the code only if it imports a function that uses the capability.
 */
export interface Capability<C> {
  /** The name in messages. */
  readonly feature: string;
  /** Why a format may lack it. */
  readonly why: string;
  /** Why the native format may lack it. Default: {@link why}. */
  readonly whyNative?: string;
  /** Returns the capability of a format, or undefined if the format lacks it. Pure. */
  of(format: LeaseFormat): C | undefined;
}

/** The queue, which also keeps the waiters of a mutex from starving. */
export const QUEUE: Capability<QueueFormat> = {
  feature: "fair locks",
  why: "its other clients ignore the queue",
  whyNative: "the entries of the queue need a table with a sort key. See the option `keys`",
  of: ({ queue }) => queue,
};

export const ATTRIBUTES: Capability<AttributeCheck> = {
  feature: "the option `attributes`",
  why: "its records store only user data. Use the option `data`",
  of: ({ attributes }) => attributes,
};

/**
 * Returns a capability of the format. Throws `invalid-argument` if the format lacks it. `feature` names the feature in the
 * message.
 */
export function requireCapability<C>(
  format: LeaseFormat,
  capability: Capability<C>,
  feature: string = capability.feature,
): C {
  const found = capability.of(format);
  if (found !== undefined) return found;
  const { why, whyNative = why } = capability;
  throw refuse(
    `Format "${format.name}" does not support ${feature}: ${format.name === "native" ? whyNative : why}.`,
  );
}
