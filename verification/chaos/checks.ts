import { checkers } from "../sim/checkers.js";
import type { Event, Timed, Violation } from "../sim/history.js";
import { SAFETY } from "../sim/terms.js";
import { inOrder, type Span } from "./order.js";

// Those that ask for an order only. The others ask for the instant of each request at the table, which
// nobody can tell of real processes.
const OF_ORDER = [
  checkers.exclusion,
  checkers.fenceOrder,
  checkers.guardedWrites,
  checkers.lostIsFinal,
] as const;

const check = (history: readonly Timed[]): Violation[] =>
  OF_ORDER.flatMap((checker) => checker(history, SAFETY));

/**
 * Nobody believes in a lease once the table has granted the name to another: sharper than that no two
 * acted, since it needs no act of the new holder, who may never hear of its grant. A holder's deadline
 * passes, or its release is sent, before any write that could grant the name anew.
 */
export const belief = (history: readonly Timed[]): Violation[] => {
  const granted = new Map<string, bigint>();
  const found: Violation[] = [];
  for (const event of history) {
    if (!("fence" in event)) continue;
    const { kind, name, fence, by, atMs } = event;
    const highest = granted.get(name) ?? -1n;
    if (kind === "record" && fence > highest) granted.set(name, fence);
    if ((kind === "acted" || kind === "granted") && fence < highest) {
      const what = `${by} was told that it holds "${name}" (${fence}) after the table had granted ${highest}`;
      found.push({ invariant: "belief", atMs, what });
    }
  }
  return found;
};

/** A list in the table to which guarded transactions append, as it was found. */
export interface Ledger {
  readonly name: string;
  /** Who wrote, and with which fence, in the order in which the table carried it out. */
  readonly entries: readonly { readonly by: string; readonly fence: bigint }[];
}

/**
 * A ledger as a history. Its order is the table's own, so it needs no clock at all: a fence that has
 * an entry was granted before it.
 */
export function historyOf({ name, entries }: Ledger): Timed[] {
  return entries.flatMap(({ by, fence }, atMs) => {
    const grant: Event = { kind: "record", by, name, fence, holder: `${fence}` };
    const write: Event = { kind: "guarded", by, name, fence, isApplied: true };
    const isNew = entries.slice(0, atMs).every((earlier) => earlier.fence < fence);
    return [...(isNew ? [{ ...grant, atMs }] : []), { ...write, atMs }];
  });
}

/** All that is wrong with a run: what the simulation's checkers find, and the two of this folder. */
export function checkRun(spans: readonly Span[], ledgers: readonly Ledger[]): Violation[] {
  const history = inOrder(spans);
  return [
    ...check(history),
    ...belief(history),
    ...ledgers.flatMap((ledger) => check(historyOf(ledger))),
  ];
}
