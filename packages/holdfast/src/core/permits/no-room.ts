import { HoldfastError, isHoldfastError } from "../../errors.js";
import { asSentence } from "../../internal/sentence.js";
import { retryAfterMs } from "../acquire/holder-seen.js";
import type { AcquireSettings } from "../acquire/settings.js";
import type { AbsentRecord, SharedRecord } from "../record/permits.js";
import type { RecordRef } from "../record/ref.js";
import { titleOf } from "../unavailable.js";
import type { Wish } from "./wish.js";

/** Whether DynamoDB refused a write because the record would pass its size limit. */
export function isTooLarge(error: unknown): error is HoldfastError {
  return isHoldfastError(error, "misconfigured") && /item size|400 KB/i.test(error.message);
}

/** The error of an acquisition without a wait that got no permit. */
export function noRoom(
  { name, kind }: Pick<RecordRef, "name" | "kind">,
  why: string,
  settings: AcquireSettings,
): HoldfastError {
  return new HoldfastError(
    "not-acquired",
    `${titleOf([name], kind)} was not acquired (\`wait\` is 0): ${asSentence(why)}`,
    { lockName: name, retryAfterMs: retryAfterMs(undefined, settings) },
  );
}

/** Says who leaves no room for a permit, for a message. Undefined if the record was not seen, or has room. Pure. */
export function whyNoRoom(
  { kind }: Pick<RecordRef, "kind">,
  seen: AbsentRecord | SharedRecord | undefined,
  { weight, limit: own }: Pick<Wish, "weight" | "limit">,
): string | undefined {
  if (seen?.state !== "shared") return undefined;
  const { used, permits, limit = own } = seen;
  if (used + weight <= limit) return undefined;
  if (kind === "semaphore") {
    const holders = permits.length === 1 ? "1 holder" : `${permits.length} holders`;
    return `${used} of its ${limit} permits are in use, by ${holders}`;
  }
  const [first] = permits;
  const owner = first?.owner ?? "without a label";
  if (first?.weight === limit) return `a writer holds it (${owner})`;
  return permits.length === 1
    ? `a reader holds it (${owner})`
    : `${permits.length} readers hold it`;
}
