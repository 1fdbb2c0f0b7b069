import { WINDOW } from "../../packages/holdfast/src/core/queue/predecessors.js";
import type { Checker } from "./checker.js";
import type { Timed, Violation } from "./history.js";
import { Scene } from "./scene.js";
import { type Standing, type Still, Stillness } from "./stillness.js";

const keyOf = (event: { readonly name: string; readonly fence: bigint }): string =>
  `"${event.name}" with fence ${event.fence}`;

/**
 * A lease without faults is kept: none is lost, and each ends by its own release, by a forced release, when its
 * process closes the session, or after its longest time, unless the process was killed.
 */
export const kept: Checker = (history, { losesNothing }) => {
  if (losesNothing !== true) return [];
  const found: Violation[] = [];
  const held = new Map<string, Timed>();
  const killed = new Set<string>();
  const worked = new Set<string>();
  const closedMs = new Map<string, number>();
  const forced = new Forced();
  // `longest` judges these.
  const limited = new Set<string>();
  for (const event of history) {
    forced.see(event);
    if (event.kind === "limited") limited.add(keyOf(event));
    if (event.kind === "process" && event.what === "killed") killed.add(event.by);
    if (event.kind === "session over" && event.why === "closed") closedMs.set(event.by, event.atMs);
    if (event.kind === "session over" && event.why === "lost") {
      const what = `${event.by} lost the session ${event.session}, without a fault`;
      found.push({ invariant: "kept", atMs: event.atMs, what });
    }
    if (event.kind === "granted") held.set(keyOf(event), event);
    if (event.kind === "released") {
      held.delete(keyOf(event));
      if (event.name.startsWith("once#")) worked.add(keyOf(event));
    }
    if (event.kind !== "lost") continue;
    held.delete(keyOf(event));
    if (forced.isOf(event)) continue;
    if (event.reason === "closed" && closedMs.get(event.by) === event.atMs) continue;
    // `once` keeps the lease for a while after its work.
    if (event.reason === "closed" && worked.has(keyOf(event))) continue;
    const isLimit = event.reason === "held-too-long" || event.reason === "lost-with-another";
    if (isLimit && limited.has(keyOf(event))) continue;
    const what = `${event.by} lost ${keyOf(event)} (${event.reason}), without a fault`;
    found.push({ invariant: "kept", atMs: event.atMs, what });
  }
  for (const [key, { by, atMs }] of held) {
    if (killed.has(by)) continue;
    found.push({
      invariant: "kept",
      atMs,
      what: `${by} was granted ${key}, and never released it`,
    });
  }
  return found;
};

/**
 * The grants that an operator forced to end, or that another waiter interrupted. Of several locks together, one request ends
 * all.
 */
class Forced {
  readonly #asked = new Set<string>();
  readonly #together = new Map<string, readonly string[]>();
  /** The grant of each use. */
  readonly #grants = new Map<string, string>();

  see(event: Timed): void {
    if (event.kind === "asked" && ["release", "interrupt"].includes(event.what)) {
      this.#asked.add(`${event.fence} ${event.name}`);
    }
    if (event.kind === "use")
      this.#grants.set(`${event.fence} ${event.name}`, `${event.of} ${event.name}`);
    if (event.kind !== "granted together") return;
    for (const part of event.parts) this.#together.set(part, event.parts);
  }

  isOf({ name, fence }: { readonly name: string; readonly fence: bigint }): boolean {
    const use = `${fence} ${name}`;
    const key = this.#grants.get(use) ?? use;
    return [key, ...(this.#together.get(key) ?? [])].some((part) => this.#asked.has(part));
  }
}

const watchMs = ({ leaseMs }: Still, maxClockDrift: number): number =>
  (leaseMs * (1 + 2 * maxClockDrift)) / (1 - maxClockDrift);

/** When an unhindered waiter has watched a record or a place for its lease, on a slow clock. */
function watchedMs(still: Still, waiter: { readonly sinceMs: number }, maxClockDrift: number) {
  return Math.max(waiter.sinceMs, still.sinceMs) + watchMs(still, maxClockDrift);
}

/**
 * Takes over in time, and leaves no orphan: a free lock is granted, and a silent holder replaced, before an
 * unhindered process has waited for one poll, plus, for a dead holder or a dead waiter before it in the queue, its
 * lease on a slow clock. An ended session blocks no waiter, and a live session blocks no waiter from a lock which its
 * process abandoned.
 */
export const inTime: Checker = (history, { longestStillMs, maxClockDrift }) => {
  if (longestStillMs === undefined) return [];
  const found: Violation[] = [];
  const scene = new Scene();
  const stillness = new Stillness(scene);
  const reported = new Set<Standing>();
  for (const event of history) {
    for (const name of scene.wanted) {
      const waiters = scene.ableWaiters(name);
      for (const waiter of waiters) {
        const still = stillness.of(name);
        const { standing } = still;
        if (reported.has(standing)) continue;
        const silentMs = watchedMs(still, waiter, maxClockDrift);
        if (event.atMs <= silentMs + longestStillMs) continue;
        // A waiter looks at the queue and removes the dead places, and only then watches the record.
        const sinceMs = Math.max(waiter.sinceMs, stillness.takenMs(name, waiter.by));
        const before = stillness.placesBefore(name, waiter.by);
        // With many tickets before it, a waiter reads the queue once a period, and so sees a change and a death late.
        const periodMs = stillness.placeLeaseMs(name, waiter.by) / 3 / (1 - maxClockDrift);
        const isFar = stillness.ticketsBefore(name, waiter.by, sinceMs) > WINDOW;
        const lookMs = isFar ? 2 * periodMs : 0;
        // It watches the sessions of further places once that of the nearest is silent for a period and two polls.
        const silentFromMs = Math.max(...before.map((place) => place.sinceMs));
        const sessionsFromMs = Math.max(sinceMs, silentFromMs) + periodMs + 2 * longestStillMs;
        const places = before.map((place) => {
          const fromMs = place.standing.session === undefined ? sinceMs : sessionsFromMs;
          const removedMs = watchedMs(place, { sinceMs: fromMs }, maxClockDrift) + lookMs;
          return removedMs + watchMs(still, maxClockDrift);
        });
        if (event.atMs <= Math.max(...places) + 2 * longestStillMs) continue;
        const waitedMs = event.atMs - Math.max(waiter.sinceMs, still.sinceMs);
        reported.add(standing);
        const { holder } = standing;
        const state = holder === undefined ? "stood free" : `was left with ${holder}`;
        const what = `"${name}" ${state} for ${waitedMs.toFixed(0)} ms while ${waiter.by} waited`;
        found.push({ invariant: "in time", atMs: event.atMs, what });
      }
    }
    scene.see(event);
    stillness.see(event);
  }
  return found;
};

/**
 * A lost answer costs no wait: with no further fault, a lock with waiters is never without a holder for about a
 * lease.
 */
export const noIdleWait: Checker = (history, { longestIdleMs }) => {
  if (longestIdleMs === undefined) return [];
  const found: Violation[] = [];
  const scene = new Scene();
  const believed = new Map<string, { fences: Set<bigint>; idleSinceMs: number }>();
  for (const event of history) {
    for (const name of scene.wanted) {
      const belief = believed.get(name) ?? { fences: new Set(), idleSinceMs: 0 };
      if (belief.fences.size > 0) continue;
      for (const waiter of scene.ableWaiters(name)) {
        const waitedMs = event.atMs - Math.max(waiter.sinceMs, belief.idleSinceMs);
        if (waitedMs <= longestIdleMs) continue;
        belief.idleSinceMs = event.atMs;
        const what = `${waiter.by} waited ${waitedMs.toFixed(0)} ms for "${name}", without a holder`;
        found.push({ invariant: "no idle wait", atMs: event.atMs, what });
      }
    }
    scene.see(event);
    if (event.kind !== "granted" && event.kind !== "released" && event.kind !== "lost") continue;
    const belief = believed.get(event.name) ?? { fences: new Set(), idleSinceMs: 0 };
    if (event.kind === "granted") belief.fences.add(event.fence);
    else belief.fences.delete(event.fence);
    belief.idleSinceMs = event.atMs;
    believed.set(event.name, belief);
  }
  return found;
};
