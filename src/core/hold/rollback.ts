import { sleep } from "../../internal/sleep.js";
import type { ClientContext } from "../context.js";
import type { Holders, RecordRef } from "../record/format.js";
import { freeOnce } from "./release.js";

/** A write that might have granted, and was given up without an answer. */
export interface AbandonedGrant {
  /** The id that it would have made the holder. */
  readonly attempt: string;
  /** The lease that it would have made, in milliseconds. */
  readonly leaseMs: number;
  /** The holder that it was going to replace, dead or nobody; undefined for a claim. */
  readonly replaced: Holders | undefined;
  /** How many sends of it were not answered: each of a claim's can be applied once. */
  readonly sends: number;
  readonly minPollMs: number;
}

/**
 * Makes a given-up grant fail for ever, or undoes it, in the background (R14). A takeover names what
 * it replaces, so one answered request settles it. A claim may still be on its way, and nothing can be
 * written that it would not accept; so it is looked for with growing pauses, for as long as a lease.
 */
export function rollBack(context: ClientContext, ref: RecordRef, given: AbandonedGrant): void {
  context.abandon(given.attempt);
  const from = { ...given.replaced, maybe: [given.attempt] };
  context.inBackground(async () => {
    const untilMs = context.nowMs() + given.leaseMs;
    let pauseMs = given.minPollMs;
    let landed = 0;
    do {
      const answer = await freeOnce(context, ref, from, true);
      if (answer.kind === "misconfigured") return;
      if (answer.kind === "applied") landed += 1;
      const isAnswered = answer.kind === "applied" || answer.kind === "refused";
      if ((isAnswered && given.replaced !== undefined) || landed === given.sends) return;
      await sleep(context.timers, context.jittered(pauseMs), false, context.closing);
      pauseMs *= 2;
    } while (context.nowMs() < untilMs && !context.closing.aborted);
  });
}
