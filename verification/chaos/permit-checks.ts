import type { Violation } from "../sim/history.js";
import type { Ledger } from "./checks.js";
import { timeWithFirst } from "./first-in-queue.js";
import type { Span } from "./order.js";
import type { PermitSighting } from "./permit-sightings.js";

/** The limit of the semaphore of a run. */
export const PERMITS = 7;
/** The heaviest permit that a worker acquires. */
export const HEAVIEST = 3;

type Held = Extract<PermitSighting, { kind: "held" }>;
type Record = Extract<PermitSighting, { kind: "record" }>;

interface Takeover {
  readonly by: string;
  readonly fence: bigint;
  readonly fromMs: number;
  readonly afterMs: number;
  readonly atMs: number;
}

/** The observations of a run with permits. */
export interface PermitRun {
  readonly sightings: readonly PermitSighting[];
  /** The kills and the guarded writes. */
  readonly spans: readonly Span[];
  readonly ledgers: readonly Ledger[];
  /** How long after its kill a process may have permits in the table, while an unhindered process is first in the queue. */
  readonly takeoverMs: number;
}

/** Returns all violations of a run with permits. */
export function checkPermits(run: PermitRun): Violation[] {
  const records = run.sightings.filter((one): one is Record => one.kind === "record");
  const held = run.sightings.filter((one): one is Held => one.kind === "held");
  const removals = removalsIn(records, held);
  return [
    ...counted(records),
    ...believed(held),
    ...beyondRemoval(held, removals),
    ...guarded(run.spans, removals),
    ...takenOver(run),
    ...run.ledgers.flatMap(together),
  ];
}

/** Each record has as much in use as its permits weigh, and at most the limit. */
function counted(records: readonly Record[]): Violation[] {
  return records.flatMap(({ name, fence, used, limit, permits, atMs }) => {
    const sum = sumOf(permits);
    // Before the first grant a withdrawn attempt may have created the record, without a limit.
    const isLimited = limit === PERMITS || (limit === 0 && permits.length === 0);
    if (isLimited && sum === used && used <= PERMITS) return [];
    const what = `"${name}" (${fence}) has ${sum} in permits, ${used} in use and a limit of ${limit}`;
    return [{ invariant: "counted", atMs, what }];
  });
}

/**
 * The permits that live processes believe to hold weigh at most the limit together. A process believes in a permit from
 * its first positive check to its last, because a check is answered after the referee's stamp, and a loss is final.
 */
function believed(held: readonly Held[]): Violation[] {
  const beliefs = new Map<string, Held & { last: number }>();
  for (const one of held) {
    const known = beliefs.get(`${one.name} ${one.fence}`);
    if (known === undefined) beliefs.set(`${one.name} ${one.fence}`, { ...one, last: one.from });
    else known.last = Math.max(known.last, one.from);
  }
  const found: Violation[] = [];
  let active: (Held & { last: number })[] = [];
  for (const one of [...beliefs.values()].sort((a, b) => a.from - b.from)) {
    active = [...active.filter(({ last }) => last >= one.from), one];
    const ofName = active.filter(({ name }) => name === one.name);
    if (sumOf(ofName) <= PERMITS) continue;
    const who = ofName.map(({ by, fence, weight }) => `${by} (${fence}, ${weight})`).join(", ");
    const what = `${sumOf(ofName)} permits of "${one.name}" are believed in: ${who}`;
    found.push({ invariant: "belief", atMs: one.atMs, what });
  }
  return found;
}

/**
 * Returns when each permit was removed at the latest: the first answer whose record has granted the permit's fence, but
 * has no longer the permit.
 */
function removalsIn(records: readonly Record[], held: readonly Held[]): Map<string, number> {
  const removedBy = new Map<string, number>();
  for (const name of new Set(records.map((record) => record.name))) {
    const ofName = records.filter((record) => record.name === name).sort((a, b) => a.to - b.to);
    const fences = new Set(held.flatMap((one) => (one.name === name ? [one.fence] : [])));
    for (const { permits } of ofName) for (const { fence } of permits) fences.add(fence);
    const granted = [...fences].sort((a, b) => (a < b ? -1 : 1));
    let open: bigint[] = [];
    let next = 0;
    for (const { fence, permits, to } of ofName) {
      for (; (granted[next] ?? fence + 1n) <= fence; next += 1) open.push(granted[next] ?? 0n);
      open = open.filter((one) => {
        // An answer of an earlier state, which was read before the grant.
        if (one > fence || permits.some((permit) => permit.fence === one)) return true;
        removedBy.set(`${name} ${one}`, to);
        return false;
      });
    }
  }
  return removedBy;
}

/** No process believes in a permit that the table has removed. */
function beyondRemoval(held: readonly Held[], removals: ReadonlyMap<string, number>): Violation[] {
  return held.flatMap(({ by, name, fence, from, atMs }) => {
    if ((removals.get(`${name} ${fence}`) ?? Number.POSITIVE_INFINITY) >= from) return [];
    const what = `${by} believed in permit ${fence} of "${name}" after its removal`;
    return [{ invariant: "belief", atMs, what }];
  });
}

/** No transaction with the condition of a removed permit commits. */
function guarded(spans: readonly Span[], removals: ReadonlyMap<string, number>): Violation[] {
  return spans.flatMap(({ event, from, atMs }) => {
    if (event.kind !== "guarded" || !event.isApplied) return [];
    const { by, name, fence } = event;
    if ((removals.get(`${name} ${fence}`) ?? Number.POSITIVE_INFINITY) >= from) return [];
    const what = `${by} wrote with permit ${fence} of "${name}" after its removal`;
    return [{ invariant: "guarded writes", atMs, what }];
  });
}

/** No record has a permit of a process that was killed long ago. */
function takenOver({ spans, sightings, takeoverMs }: PermitRun): Violation[] {
  return takeoversIn(spans, sightings).flatMap(({ by, fence, afterMs, countedMs, atMs }) => {
    if (countedMs <= takeoverMs) return [];
    const [after, counted] = [Math.round(afterMs), Math.round(countedMs)];
    const what =
      `permit ${fence} of ${by} was in the table ${after} ms after its kill, ` +
      `${counted} ms of them with an unhindered process first in the queue`;
    return [{ invariant: "takeover", atMs, what }];
  });
}

/**
 * Returns for each permit of a killed process how long after the kill an answer last had it (`afterMs`), and how much of
 * this time counts (`countedMs`): the time with an unhindered process first in the queue, because only this process needs
 * the room and can remove the permit. If a process dies there, the others first wait for the end of its session. Counts
 * from the last start of the server, if that was later: without a table no client can take over.
 */
export function takeoversIn(spans: readonly Span[], sightings: readonly PermitSighting[]) {
  const killedAtMs = new Map<string, number>();
  const serverStartsMs: number[] = [];
  for (const { event, atMs } of spans) {
    if (event.kind !== "process") continue;
    if (event.what === "killed") killedAtMs.set(event.by, atMs);
    if (event.by === "server" && event.what === "note: started") serverStartsMs.push(atMs);
  }
  const counted = timeWithFirst(
    sightings.filter((one) => one.kind === "place" || one.kind === "hindered"),
  );
  const last = new Map<bigint, Takeover>();
  for (const one of sightings) {
    if (one.kind !== "record") continue;
    for (const { fence, owner: by } of one.permits) {
      const startMs = serverStartsMs.findLast((ms) => ms < one.atMs) ?? 0;
      const killMs = killedAtMs.get(by) ?? Number.POSITIVE_INFINITY;
      const fromMs = Math.max(killMs, startMs);
      const afterMs = one.atMs - fromMs;
      if (afterMs > 0) last.set(fence, { by, fence, afterMs, fromMs, atMs: one.atMs });
    }
  }
  return [...last.values()].map((one) => ({ ...one, countedMs: counted(one.fromMs, one.atMs) }));
}

/**
 * From the order of the table alone: permits with a write after the first write of a later permit were all in the record
 * when the later permit was granted, so together they weigh at most the limit.
 */
function together({ name, entries }: Ledger): Violation[] {
  const span = new Map<bigint, { first: number; last: number; weight: number }>();
  for (const [at, { fence, weight = 0 }] of entries.entries()) {
    const known = span.get(fence);
    if (known === undefined) span.set(fence, { first: at, last: at, weight });
    else known.last = at;
  }
  return [...span].flatMap(([fence, { first, weight }]) => {
    const others = [...span].filter(([other, { last }]) => other < fence && last > first);
    const sum = weight + sumOf(others.map(([, one]) => one));
    if (sum <= PERMITS) return [];
    const what = `"${name}" has writes of ${sum} permits that were held when ${fence} was granted`;
    return [{ invariant: "fence order", atMs: first, what }];
  });
}

function sumOf(all: readonly { readonly weight: number }[]): number {
  return all.reduce((sum, { weight }) => sum + weight, 0);
}
