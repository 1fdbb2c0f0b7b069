import { checkers } from "../sim/checkers.js";
import type { Event, Timed, Violation } from "../sim/history.js";
import { SAFETY } from "../sim/terms.js";
import { inOrder, type Span } from "./order.js";

// The checkers which need only an order. The rest need the true time of each request at the table, which is unknown
// for real processes.
const OF_ORDER = [
  checkers.exclusion,
  checkers.fenceOrder,
  checkers.guardedWrites,
  checkers.lostIsFinal,
] as const;

const check = (history: readonly Timed[]): Violation[] =>
  OF_ORDER.flatMap((checker) => checker(history, SAFETY));

/**
 * No process believes in a lease once the table has granted the name to a different holder. This is stricter than
 * exclusion between acts: the new holder, which may never learn of its grant, need not act. A holder's deadline
 * passes, or its release is sent, before any write which could grant the name again.
 */
const belief = (history: readonly Timed[]): Violation[] => {
  const granted = new Map<string, bigint>();
  const found: Violation[] = [];
  for (const event of history) {
    if (!("fence" in event)) continue;
    const { kind, name, fence, by, atMs } = event;
    const highest = granted.get(name) ?? -1n;
    if (kind === "record" && fence > highest) granted.set(name, fence);
    if ((kind === "acted" || kind === "granted") && fence < highest) {
      const what = `${by} believed in "${name}" (${fence}) after the table had granted ${highest}`;
      found.push({ invariant: "belief", atMs, what });
    }
  }
  return found;
};

/** A list in the table to which conditional transactions append. */
export interface Ledger {
  readonly name: string;
  /** The key of the item. */
  readonly key: string;
  /** Each writer and fence, in the order of the table; `text` is unique. */
  readonly entries: readonly {
    readonly by: string;
    readonly fence: bigint;
    readonly text: string;
    /** The weight of a permit. */
    readonly weight?: number;
  }[];
}

/**
 * Converts a ledger to a history. The order is the table's own and needs no clock: a fence with an entry was granted
 * before the entry.
 */
export function historyOf({ name, entries }: Ledger): Timed[] {
  return entries.flatMap(({ by, fence }, atMs) => {
    const grant: Event = { kind: "record", by, name, fence, holder: `${fence}` };
    const write: Event = { kind: "guarded", by, name, fence, isApplied: true };
    const isNew = entries.slice(0, atMs).every((earlier) => earlier.fence < fence);
    return [...(isNew ? [{ ...grant, atMs }] : []), { ...write, atMs }];
  });
}

/** Returns all violations of a run, from the simulation's checkers and the checks in this folder. */
export function checkRun(spans: readonly Span[], ledgers: readonly Ledger[]): Violation[] {
  const history = inOrder(spans);
  return [
    ...check(history),
    ...belief(history),
    ...ledgers.flatMap((ledger) => check(historyOf(ledger))),
  ];
}
