import type { AcquireContext } from "../core/acquire/context.js";
import { freeOnce } from "../core/hold/release.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import { isReadable, type LeaseRecord } from "../core/record/record.js";
import { titleOf, unavailableError } from "../core/unavailable.js";
import { refuse } from "../internal/option-names.js";
import { permitRefOf, permitsIn } from "../locks/inspect-permits.js";
import { fewTries } from "./few-tries.js";
import type { InspectOptions } from "./kinds.js";

/** Options of `Admin.releaseByHolder`. */
export type ReleaseByHolderOptions = Pick<InspectOptions, "namespace">;

/**
 * Frees the record if the record names this holder. The holder can be in any process.
 *
 * Returns whether the record named this holder. A caller can repeat the call safely, because an id belongs to a single
 * grant.
 */
export async function freeOfHolder(
  context: AcquireContext,
  ref: RecordRef,
  holder: string,
): Promise<boolean> {
  checkHolder(ref, holder);
  // The holder's own release has the same default. In some formats another value would delete data of the format's
  // clients.
  const keepData = context.format.facts.defaults?.keepData ?? false;
  let sent = 0;
  const send = () => {
    sent += 1;
    return freeOnce(context, ref, { maybe: [holder] }, { keepData });
  };
  const title = titleOf([ref.name], ref.kind);
  const answer = await fewTries(context, send, (last) =>
    unavailableError(ref.name, "may not have been released", last, title),
  );
  if (answer.kind === "applied") return true;
  const found = context.format.codec.read(answer.item, ref);
  // An earlier attempt without an answer, also one by the SDK, may have freed the record.
  const mayBeOwn = sent > 1 || answer.isRepeated === true;
  return mayBeOwn && isReadable(found) && isFreeOf(found, holder, ref, context.format);
}

/**
 * Finds the permit of a holder in a record, by one strongly consistent read. Resolves with undefined if the record does not
 * have the permit. The weight of a permit never changes, so the ref stays valid. Throws coded errors.
 */
export async function permitOfHolder(
  context: AcquireContext,
  ref: RecordRef,
  holder: string,
): Promise<RecordRef | undefined> {
  checkHolder(ref, holder);
  const found = await fewTries(
    context,
    () => context.read({ key: ref.key, consistent: true }),
    (answer) => unavailableError(ref.name, "was not read", answer, titleOf([ref.name], ref.kind)),
  );
  const permit = permitsIn(context, ref, found).find((one) => one.holder === holder);
  return permit && permitRefOf(context, ref, permit);
}

/** Checks the id of a holder. Throws `invalid-argument`. */
function checkHolder({ name, kind }: RecordRef, holder: unknown): void {
  if (typeof holder === "string" && holder !== "") return;
  throw refuse(
    `The holder id of ${kind} "${name}" must be a string that is not empty. Pass ` +
      "`lease.holder`, or the holder from inspect().",
  );
}

// If the format's releases can delete the record, an absent record counts as freed: nothing shows which client deleted
// the record.
function isFreeOf(
  found: LeaseRecord,
  holder: string,
  ref: RecordRef,
  format: LeaseFormat,
): boolean {
  // The client has just read this permit, and no grant uses its id again. So this call has freed the permit.
  if (ref.permit !== undefined) return found.state === "free";
  if (found.state === "absent") return format.facts.releaseMayDelete;
  // Only a release sets `lastHolder`, and the next grant keeps it.
  return found.lastHolder === holder;
}
