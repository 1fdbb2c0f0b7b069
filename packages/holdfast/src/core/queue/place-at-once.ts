import type { AcquireContext } from "../acquire/context.js";
import { GrantManyWrite } from "../acquire/grant-many.js";
import type { Acquisition } from "../acquire/settings.js";
import { inTurn } from "../acquire/turn.js";
import { QUEUE, requireCapability } from "../record/capability.js";
import type { RecordRef } from "../record/format.js";
import { entrySettings, QueuePlace } from "./place.js";
import type { Tickets } from "./ticket.js";

const ONTO_ABSENT = {
  before: { state: "absent" },
  decision: { kind: "claim", onto: { kind: "absent" } },
} as const;

/**
 * Takes these tickets in the queues of all records, and creates the entries, in one transaction. So no other waiter can
 * see the tickets as taken and the entries as absent. Resolves with undefined if DynamoDB refuses the transaction, for
 * example because another waiter took a higher ticket meanwhile. The refusal shows the higher ticket. `waiters`: the number
 * that the entries store.
 */
export async function placesAtOnce(
  { context, settings, cancellation }: Acquisition,
  refs: readonly RecordRef[],
  tickets: Tickets,
  waiters = Number(tickets.last - tickets.first) + 1,
): Promise<QueuePlace[] | undefined> {
  const queue = requireCapability(context.format, QUEUE);
  const { last } = tickets;
  const wallMs = context.wallMs();
  const asides = refs.map((ref) => {
    const fenceSeed = context.fenceSeed(ref);
    return { ref, write: queue.raise(ref, last, { fenceSeed, wallMs }) };
  });
  const parts = refs.map((ref) => ({ ref: queue.entryOf(ref, last), ...ONTO_ABSENT }));
  const own = entrySettings(settings, waiters);
  const acquisition = { context, settings: own, cancellation };
  const answer = await inTurn(acquisition, (turn) =>
    new GrantManyWrite(acquisition, parts, turn, asides).run(),
  );
  if (answer.kind !== "granted") return undefined;
  return answer.results.map(
    (result, index) => new QueuePlace(context, parts[index]?.ref as RecordRef, tickets, result),
  );
}

/** Returns the highest ticket that this client has observed as taken or granted in these queues. */
export function highestTicketSeen(
  context: AcquireContext,
  refs: readonly RecordRef[],
): bigint | undefined {
  let highest: bigint | undefined;
  for (const { id } of refs) {
    const { tail, served } = context.observations.known(id)?.queue ?? {};
    // Checks granted tickets, too: a counter that was deleted with its record restarts, maybe below the last granted
    // ticket.
    for (const seen of [tail, served]) {
      if (seen !== undefined && (highest === undefined || seen > highest)) highest = seen;
    }
  }
  return highest;
}
