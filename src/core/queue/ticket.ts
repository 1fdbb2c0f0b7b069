import { retry } from "../../platform/retry.js";
import type { Write } from "../../platform/table.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { steady } from "../backoff.js";
import { Pacer } from "../pacer.js";
import { requireCapability } from "../record/capability.js";
import type { RecordRef } from "../record/format.js";
import type { QueueState } from "../record/record.js";

/** The largest ticket: DynamoDB's numbers hold 38 digits exactly. */
export const LAST_TICKET = 10n ** 38n - 1n;

/**
 * Takes the next ticket from the record's counter, in one request without faults. Resolves with undefined if the record
 * is absent. The answer also shows the holder. An unacknowledged write leaves a number without a waiter, and delays no
 * waiter.
 *
 * After the deletion of the record the counter starts again, perhaps below the last granted ticket. A second write
 * then raises the counter above that ticket, because millions of numbers may lie in between.
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
    const answer = await askForTicket(context, ref, served, settings, cancellation);
    const record = context.seeRecord(ref, answer, "strong");
    if (record.state === "absent") return undefined;
    const isPassed = isPassedOver(record.queue);
    if (answer.kind === "applied" && !isPassed) return record.queue.tail;
    served = isPassed ? record.queue.served : undefined;
    await pacer.beforeNextRound(cancellation.signal);
  }
  throw cancellation.error();
}

/** Sends one write until DynamoDB answers. For an acquisition without a wait, sends the write only once. */
async function askForTicket(
  context: AcquireContext,
  ref: RecordRef,
  served: bigint | undefined,
  settings: AcquireSettings,
  cancellation: Cancelling,
) {
  const { signal } = cancellation;
  const send = () =>
    context.write(
      ticketAbove(context, ref, served),
      context.settings.requestTimeoutMs,
      cancellation.signal,
    );
  const retried = await retry(context, send, {
    backoff: steady(settings.minPollMs),
    isOver: () => cancellation.isStopped,
    signal,
    onNoAnswer: (answer) => {
      cancellation.onNoResponse(answer);
      if (settings.waitMs === 0) throw cancellation.error();
    },
  });
  if (retried.kind !== "answered") throw cancellation.error();
  cancellation.onResponse();
  return retried.answer;
}

/** Returns the write for the next ticket, or for the ticket above `served` if the counter is behind. */
function ticketAbove(context: AcquireContext, ref: RecordRef, served: bigint | undefined): Write {
  const queue = requireCapability(context.format, "queue");
  const wallMs = context.wallMs();
  if (served === undefined) return queue.take(ref, { wallMs });
  return queue.raise(ref, served + 1n, { wallMs, fenceSeed: context.fenceSeed(ref) });
}

/** Whether the last ticket can never be granted. */
function isPassedOver({ tail, served }: QueueState): boolean {
  return served !== undefined && tail !== undefined && tail <= served;
}
