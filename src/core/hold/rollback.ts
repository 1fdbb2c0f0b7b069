import { sleep } from "../../internal/sleep.js";
import type { Holders, RecordRef } from "../record/format.js";
import type { Kernel } from "../context.js";
import { freeOnce } from "./release.js";

/** A write that might have granted, and was given up without an answer. */
export interface GivenUp {
  /** The id that it would have made the holder. */
  readonly attempt: string;
  /** The lease that it would have made, in milliseconds. */
  readonly leaseMs: number;
  /** The holder that it was going to replace, dead or nobody; undefined for a claim. */
  readonly replaced: Holders | undefined;
  /** How many sends of it were not answered: each of a claim's can be applied once. */
  readonly sends: number;
  readonly fastestPollMs: number;
}

/**
 * Makes a given-up grant fail for ever, or undoes it, in the background (R14). A takeover names what
 * it replaces, so one answered request settles it. A claim may still be on its way, and nothing can be
 * written that it would not accept; so it is looked for with growing pauses, for as long as a lease.
 */
export function neutralise(kernel: Kernel, ref: RecordRef, given: GivenUp): void {
  kernel.abandon(given.attempt);
  const from = { ...given.replaced, maybe: [given.attempt] };
  kernel.inBackground(async () => {
    const untilMs = kernel.nowMs() + given.leaseMs;
    let pauseMs = given.fastestPollMs;
    let landed = 0;
    do {
      const answer = await freeOnce(kernel, ref, from, true);
      if (answer.kind === "misconfigured") return;
      if (answer.kind === "applied") landed += 1;
      const isAnswered = answer.kind === "applied" || answer.kind === "refused";
      if ((isAnswered && given.replaced !== undefined) || landed === given.sends) return;
      await sleep(kernel.timers, kernel.jittered(pauseMs), false, kernel.closing);
      pauseMs *= 2;
    } while (kernel.nowMs() < untilMs && !kernel.closing.aborted);
  });
}
