import { type Checker, perName } from "./checker.js";
import type { Timed, Violation } from "./history.js";

/**
 * Exclusion, by true time: once a holder was handed the lock, no holder of a lower fence acts, though
 * it asked its own clocks right before.
 */
export const exclusion: Checker = (history, { isExclusive }) =>
  perName(isExclusive ? history : [], (name, events) => {
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
 * No holder acts after its deadline, by true time: its lease, less twice the bound on drift, as slowly
 * as its clocks may go, from the instant at which the request was first sent that last succeeded (R2).
 * An answer that comes later than that revives nothing.
 */
export const deadline: Checker = (history, { isExclusive, driftBound }) =>
  perName(isExclusive ? history : [], (name, events) => {
    const untilMs = new Map<bigint, number>();
    const found: Violation[] = [];
    for (const event of events) {
      const { fence, by, atMs } = event;
      const endMs = untilMs.get(fence) ?? Number.POSITIVE_INFINITY;
      if (event.kind === "kept" && (atMs <= endMs || !untilMs.has(fence))) {
        const lengthMs = (event.leaseMs * (1 - 2 * driftBound)) / (1 - driftBound);
        untilMs.set(fence, event.sentMs + lengthMs);
      }
      if (event.kind === "acted" && atMs > endMs) {
        const lateMs = (atMs - endMs).toFixed(1);
        const what = `${by} acted on "${name}" with fence ${fence}, ${lateMs} ms after its deadline`;
        found.push({ invariant: "deadline", atMs, what });
      }
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

/** The record as the table has it, with who made its holder, and since when it has not been renewed. */
interface Standing {
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly owner: string;
  readonly sinceMs: number;
  readonly leaseMs: number | undefined;
}

/**
 * Ownership: a held record is written by the process that made its holder, and by nobody else before
 * it stood still for the lease that it names, and for what a watcher allows for drift (R3, R4).
 */
export const ownership: Checker = (history, { driftBound }) =>
  perName(history, (name, events) => {
    const found: Violation[] = [];
    let before: Standing | undefined;
    for (const event of events) {
      if (event.kind !== "record") continue;
      const { holder, fence, by, atMs, leaseMs } = event;
      const isSame = before !== undefined && holder === before.holder && fence === before.fence;
      const wrong = by === BY_HAND || by === BY_TTL ? undefined : wrongWrite(before, event, isSame);
      if (wrong !== undefined) {
        found.push({ invariant: "ownership", atMs, what: `${by} ${wrong} "${name}"` });
      }
      const owner = isSame && before !== undefined ? before.owner : by;
      before = { holder, fence, owner, sinceMs: atMs, leaseMs };
    }
    return found;

    function wrongWrite(
      was: Standing | undefined,
      { by, atMs }: Timed,
      isSame: boolean,
    ): string | undefined {
      if (was?.holder === undefined || by === was.owner) return undefined;
      if (isSame) return `wrote, though ${was.owner} holds it,`;
      if (was.leaseMs === undefined) return undefined;
      const watchMs = (was.leaseMs * (1 + 2 * driftBound)) / (1 + driftBound);
      const stoodMs = atMs - was.sinceMs;
      // A microsecond for the rounding of clocks that are simulated by multiplication.
      return stoodMs < watchMs - 0.001
        ? `took, after ${stoodMs.toFixed(1)} ms of ${watchMs.toFixed(1)}, from ${was.owner}`
        : undefined;
    }
  });

/** Who deleted a record, where it was no process. */
export const BY_HAND = "hand";
export const BY_TTL = "ttl";
