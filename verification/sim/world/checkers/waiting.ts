import type { Checker } from "../../checker.js";
import type { Timed, Violation } from "../../history.js";
import { Scene } from "../../scene.js";

/** The state of a record: the writer, the holder, and the fence of the earlier grant. */
interface Standing {
  readonly by: string;
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly sinceMs: number;
  readonly replaced: bigint | undefined;
}

/**
 * A process undoes its abandoned grants: no record keeps the transfer or the attempt of an abandoned import, and no
 * process waits for its own former grant. Both only while no fault hinders the process.
 */
export const undone: Checker = (history, { answeredMs }) => {
  if (answeredMs === undefined) return [];
  const found: Violation[] = [];
  const scene = new Scene();
  const records = new Map<string, Standing>();
  const endedMs = new Map<string, number>();
  const places = new Map<string, Map<bigint, string>>();
  /** The grants that a call got. */
  const granted = new Set<string>();
  const abandoned: (Timed & { readonly name: string; readonly fence: bigint })[] = [];
  const reported = new Set<Standing>();
  const report = (standing: Standing, atMs: number, what: string): void => {
    if (!reported.has(standing)) found.push({ invariant: "no orphan", atMs, what });
    reported.add(standing);
  };
  for (const event of history) {
    const { atMs } = event;
    for (const [index, { by, name, fence, atMs: sinceMs }] of abandoned.entries()) {
      const ableMs = scene.ableSinceMs(by);
      const standing = records.get(name);
      const isLeft =
        standing?.fence === fence || (standing?.replaced === fence && standing.by === by);
      // Another call of the process may have got what this one gave up.
      const isUsed = granted.has(`${standing?.fence} ${name}`);
      if (!isLeft || isUsed || standing?.holder === undefined) {
        abandoned.splice(index, 1);
        break;
      }
      if (ableMs === undefined || atMs <= Math.max(sinceMs, ableMs) + answeredMs) continue;
      report(standing, atMs, `${by} gave up an import of "${name}", and left it held`);
    }
    for (const name of scene.wanted) {
      const standing = records.get(name);
      const sinceMs = endedMs.get(standing?.holder ?? "");
      if (standing === undefined || sinceMs === undefined) continue;
      // A process does not pass earlier waiters of other processes.
      const queue = [...(places.get(name) ?? [])];
      // An earlier waiter of the same process may wait for another of several locks.
      if (queue.some(([ticket, by]) => isJoint(places, name, ticket, by))) continue;
      for (const waiter of scene.ableWaiters(name)) {
        if (queue.some(([, by]) => by !== waiter.by)) continue;
        const waitedMs = atMs - Math.max(waiter.sinceMs, standing.sinceMs, sinceMs);
        if (waiter.by !== standing.by || waitedMs <= answeredMs) continue;
        report(standing, atMs, `${waiter.by} waited for its own former grant of "${name}"`);
      }
    }
    scene.see(event);
    if (event.kind === "import given up") abandoned.push(event);
    if (event.kind === "granted") granted.add(`${event.fence} ${event.name}`);
    // The record of a kept lock shows the fence of its grant, and each call is told the fence of its use.
    if (event.kind === "use") granted.add(`${event.of} ${event.name}`);
    if (event.kind === "released" && event.holder !== undefined) endedMs.set(event.holder, atMs);
    if (event.kind === "place") {
      const known = places.get(event.name) ?? new Map<bigint, string>();
      places.set(event.name, known);
      if (event.holder === undefined) known.delete(event.ticket);
      else known.set(event.ticket, known.get(event.ticket) ?? event.by);
    }
    if (event.kind !== "record") continue;
    const { by, holder, fence, name } = event;
    const was = records.get(name);
    if (was?.holder === holder && was?.fence === fence) continue;
    records.set(name, { by, holder, fence, sinceMs: atMs, replaced: was?.fence });
  }
  return found;
};

/** The process of each ticket in the queue of each name. */
type Places = ReadonlyMap<string, ReadonlyMap<bigint, string>>;

/** Whether the ticket of this process is in the queue of another name, too. */
function isJoint(places: Places, name: string, ticket: bigint, by: string): boolean {
  return [...places].some(([other, queue]) => other !== name && queue.get(ticket) === by);
}

/** An unhindered waiter is granted its lock after a bounded number of grants to other processes. */
export const starvation: Checker = (history, { mostPassed }) => {
  if (mostPassed === undefined) return [];
  const found: Violation[] = [];
  const scene = new Scene();
  const passed = new Map<string, { sinceMs: number; grants: number }>();
  const granted = new Map<string, bigint>();
  for (const event of history) {
    scene.see(event);
    const { atMs } = event;
    if (event.kind !== "record" || event.holder === undefined) continue;
    // A renewal is not a grant.
    if (granted.get(event.name) === event.fence) continue;
    granted.set(event.name, event.fence);
    for (const { by, sinceMs } of scene.ableWaiters(event.name)) {
      const key = `${by} ${event.name}`;
      const known = passed.get(key);
      const wait = known?.sinceMs === sinceMs ? known : { sinceMs, grants: 0 };
      passed.set(key, wait);
      if (event.by === by) wait.grants = 0;
      else wait.grants += 1;
      if (wait.grants !== mostPassed + 1) continue;
      const what = `${by} waited for "${event.name}" during ${wait.grants} grants to others`;
      found.push({ invariant: "starvation", atMs, what });
    }
  }
  return found;
};

/** No two processes share a holder id, even if both draw the same random numbers. */
export const ids: Checker = (history) => {
  const found: Violation[] = [];
  const owners = new Map<string, string>();
  for (const event of history) {
    if ((event.kind !== "record" && event.kind !== "place") || event.holder === undefined) continue;
    const owner = owners.get(event.holder) ?? event.by;
    owners.set(event.holder, owner);
    if (owner === event.by) continue;
    const what = `${event.by} and ${owner} have the holder id ${event.holder}`;
    found.push({ invariant: "ids", atMs: event.atMs, what });
  }
  return found;
};
