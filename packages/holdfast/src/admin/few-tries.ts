import { rising } from "../core/backoff.js";
import type { ClientContext } from "../core/context.js";
import { type NoAnswer, retry, type Unanswered } from "../platform/retry.js";

/** How often an operator's request is sent at most, so that a command ends soon when the table does not answer. */
export const TRIES = 4;
const PAUSE_MS = 200;

/** Sends a request until it is answered, at most {@link TRIES} times. Then throws the error that `failed` returns. */
export async function fewTries<A extends { readonly kind: string }>(
  context: ClientContext,
  ask: () => Promise<A | Unanswered>,
  failed: (answer: NoAnswer) => Error,
): Promise<Exclude<A, Unanswered>> {
  let left = TRIES;
  const retried = await retry(context, ask, {
    backoff: rising(PAUSE_MS),
    onNoAnswer: (answer) => {
      left -= 1;
      if (left === 0) throw failed(answer);
    },
  });
  if (retried.kind !== "answered") throw new Error("A request ends only after its attempts.");
  return retried.answer;
}
