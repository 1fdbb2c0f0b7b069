import type { Checker } from "../../checker.js";
import type { Event, Timed, Violation } from "../../history.js";

type PermitEvent = Extract<Timed, Extract<Event, { readonly kind: "permit" }>>;

/** The permit of a process, from its grant until the last moment in which the process believed in it. */
interface Belief {
  readonly granted: PermitEvent;
  untilMs: number;
}

/** The limit of the record when it got a permit. */
interface Entrance {
  readonly limit: number;
  readonly at: number;
}

/** Returns when each permit came into its record, and the record's limit then: an operator may change it later. */
function entrancesIn(history: readonly Timed[]): ReadonlyMap<string, Entrance> {
  const found = new Map<string, Entrance>();
  for (const [at, event] of history.entries()) {
    if (event.kind !== "permits" || event.limit === undefined) continue;
    for (const holder of event.holders) {
      if (!found.has(holder)) found.set(holder, { limit: event.limit, at });
    }
  }
  return found;
}

/**
 * The permits that processes believe in never weigh more than the limit, by true time: than the record's limit when the last
 * of them was granted, since a lower limit throws nobody out. A permit that never was in the record counts by the limit of
 * its process.
 */
export const permitLimit: Checker = (history) => {
  const entrances = entrancesIn(history);
  const beliefs = new Map<string, Belief>();
  for (const event of history) {
    if (event.kind !== "permit") continue;
    const known = beliefs.get(event.holder);
    if (event.what === "granted")
      beliefs.set(event.holder, { granted: event, untilMs: event.atMs });
    else if (event.what === "acted" && known !== undefined) known.untilMs = event.atMs;
  }
  const found: Violation[] = [];
  let open: Belief[] = [];
  for (const belief of beliefs.values()) {
    const { name, atMs } = belief.granted;
    open = open.filter(({ untilMs }) => untilMs > atMs);
    open.push(belief);
    const beside = open.filter(({ granted }) => granted.name === name);
    const weight = beside.reduce((sum, { granted }) => sum + granted.weight, 0);
    const limit = limitOf(beside, entrances);
    if (weight <= limit) continue;
    const holders = beside.map(({ granted }) => `${granted.by} ${granted.weight}`).join(", ");
    found.push({ invariant: "permits", atMs, what: `"${name}" of ${limit} is held by ${holders}` });
  }
  return found;
};

function limitOf(beside: readonly Belief[], entrances: ReadonlyMap<string, Entrance>): number {
  const [first, ...others] = beside.map(
    ({ granted: { holder, limit } }) => entrances.get(holder) ?? { limit, at: -1 },
  );
  return others.reduce((last, one) => (one.at > last.at ? one : last), first as Entrance).limit;
}

/**
 * The record of permits: a new permit fits under the record's limit, which only an operator changes, each new permit has a higher fence, and no process acts with
 * a permit that is gone. No permit is lost in a run that loses nothing.
 */
export const permitRecords: Checker = (history, { losesNothing }) => {
  const found: Violation[] = [];
  const own = new Map<string, number>();
  const limits = new Map<string, number | undefined>();
  const before = new Map<string, ReadonlySet<string>>();
  const highest = new Map<string, bigint>();
  const gone = new Set<string>();
  for (const event of history) {
    const { atMs, by } = event;
    if (event.kind === "permit" && event.what === "acted" && gone.has(event.holder)) {
      const what = `${by} acted with a permit of "${event.name}" after its removal`;
      found.push({ invariant: "ownership", atMs, what });
    }
    if (event.kind === "permit") {
      own.set(event.name, event.limit);
      if (event.what === "lost" && losesNothing === true) {
        found.push({ invariant: "kept", atMs, what: `${by} lost a permit of "${event.name}"` });
      }
    }
    if (event.kind !== "permits") continue;
    const { name, holders, fences, used } = event;
    const known = before.get(name) ?? new Set();
    const isNew = holders.some((holder) => !known.has(holder));
    const limit = event.limit ?? own.get(name) ?? Number.POSITIVE_INFINITY;
    if (isNew && used > limit) {
      const what = `the record of "${name}" has ${used} of ${limit}`;
      found.push({ invariant: "permits", atMs, what });
    }
    const earlier = limits.get(name);
    if (isNew && earlier !== undefined && event.limit !== earlier) {
      const what = `a grant changed the limit of "${name}" from ${earlier} to ${event.limit}`;
      found.push({ invariant: "permits", atMs, what });
    }
    limits.set(name, event.limit);
    for (const [index, holder] of holders.entries()) {
      const fence = fences[index] ?? 0n;
      if (known.has(holder)) continue;
      const last = highest.get(name) ?? -1n;
      if (fence <= last) {
        found.push({ invariant: "fence order", atMs, what: `"${name}": ${fence} after ${last}` });
      }
      highest.set(name, fence);
    }
    for (const holder of known) if (!holders.includes(holder)) gone.add(holder);
    for (const holder of holders) gone.delete(holder);
    before.set(name, new Set(holders));
  }
  return found;
};
