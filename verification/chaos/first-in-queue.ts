/** When a process that no fault hindered stood first in the queue of the semaphore. Only such a process can take over. */

/** A change of a queue: the ticket of a place, and the waiting process. */
interface PlaceChange {
  readonly kind: "place";
  readonly by: string;
  readonly ticket: string;
  readonly isThere: boolean;
}

/** A fault of a process, from its notice until `untilMs`. */
interface Hindrance {
  readonly kind: "hindered";
  readonly by: string;
  readonly untilMs: number;
}

/** What decides who can take over. */
export type QueueEvent = PlaceChange | Hindrance;

type Noted = QueueEvent & { readonly atMs: number };

/** A time from which on the answer is `isFree`, up to the next one. */
interface Turn {
  readonly fromMs: number;
  readonly isFree: boolean;
}

/** Returns a function that sums the milliseconds between two times in which an unhindered process stood first. */
export function timeWithFirst(noted: readonly Noted[]): (fromMs: number, toMs: number) => number {
  const turns = turnsIn(noted);
  return (fromMs, toMs) =>
    turns.reduce((sum, { fromMs: begin, isFree }, index) => {
      const end = turns[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
      const both = Math.min(end, toMs) - Math.max(begin, fromMs);
      return isFree && both > 0 ? sum + both : sum;
    }, 0);
}

function turnsIn(noted: readonly Noted[]): Turn[] {
  const hinderedUntilMs = new Map<string, number>();
  const places = new Map<string, string>();
  const ends = noted.flatMap((one) => (one.kind === "hindered" ? [{ atMs: one.untilMs }] : []));
  // The sort keeps the order of equal times, and the end of a hindrance changes nothing but the time.
  const events = [...noted, ...ends].sort((a, b) => a.atMs - b.atMs);
  return events.map((event) => {
    if ("kind" in event) {
      if (event.kind === "hindered") {
        const known = hinderedUntilMs.get(event.by) ?? 0;
        hinderedUntilMs.set(event.by, Math.max(known, event.untilMs));
      } else if (event.isThere) places.set(event.ticket, event.by);
      else places.delete(event.ticket);
    }
    const first = [...places.keys()].sort()[0];
    const by = first === undefined ? undefined : places.get(first);
    const isFree = by !== undefined && (hinderedUntilMs.get(by) ?? 0) <= event.atMs;
    return { fromMs: event.atMs, isFree };
  });
}
