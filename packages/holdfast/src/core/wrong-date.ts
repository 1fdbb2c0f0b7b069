import { HoldfastError } from "../errors.js";
import type { AheadDate } from "./table-clock.js";

/** Returns the error for an answer whose `Date` was ahead. It is not about a single lock, so it has no `lockName`. */
export function wrongDate({ aheadMs, isConfirmed }: AheadDate): HoldfastError {
  const byText = `${Math.round(aheadMs / 1_000)} s`;
  return new HoldfastError(
    "misconfigured",
    isConfirmed
      ? `Two successive answers of DynamoDB had a \`Date\` ${byText} later than this machine's clocks allow. Leases that ` +
          "ended before it are lost. All clocks of this machine stood still, as after a snapshot, or that of DynamoDB " +
          "or a proxy stepped."
      : `An answer of DynamoDB had a \`Date\` ${byText} later than those before and after it allow. The client ` +
          "ignored it: no lease ended, no takeover began. Find that server or proxy.",
  );
}
