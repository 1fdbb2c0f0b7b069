import type { AcquireOptions } from "holdfast";
import { usageError } from "./output/exit-codes.js";

type Wait = NonNullable<AcquireOptions["wait"]>;

/** Reads the value of --wait. */
export function waitOf(text: string | undefined): Wait | undefined {
  if (text === "forever") return Number.POSITIVE_INFINITY;
  const beyondLease = /^lease\+(.+)$/.exec(text ?? "")?.[1];
  if (beyondLease !== undefined) return { beyondLease };
  return lengthOf(text);
}

/** Reads a length that may be 0, which the library takes as a number alone. */
export function lengthOf(text: string | undefined): string | number | undefined {
  return text === "0" ? 0 : text;
}

/** Refuses `--renew manual`. Throws a usage error. */
export function refuseManualRenewal(renew: string | undefined): void {
  if (renew !== "manual") return;
  throw usageError(
    "--renew must be a duration: manual renewal is not possible while a command runs.",
  );
}

/** The pauses between two polls of a watch. */
export const WATCH_POLL_RANGE = { leastMs: 50, mostMs: 24 * 3_600_000 };
