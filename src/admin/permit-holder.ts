import type { AcquireContext } from "../core/acquire/context.js";
import { rising } from "../core/backoff.js";
import type { RecordRef } from "../core/record/format.js";
import { titleOf, unavailableError } from "../core/unavailable.js";
import { permitRefOf, permitsIn } from "../locks/inspect-permits.js";
import { retry } from "../platform/retry.js";
import { checkHolder } from "./release-holder.js";

const ATTEMPTS = 4;
const PAUSE_MS = 200;

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
  let left = ATTEMPTS;
  const send = () =>
    context.read({ key: ref.key, consistent: true }, context.settings.requestTimeoutMs);
  const retried = await retry(context, send, {
    backoff: rising(PAUSE_MS),
    onNoAnswer: (answer) => {
      left -= 1;
      if (left > 0) return;
      throw unavailableError(ref.name, "was not read", answer, titleOf([ref.name], ref.kind));
    },
  });
  if (retried.kind !== "answered") throw new Error("A read ends only after its attempts.");
  const permit = permitsIn(context, ref, retried.answer).find((one) => one.holder === holder);
  return permit && permitRefOf(context, ref, permit);
}
