import type { Checker } from "../../checker.js";
import type { Violation } from "../../history.js";
import { Scene } from "../../scene.js";

/** The requests that end a term, by the reason of the end; each may stand for a weaker one. */
const ENDS_A_TERM: Readonly<Record<string, readonly string[]>> = {
  "asked to resign": ["resign"],
  "preferred candidate": ["prefer"],
  interrupted: ["interrupt"],
};

/** A holder and a leader end for a request to themselves only: a request to another holder is ignored. */
export const obedience: Checker = (history) => {
  const asked = new Set<string>();
  const found: Violation[] = [];
  // A request names a holder id, and a late copy of its claim may be granted again, with another fence.
  const holders = new Map<string, string | undefined>();
  for (const event of history) {
    if (event.kind === "record" && event.holder !== undefined) {
      holders.set(keyOf(event), event.holder);
    }
    if (event.kind === "use") {
      holders.set(keyOf(event), holders.get(keyOf({ name: event.name, fence: event.of })));
    }
    if (event.kind === "asked") {
      asked.add(`${event.what} ${holders.get(keyOf(event))} ${event.name}`);
    }
    const isForced = event.kind === "lost" && event.reason === "released-by-force";
    if (event.kind !== "obeyed" && !isForced) continue;
    const { by, name, fence, atMs } = event;
    const whats = event.kind === "obeyed" ? (ENDS_A_TERM[event.what] ?? []) : ["release"];
    if (whats.some((what) => asked.has(`${what} ${holders.get(keyOf(event))} ${name}`))) continue;
    const what = `${by} ended "${name}" with fence ${fence} for a request to another holder`;
    found.push({ invariant: "obedience", atMs, what });
  }
  return found;
};

/** Of the waiters that interrupt, none is granted after a later one, of another process, has taken its number. */
export const newestFirst: Checker = (history) => {
  const found: Violation[] = [];
  const owners = new Map<string, string>();
  const askers = new Map<string, string>();
  for (const event of history) {
    if (event.kind === "number" && !owners.has(event.asker)) owners.set(event.asker, event.by);
    else if (event.kind === "asker") askers.set(keyOf(event), event.asker);
    else if (event.kind === "interrupts") {
      const asker = askers.get(keyOf(event));
      if (asker === undefined || owners.get(asker) === event.by) continue;
      const what = `${event.by} was granted "${event.name}" after ${owners.get(asker)} had asked`;
      found.push({ invariant: "newest first", atMs: event.atMs, what });
    }
  }
  return found;
};

/**
 * A holder that is asked to release ends in time: at its next renewal, of the record or of its session, and, if its
 * process is hindered, at its deadline.
 */
export const toldInTime: Checker = (history, { told: bound }) => {
  if (bound === undefined) return [];
  const found: Violation[] = [];
  const scene = new Scene();
  const toldAtMs = new Map<string, number>();
  const grants = new Map<string, string>();
  const leasesMs = new Map<string, number>();
  for (const event of history) {
    scene.see(event);
    if (event.kind === "record") {
      grants.set(`${event.holder} ${event.name}`, keyOf(event));
      if (event.leaseMs !== undefined) leasesMs.set(keyOf(event), event.leaseMs);
    }
    const told =
      event.kind === "forced"
        ? grants.get(`${event.holder} ${event.name}`)
        : event.kind === "asked" && event.isTold && event.what === "release"
          ? keyOf(event)
          : undefined;
    if (told !== undefined && !toldAtMs.has(told)) toldAtMs.set(told, event.atMs);
    if (event.kind !== "acted") continue;
    const { by, name, atMs } = event;
    const sinceMs = Math.max(
      toldAtMs.get(keyOf(event)) ?? Number.POSITIVE_INFINITY,
      scene.ableSinceMs(by) ?? Number.POSITIVE_INFINITY,
    );
    const leaseMs = Math.max(bound.leaseMs, leasesMs.get(keyOf(event)) ?? 0);
    if (atMs <= sinceMs + bound.leases * leaseMs) continue;
    toldAtMs.delete(keyOf(event));
    const what = `${by} acted on "${name}" ${(atMs - sinceMs).toFixed(0)} ms after it was asked to release it`;
    found.push({ invariant: "told in time", atMs, what });
  }
  return found;
};

// Lost, late and stale answers of several reads.
const LEAST_HEARD_MS = 3_000;
const HEARD_READS = 8;

/**
 * A holder that listens hears of an interruption by one of its next reads, and not only by a renewal; judged where a lease
 * is long.
 */
export const heardInTime: Checker = (history) => {
  const found: Violation[] = [];
  const scene = new Scene();
  const grants = new Map<string, string>();
  const leasesMs = new Map<string, number>();
  const askedMs = new Map<string, number>();
  const listening = new Map<string, { readonly fromMs: number; readonly everyMs: number }>();
  const heard = new Set<string>();
  for (const event of history) {
    scene.see(event);
    if (!("fence" in event)) continue;
    const key = keyOf(event);
    const { atMs } = event;
    if (event.kind === "record" && event.leaseMs !== undefined) leasesMs.set(key, event.leaseMs);
    if (event.kind === "use") {
      const of = keyOf({ name: event.name, fence: event.of });
      grants.set(key, of);
      // Each use listens for itself.
      listening.delete(of);
    }
    if (event.kind === "listens") listening.set(key, { fromMs: atMs, everyMs: event.everyMs });
    if (event.kind === "heard") heard.add(key);
    if (event.kind === "asked" && event.what === "interrupt" && !askedMs.has(key))
      askedMs.set(key, atMs);
    if (event.kind !== "acted") continue;
    const { by, name } = event;
    const grant = grants.get(key) ?? key;
    const ears = listening.get(grant);
    if (ears === undefined || heard.has(grant)) continue;
    const sinceMs = Math.max(askedMs.get(grant) ?? Number.POSITIVE_INFINITY, ears.fromMs);
    const withinMs = LEAST_HEARD_MS + HEARD_READS * ears.everyMs;
    // With a short lease, a renewal shows it as well.
    if (atMs <= sinceMs + withinMs || withinMs > (leasesMs.get(grant) ?? 0) / 6) continue;
    if ((scene.ableSinceMs(by) ?? Number.POSITIVE_INFINITY) > sinceMs) continue;
    heard.add(grant);
    const what = `${by} acted on "${name}" and had not heard of an interruption, for which it listened`;
    found.push({ invariant: "heard in time", atMs, what });
  }
  return found;
};

function keyOf({ name, fence }: { readonly name: string; readonly fence: bigint }): string {
  return `${fence} ${name}`;
}
