import type { AcquireContext } from "../core/acquire/context.js";
import { freeOnce } from "../core/hold/release.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import { isReadable, type LeaseRecord } from "../core/record/record.js";
import { type Unavailable, unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import type { InspectOptions } from "./list.js";

/** Options of `Holdfast.release`. */
export type ReleaseByHolderOptions = Pick<InspectOptions, "namespace">;

const ATTEMPTS = 4;
const PAUSE_MS = 200;

/**
 * Frees the record if it names this holder, whichever process that is. Safe to repeat: the id is in
 * one grant only. Answers whether the record named it.
 */
export async function releaseByHolder(
  context: AcquireContext,
  ref: RecordRef,
  holder: string,
): Promise<boolean> {
  if (typeof holder !== "string" || holder === "") {
    throw new HoldfastError(
      "invalid-argument",
      "A lock is released by its holder id: `lease.holder`, or what inspect() shows.",
    );
  }
  // As a release of its own would: in some formats another deletes what its clients keep in the record.
  const keepData = context.format.defaults?.keepData ?? false;
  let trouble: Unavailable | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const answer = await freeOnce(context, ref, { maybe: [holder] }, keepData);
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "applied") return true;
    if (answer.kind === "refused") {
      const found = context.format.read(answer.item);
      // After an attempt that nobody answered: it may be that one which freed the record.
      return attempt > 1 && isReadable(found) && isFreeOf(found, holder, context.format);
    }
    trouble = answer;
    await context.sleep(context.jittered(PAUSE_MS * attempt));
  }
  throw unavailableError(ref.name, "may not have been released", trouble as Unavailable);
}

// A format whose release deletes the record leaves nothing that could tell who freed it.
function isFreeOf(found: LeaseRecord, holder: string, format: LeaseFormat): boolean {
  if (found.state === "absent") return format.deletes === true;
  return found.state === "free" && found.lastHolder === holder;
}
