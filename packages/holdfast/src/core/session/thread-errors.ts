import { HoldfastError } from "../../errors.js";
import { asSentence } from "../../internal/sentence.js";
import { valueText } from "../../internal/value-text.js";

/** The thread could not renew in a block, and the session has expired. `trouble` is text for the message. */
export function neverRenewed(session: string, trouble: string): HoldfastError {
  return new HoldfastError(
    "outcome-unknown",
    `Session ${session} has expired: DynamoDB acknowledged no renewal of its thread before the deadline${trouble}. Its ` +
      "locks are lost.",
  );
}

/** The thread has failed, and the main thread renews again. */
export function threadFailed(session: string, cause: unknown): HoldfastError {
  const why = cause instanceof Error ? cause.message : valueText(cause);
  return new HoldfastError(
    "outcome-unknown",
    `The thread that renews session ${session} failed: ${asSentence(why)} The main thread renews the session now, so ` +
      "a blocked event loop can lose its locks. The client starts another thread after a pause.",
    { cause },
  );
}
