import type { Write } from "../../platform/table.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { Pacer } from "../pacer.js";
import type { QueueFormat, RecordRef } from "../record/format.js";
import type { QueueState } from "../record/record.js";

/** The largest ticket there can be: 38 digits are what DynamoDB's numbers hold exactly. */
export const LAST_TICKET = 10n ** 38n - 1n;

/**
 * Takes the next ticket from the record's own counter, in one write where none is lost; undefined where
 * there is no record. The answer is also an observation of the holder. A write whose answer was lost
 * leaves a number that nobody waits for, and nobody waits behind.
 *
 * A counter that was deleted with its record starts again, and may lie below the last ticket granted. A
 * second write then raises it above that ticket: there may be millions of numbers in between.
 */
export async function takeTicket(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  cancellation: Cancelling,
): Promise<bigint | undefined> {
  if (context.format.queue === undefined) return undefined;
  const pacer = new Pacer(context, settings);
  let served: bigint | undefined;
  while (!cancellation.isStopped) {
    const write = ticketAbove(context, ref, served);
    const answer = await context.write(
      write,
      context.settings.requestTimeoutMs,
      cancellation.signal,
    );
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "applied" || answer.kind === "refused") {
      cancellation.onResponse();
      const record = context.seeRecord(ref, answer.item, "strong");
      if (record.state === "absent") return undefined;
      const isPassed = isPassedOver(record.queue);
      if (answer.kind === "applied" && !isPassed) return record.queue.tail;
      served = isPassed ? record.queue.served : undefined;
      await pacer.beforeNextRound(cancellation.signal);
    } else {
      cancellation.onNoResponse(answer);
      if (settings.waitMs === 0) throw cancellation.error();
      await context.sleep(context.jittered(settings.minPollMs), cancellation.signal);
    }
  }
  throw cancellation.error();
}

/** The next ticket of the counter; or, where the counter was seen to lie below it, the one above `served`. */
function ticketAbove(context: AcquireContext, ref: RecordRef, served: bigint | undefined): Write {
  const queue = context.format.queue as QueueFormat;
  const wallMs = context.wallMs();
  if (served === undefined) return queue.take(ref, { wallMs });
  return queue.raise(ref, served + 1n, { wallMs, fenceSeed: context.fenceSeed(ref) });
}

/** Whether the last ticket given out can never be granted. */
function isPassedOver({ tail, served }: QueueState): boolean {
  return served !== undefined && tail !== undefined && tail <= served;
}
