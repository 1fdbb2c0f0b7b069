import type { Checker } from "../../checker.js";
import type { Event, Timed, Violation } from "../../history.js";
import { BY_TTL } from "../../safety.js";

type Of<Kind extends Event["kind"]> = Extract<Timed, { readonly kind: Kind }>;

// A waiter may pass those before it if it has watched the free lock for so long, less the drift of its clock, and the lock has
// been free for two leases and a minute by its wall clock, which may be wrong by hours.
const LEFT_MS = 9_000;

// Twice as many as a process has workers.
const MOST_PASSED_TICKETS = 10;

/** The place of a waiter in a queue. */
interface Place {
  readonly name: string;
  readonly ticket: bigint;
  readonly owner: string;
  readonly takenMs: number;
  readonly movedMs: number;
  readonly leaseMs: number;
  readonly endMs: number | undefined;
  readonly session: string | undefined;
}

/**
 * Queues, as far as the table shows them: tickets are granted in order; no grant without a ticket passes a queue,
 * except an export, an import, and that of a waiter which interrupts; no release passes the place of another process, nor
 * does a grant with a ticket, unless the lock was left free; no
 * process removes the place of a live waiter; and no process keeps taking tickets that the record shows as passed.
 */
export const queues: Checker = (history, { dates }) => {
  const found: Violation[] = [];
  const records = new Map<string, Of<"queue">>();
  const freeSinceMs = new Map<string, number>();
  const places = new Map<string, Place | "removed">();
  /** How many tickets in a row a process took below the last granted ticket. */
  const passed = new Map<string, number>();
  /** The last renewal of each session; undefined after its end. */
  const sessions = new Map<string, number | undefined>();
  const passing = passingIn(history);
  /** How many tries of a process may pass a queue. */
  const tries = new Map<string, number>();
  const report = (invariant: string, atMs: number, what: string): void => {
    found.push({ invariant, atMs, what });
  };
  for (const event of history) {
    const { by, atMs } = event;
    if (event.kind === "record" && by === BY_TTL) records.delete(event.name);
    if (event.kind === "session row") {
      sessions.set(event.session, event.holder === undefined ? undefined : atMs);
    } else if (event.kind === "queue") {
      const was = records.get(event.name);
      records.set(event.name, event);
      if (was === undefined) continue;
      const { name, fence, served } = event;
      const isFreed =
        event.holder === undefined && (was.holder !== undefined || fence !== was.fence);
      if (isFreed) freeSinceMs.set(name, atMs);
      if (event.holder !== undefined && was.holder === undefined) seeTurn(event, was.served ?? 0n);
      if ((served ?? 0n) < (was.served ?? 0n)) {
        report("served order", atMs, `"${name}" (${by}): ${served} after ${was.served}`);
      }
      if (event.holder === undefined) seePassed(event, was.served ?? 0n);
      const isGrant = event.holder !== undefined && fence !== was.fence;
      if (!isGrant || served !== was.served || was.tail === was.served) continue;
      if (event.interrupts === true) continue;
      if (passing.has(`exported ${fence} ${name}`)) continue;
      if ((tries.get(`${by} ${name}`) ?? 0) > 0) continue;
      if (passing.has(`imports ${by} ${was.fence} ${name}`)) continue;
      const what = `${by} was granted "${name}" between ${was.served} and ${was.tail}`;
      report("no barging", atMs, what);
    } else if (event.kind === "barges" || event.kind === "barged") {
      const key = `${by} ${event.name}`;
      tries.set(key, (tries.get(key) ?? 0) + (event.kind === "barges" ? 1 : -1));
    } else if (event.kind === "place") {
      const key = `${event.name} ${event.ticket}`;
      const was = places.get(key);
      if (event.holder !== undefined) {
        if (was === undefined) seeTicket(event);
        // A late copy of the request which created the place: its waiter has left.
        if (was !== "removed") places.set(key, placeOf(event, was));
        continue;
      }
      places.set(key, "removed");
      if (was === undefined || was === "removed" || was.owner === by) continue;
      // The queues of permits have no such record.
      const record = records.get(event.name);
      if (record === undefined || event.ticket <= (record.served ?? 0n)) continue;
      const silentMs = silenceOf(was, atMs);
      if (silentMs === undefined || silentMs >= was.leaseMs) continue;
      const what = `${by} removed the place ${event.ticket} of ${was.owner} in "${event.name}" after ${silentMs.toFixed(0)} ms`;
      report("no early removal", atMs, what);
    }
  }
  return found;

  // A release may pass only tickets of its own process.
  function seePassed({ by, name, served = 0n, atMs }: Of<"queue">, before: bigint): void {
    for (const place of places.values()) {
      if (place === "removed" || place.name !== name || place.owner === by) continue;
      const { ticket, owner } = place;
      if (ticket <= before || ticket > served) continue;
      report("first come", atMs, `${by} passed the place ${ticket} of ${owner} in "${name}"`);
    }
  }

  // A claim may be under way for a lease, and the entry of an earlier ticket may come later than the last read before it.
  function seeTurn({ by, name, served = 0n, atMs }: Of<"queue">, before: bigint): void {
    if (atMs - (freeSinceMs.get(name) ?? 0) >= LEFT_MS) return;
    for (const place of places.values()) {
      if (place === "removed" || place.name !== name || place.owner === by) continue;
      const { ticket, owner, takenMs, leaseMs } = place;
      if (ticket <= before || ticket >= served || takenMs + leaseMs > atMs) continue;
      report("first come", atMs, `${by} passed the place ${ticket} of ${owner} in "${name}"`);
    }
  }

  // After the deletion of its record, a counter begins anew. Several workers may take such a ticket before one of them
  // has seen the record.
  function seeTicket({ by, name, ticket, atMs }: Of<"place">): void {
    const served = records.get(name)?.served;
    const key = `${by} ${name}`;
    const inARow = served !== undefined && ticket <= served ? (passed.get(key) ?? 0) + 1 : 0;
    passed.set(key, inARow);
    if (inARow !== MOST_PASSED_TICKETS + 1) return;
    report("no passed ticket", atMs, `${by} took ${inARow} tickets of "${name}" up to ${served}`);
  }

  function silenceOf(place: Place, atMs: number): number | undefined {
    const { session, movedMs, endMs } = place;
    if (dates !== undefined && endMs !== undefined && atMs + dates.differMs > endMs + dates.boundMs)
      return undefined;
    if (session === undefined) return atMs - movedMs;
    const sessionMs = sessions.get(session);
    return sessionMs === undefined ? undefined : atMs - sessionMs;
  }
};

function placeOf(event: Of<"place">, was: Place | undefined): Place {
  const { name, ticket, by, atMs, leaseMs = 0, endInMs, session } = event;
  const endMs = endInMs === undefined ? undefined : atMs + endInMs;
  const { owner = by, takenMs = atMs } = was ?? {};
  return { name, ticket, owner, takenMs, movedMs: atMs, leaseMs, endMs, session };
}

/** The grants which may pass a queue. */
function passingIn(history: readonly Timed[]): ReadonlySet<string> {
  const passing = new Set<string>();
  for (const event of history) {
    // A process may die before the answer, which has the fence of the transfer: the next one.
    if (event.kind === "exports") passing.add(`exported ${event.fence + 1n} ${event.name}`);
    if (event.kind === "imports") passing.add(`imports ${event.by} ${event.fence} ${event.name}`);
  }
  return passing;
}
