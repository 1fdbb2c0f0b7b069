import type { Event, Timed } from "../sim/history.js";

/**
 * Something that happened once, at an instant that is known only to lie between two stamps.
 *
 * All stamps are given by one process, the referee, which counts up by one with each: what has the
 * higher stamp was stamped later. No clock of a worker is ever compared with anything.
 */
export interface Span {
  /** A stamp from before it happened. */
  readonly from: number;
  /** A stamp from after it; the same as `from` for what has a role at one stamp only. */
  readonly to: number;
  /** When `to` was given, by the referee's clock, in milliseconds since it started. For people. */
  readonly atMs: number;
  readonly event: Event;
}

/**
 * Puts what is known as spans into one order that the checkers of the simulation can read.
 *
 * Messages are late, and a process may be stopped between what it does and what it tells of it. So a
 * history is only as sharp as its spans, and the order must not accuse anybody whom the spans do not:
 * of all orders in which every event lies within its span, this is the one in which fences grow most.
 * What that proves, kind by kind:
 *
 * - *acted*, *granted*: the worker asks the referee, waits for its answer, and only then asks the
 *   lease whether it is held. The stamp is the one given in between. As the act of a former holder it
 *   is early, since the lease was asked after it; as the act of a later one it is late, since the
 *   lease had been handed out before it. A worker that is stopped between the lease's answer and its
 *   message is therefore never accused, which is right: the library promises only that the question,
 *   asked after the deadline, is answered with no. That acts can come late is what fences are for.
 * - *record*: what an answer of the table shows of a record, between the request's leaving for the
 *   table and the answer's coming from it, whatever the network makes of that answer afterwards. A
 *   request that the table never answered is not in the history.
 * - *guarded*: a transaction with a holder's condition, in the same way; one that comes again, from
 *   when it came first, since a repetition is answered with success and not carried out again.
 * - *lost*, *released*, *gave up*: stamped when told. They are compared only with what the same
 *   process told, and one process's messages come in the order in which they were sent.
 */
export function inOrder(spans: readonly Span[]): Timed[] {
  const names = new Map<string, Span[]>();
  for (const span of spans) {
    const name = "name" in span.event ? span.event.name : "";
    const ofName = names.get(name);
    if (ofName === undefined) names.set(name, [span]);
    else ofName.push(span);
  }
  // Between names there is nothing to prove; they are mixed for whoever reads the history.
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
 * Of those that may come next, always the lowest fence. Where that puts a lower fence behind it that
 * could not yet come, some other that could only come before that one has a fence as high at least: and
 * whatever is done under a fence shows that it had been granted. Of one name: fences of two names say
 * nothing of each other, and one would be put too early for the sake of the other.
 */
function orderOf(spans: readonly Span[]): Span[] {
  const waiting = [...spans].sort((a, b) => a.from - b.from);
  const open: Span[] = [];
  const ordered: Span[] = [];
  let next = 0;
  while (next < waiting.length || open.length > 0) {
    // Whatever begins after the end of another comes after it; all the rest may come first.
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
