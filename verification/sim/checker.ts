import type { Timed, Violation } from "./history.js";
import type { Terms } from "./terms.js";

/** Checks one invariant over a whole history. Pure. */
export type Checker = (history: readonly Timed[], terms: Terms) => Violation[];

/** An event about one grant of a name. */
export type OfName = Extract<Timed, { readonly name: string; readonly fence: bigint }>;

/** Runs a check for each name in a history. */
export function perName(
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
