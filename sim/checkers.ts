import type { Timed, Violation } from "./history.js";

/** One invariant, checked over a whole history. Pure. */
export type Checker = (history: readonly Timed[]) => Violation[];

type OfName = Extract<Timed, { readonly name: string; readonly fence: bigint }>;

function perName(
  history: readonly Timed[],
  check: (name: string, events: readonly OfName[]) => Violation[],
): Violation[] {
  const names = new Map<string, OfName[]>();
  for (const event of history) {
    if (!("fence" in event)) continue;
    const events = names.get(event.name) ?? [];
    events.push(event);
    names.set(event.name, events);
  }
  return [...names].flatMap(([name, events]) => check(name, events));
}

/**
 * Exclusion, by true time: once a holder was handed the lock, no holder of a lower fence acts, though
 * it asked its own clocks right before.
 */
export const exclusion: Checker = (history) =>
  perName(history, (name, events) => {
    let highest = -1n;
    const found: Violation[] = [];
    for (const { kind, fence, by, atMs } of events) {
      if (kind !== "granted" && kind !== "acted") continue;
      if (fence < highest) {
        const what = `${by} ${kind} on "${name}" with fence ${fence} after ${highest} was granted`;
        found.push({ invariant: "exclusion", atMs, what });
      } else highest = fence;
    }
    return found;
  });

/**
 * The fence strictly grows with every grant that the table applied. One holder can be granted twice: a
 * first claim that lands late, after its own release, is a new grant with a new fence (R14).
 */
export const fenceOrder: Checker = (history) =>
  perName(history, (name, events) => {
    let last = -1n;
    let lastHolder: string | undefined;
    const found: Violation[] = [];
    for (const event of events) {
      if (event.kind !== "record" || event.holder === undefined) continue;
      if (event.fence < last || (event.fence === last && event.holder !== lastHolder)) {
        const what = `the fence of "${name}" went from ${last} to ${event.fence} (${event.by})`;
        found.push({ invariant: "fence order", atMs: event.atMs, what });
      }
      last = event.fence;
      lastHolder = event.holder;
    }
    return found;
  });

/** A transaction with a holder's condition is never carried out after a later grant. */
export const guardedWrites: Checker = (history) =>
  perName(history, (name, events) => {
    let highest = -1n;
    const found: Violation[] = [];
    for (const event of events) {
      if (event.kind === "record" && event.holder !== undefined && event.fence > highest) {
        highest = event.fence;
      }
      if (event.kind === "guarded" && event.isApplied && event.fence < highest) {
        const what = `a write of fence ${event.fence} on "${name}" was carried out after ${highest}`;
        found.push({ invariant: "guarded writes", atMs: event.atMs, what });
      }
    }
    return found;
  });

/** Lost and released are final: no holder acts after it was told, and none is told twice. */
export const lostIsFinal: Checker = (history) =>
  perName(history, (name, events) => {
    const ended = new Set<bigint>();
    const lost = new Set<bigint>();
    const found: Violation[] = [];
    for (const { kind, fence, by, atMs } of events) {
      if (kind === "acted" && ended.has(fence)) {
        const what = `${by} acted on "${name}" with fence ${fence} after its end`;
        found.push({ invariant: "lost is final", atMs, what });
      }
      if (kind === "lost" && lost.has(fence)) {
        const what = `${by} was told twice that "${name}" with fence ${fence} is lost`;
        found.push({ invariant: "lost is final", atMs, what });
      }
      if (kind === "lost") lost.add(fence);
      if (kind === "lost" || kind === "released") ended.add(fence);
    }
    return found;
  });

/** Every checker, by name. */
export const checkers = { exclusion, fenceOrder, guardedWrites, lostIsFinal } as const;

/** All that is wrong with a history. */
export function check(history: readonly Timed[]): Violation[] {
  return Object.values(checkers).flatMap((checker) => checker(history));
}
