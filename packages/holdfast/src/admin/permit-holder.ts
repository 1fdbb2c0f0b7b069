import type { AcquireContext } from "../core/acquire/context.js";
import type { RecordRef } from "../core/record/format.js";
import { titleOf, unavailableError } from "../core/unavailable.js";
import { permitRefOf, permitsIn } from "../locks/inspect-permits.js";
import { fewTries } from "./few-tries.js";
import { checkHolder } from "./release-holder.js";

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
