import type { Event, Timed } from "../sim/history.js";

/**
 * An event which happened once, at an unknown instant between two stamps.
 *
 * One process, the referee, assigns all stamps and counts up by one with each: a higher stamp is a later stamp. A
 * worker's clock is never compared with anything.
 */
export interface Span {
  /** A stamp from before the event. */
  readonly from: number;
  /** A stamp from after the event; equal to `from` if only one stamp matters. */
  readonly to: number;
  /** The time of `to` on the referee's clock, in milliseconds since the start. For people. */
  readonly atMs: number;
  readonly event: Event;
}

/**
 * Puts spans into one order which the simulation's checkers can read.
 *
 * Messages are late, and a process may be paused between an act and its message. A history is only as precise as its
 * spans, and the order must not accuse a process without evidence: among all orders in which every event lies within
 * its span, this order has the most growing fences. What each kind of event proves:
 *
 * - *acted*, *granted*: the worker asks the referee, waits for the answer, and only then checks its lease. The stamp
 *   lies between the two. As the act of a former holder the stamp is early, since the worker checked the lease after
 *   it; as the act of a later holder it is late, since the lease had been handed out before. So a worker which is
 *   paused between the check and its message is never accused. This is correct: the library only promises that a
 *   check after the deadline answers no. Fences exist because acts can come late.
 * - *record*: the state of a record in an answer of the table, between the arrival of the request at the table and
 *   the departure of the answer, whatever the network does to the answer afterwards. A request without an answer from
 *   the table is not in the history.
 * - *guarded*: a transaction with a holder's condition, in the same way; a repeated transaction from its first
 *   arrival, since the table answers a repetition with success and does not carry it out again.
 * - *lost*, *released*, *gave up*: stamped on arrival of the message. They are compared only with messages of the
 *   same process, which arrive in order.
 */
export function inOrder(spans: readonly Span[]): Timed[] {
  const names = new Map<string, Span[]>();
  for (const span of spans) {
    const name = "name" in span.event ? span.event.name : "";
    const ofName = names.get(name);
    if (ofName === undefined) names.set(name, [span]);
    else ofName.push(span);
  }
  // Nothing is to be proved between names; they are mixed for the readers of the history.
  const placed = [...names.values()].flatMap((ofName) => {
    let latest = 0;
    return orderOf(ofName).map((span) => {
      latest = Math.max(latest, span.from);
      return { span, latest };
    });
  });
  placed.sort((a, b) => a.latest - b.latest);
  return placed.map(({ span }) => ({ ...span.event, atMs: span.atMs }));
}

/**
 * Picks, among the events which may come next, always the lowest fence. A still lower fence may come later. Then some
 * event which must precede this lower fence has a fence at least as high as the picked event, and any event with a
 * fence shows that the fence was granted. Only within one name: fences of two names are unrelated, and would put
 * events too early.
 */
function orderOf(spans: readonly Span[]): Span[] {
  const waiting = [...spans].sort((a, b) => a.from - b.from);
  const open: Span[] = [];
  const ordered: Span[] = [];
  let next = 0;
  while (next < waiting.length || open.length > 0) {
    // An event which begins after the end of another event comes later; any of the rest may come first.
    let endOfFirst = Math.min(...open.map(({ to }) => to));
    for (
      let span = waiting[next];
      span !== undefined && span.from <= endOfFirst;
      span = waiting[next]
    ) {
      open.push(span);
      endOfFirst = Math.min(endOfFirst, span.to);
      next += 1;
    }
    const first = open.reduce((least, span) => (fenceOf(span) < fenceOf(least) ? span : least));
    open.splice(open.indexOf(first), 1);
    ordered.push(first);
  }
  return ordered;
}

function fenceOf({ event }: Span): bigint {
  return "fence" in event ? event.fence : -1n;
}
