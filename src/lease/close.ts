import { setMaxListeners } from "node:events";
import { HoldfastError } from "../errors.js";
import { sleep } from "../internal/sleep.js";
import type { Hold } from "./hold.js";
import type { Kernel } from "./kernel.js";
import { freeOnce } from "./pass-on.js";

const RETRY_MS = 100;

/**
 * Ends everything that a client has: waiters, leases, and its work in the background. All leases are
 * released in parallel, for at most the close timeout. Throws one error that lists each failure.
 */
export async function closeAll(kernel: Kernel): Promise<void> {
  kernel.beginClosing();
  const holds = [...kernel.holds];
  for (const hold of holds) hold.end("closed");
  const bound = new AbortController();
  setMaxListeners(0, bound.signal);
  const over = aborted(bound.signal);
  const { closeTimeoutMs } = kernel.settings;
  const timeUp = sleep(kernel.timers, closeTimeoutMs, true, bound.signal).then(() => undefined);
  const freed = Promise.all(holds.map((hold) => freeUntil(hold, bound.signal, over)));
  try {
    await Promise.race([Promise.all([freed, kernel.idle()]), timeUp]);
  } finally {
    bound.abort();
  }
  const errors = (await freed).filter((error) => error !== undefined);
  if (errors.length > 0) throw unreleased(errors, holds.length);
}

/** Releases one lease; answers why it could not be told whether it is released. Never rejects. */
async function freeUntil(
  hold: Hold,
  bound: AbortSignal,
  over: Promise<undefined>,
): Promise<HoldfastError | undefined> {
  const { kernel, ref, held, settings } = hold;
  let cause: unknown;
  while (!bound.aborted) {
    const from = { known: held, maybe: [] };
    const freeing = hold.requests.run(() => freeOnce(kernel, ref, from, settings.keepData));
    const answer = await Promise.race([freeing, over]);
    if (answer === undefined) break;
    if (answer.kind === "applied" || answer.kind === "refused") return undefined;
    cause = answer.kind === "misconfigured" ? answer.error : answer.cause;
    if (answer.kind === "misconfigured") break;
    await sleep(kernel.timers, kernel.jittered(RETRY_MS), true, bound);
  }
  return new HoldfastError(
    "outcome-unknown",
    `Nobody answered whether lock "${ref.name}" was released. ` +
      "It is free, or will be when its lease has run out; there is nothing to do.",
    { lockName: ref.name, cause },
  );
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

function unreleased(errors: readonly HoldfastError[], held: number): HoldfastError {
  const names = errors.map((error) => `"${error.lockName}"`);
  const shown = names.slice(0, 10).join(", ") + (names.length > 10 ? ", ..." : "");
  return new HoldfastError(
    "outcome-unknown",
    `The client is closed, but of ${errors.length} of its ${held} locks nobody answered whether they ` +
      `were released: ${shown}. They are free, or will be when their leases have run out.`,
    { errors, cause: errors[0]?.cause },
  );
}
