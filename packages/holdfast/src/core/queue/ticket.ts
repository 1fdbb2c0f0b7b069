import type { Write } from "../../platform/table.js";
import type { AcquireContext } from "../acquire/context.js";
import type { RecordAcquisition } from "../acquire/settings.js";
import { untilAnswered } from "../acquire/until-answered.js";
import { steady } from "../backoff.js";
import { Pacer } from "../pacer.js";
import { QUEUE, requireCapability } from "../record/capability.js";
import type { RecordRef } from "../record/format.js";
import type { QueueState } from "../record/record.js";
import { CLAIM } from "../table-access.js";

/** The largest ticket: DynamoDB's numbers hold 38 digits exactly. */
export const LAST_TICKET = 10n ** 38n - 1n;

/** Consecutive tickets. */
export interface Tickets {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Takes the next `count` tickets from the record's counter, in one request if no fault occurs. Resolves with undefined
 * if the record is absent. The answer also shows the holder. After an unacknowledged write, no waiter uses the tickets.
 *
 * After the deletion of the record the counter starts again, perhaps below the last granted ticket. A second write
 * then raises the counter above that ticket, because millions of numbers may lie in between.
 */
export async function takeTickets(
  acquisition: RecordAcquisition,
  count: number,
): Promise<Tickets | undefined> {
  const { context, ref, settings, cancellation } = acquisition;
  if (context.format.queue === undefined) return undefined;
  const pacer = new Pacer(context, settings);
  const pauseMs = settings.retryMs;
  const asking = { pauseMs, backoff: steady(pauseMs) };
  let served: bigint | undefined;
  while (!cancellation.isStopped) {
    const above = served;
    // Composed for each send: a process may sleep for days between two sends, and a dated write must be of now (R10).
    const answer = await untilAnswered(acquisition, asking, () => {
      const write = ticketsAbove(context, ref, count, above);
      return context.write(write, undefined, cancellation.signal, CLAIM);
    });
    const record = context.seeRecord(ref, answer, "strong");
    if (record.state === "absent") return undefined;
    const tickets = lastTickets(record.queue, count);
    const isPassed = isPassedOver(record.queue, tickets);
    if (answer.kind === "applied" && !isPassed) return tickets;
    served = isPassed ? record.queue.served : undefined;
    await pacer.beforeNextRound(cancellation.signal);
  }
  throw cancellation.error();
}

/** Returns the write for the next tickets, or for the tickets above `served` if the counter is behind. */
function ticketsAbove(
  context: AcquireContext,
  ref: RecordRef,
  count: number,
  served: bigint | undefined,
): Write {
  const queue = requireCapability(context.format, QUEUE);
  const wallMs = context.wallMs();
  if (served === undefined) return queue.take(ref, count, { wallMs });
  const last = served + BigInt(count);
  return queue.raise(ref, last, { wallMs, fenceSeed: context.fenceSeed(ref) });
}

function lastTickets({ tail }: QueueState, count: number): Tickets | undefined {
  return tail === undefined ? undefined : { first: tail - BigInt(count) + 1n, last: tail };
}

/** Whether a ticket can never be granted. */
function isPassedOver({ served }: QueueState, tickets: Tickets | undefined): boolean {
  return served !== undefined && tickets !== undefined && tickets.first <= served;
}
