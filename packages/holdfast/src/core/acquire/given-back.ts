import { settlesWithin } from "../../internal/settles-within.js";
import type { RecordRef } from "../record/format.js";
import type { Acquisition } from "./settings.js";

/**
 * Lets this client give back what it only keeps, and waits for it, but no longer than for one request: if DynamoDB does not
 * answer, the steps that follow tell the caller.
 */
export async function untilGivenBack(
  { context, cancellation }: Pick<Acquisition, "context" | "cancellation">,
  refs: readonly RecordRef[],
): Promise<void> {
  const kept = refs.flatMap(({ id }) => context.localQueues.yields(id) ?? []);
  if (kept.length === 0) return;
  const stopped = new Promise<void>((resolve) => {
    cancellation.signal.addEventListener("abort", resolve);
  });
  const { requestTimeoutMs } = context.settings;
  await settlesWithin(context.timers, requestTimeoutMs, Promise.race([Promise.all(kept), stopped]));
}
