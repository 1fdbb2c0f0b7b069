import type { AcquireContext } from "../core/acquire/context.js";
import { rising } from "../core/backoff.js";
import { freeOnce } from "../core/hold/release.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import { isReadable, type LeaseRecord } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { type NoAnswer, retry } from "../platform/retry.js";
import type { InspectOptions } from "./list.js";

/** Options of `Admin.releaseByHolder`. */
export type ReleaseByHolderOptions = Pick<InspectOptions, "namespace">;

const ATTEMPTS = 4;
const PAUSE_MS = 200;

/**
 * Frees the record if the record names this holder. The holder can be in any process.
 *
 * Returns whether the record named this holder. A caller can repeat the call safely, because an id belongs to a single
 * grant.
 */
export async function releaseByHolder(
  context: AcquireContext,
  ref: RecordRef,
  holder: string,
): Promise<boolean> {
  if (typeof holder !== "string" || holder === "") {
    throw new HoldfastError(
      "invalid-argument",
      `The holder id of lock "${ref.name}" must be a string that is not empty. Pass \`lease.holder\`, or the ` +
        "holder from inspect().",
    );
  }
  // The holder's own release has the same default. In some formats another value would delete data of the format's
  // clients.
  const keepData = context.format.facts.defaults?.keepData ?? false;
  let unanswered = 0;
  let trouble: NoAnswer | undefined;
  const send = () => freeOnce(context, ref, { maybe: [holder] }, { keepData });
  const retried = await retry(context, send, {
    backoff: rising(PAUSE_MS),
    isOver: () => unanswered === ATTEMPTS,
    onNoAnswer: (answer) => {
      unanswered += 1;
      trouble = answer;
    },
  });
  if (retried.kind !== "answered")
    throw unavailableError(ref.name, "may not have been released", trouble as NoAnswer);
  const { answer } = retried;
  if (answer.kind === "applied") return true;
  const found = context.format.codec.read(answer.item);
  // An earlier attempt without an answer may have freed the record.
  return unanswered > 0 && isReadable(found) && isFreeOf(found, holder, context.format);
}

// If the format's releases can delete the record, an absent record counts as freed: nothing shows which client deleted
// the record.
function isFreeOf(found: LeaseRecord, holder: string, format: LeaseFormat): boolean {
  if (found.state === "absent") return format.facts.releaseMayDelete;
  return found.state === "free" && found.lastHolder === holder;
}
