import type { Write } from "../../../../src/platform/table.js";
import type { Fault, FaultScript } from "../../../../src/testing/faults/fault-plan.js";
import type { SeededRandom } from "../../../../src/testing/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { stringIn } from "../../queue/checkers.js";

/*
 * Faults aimed at one kind of write, at moments that a random fault seldom hits.
 */

type Hits = (write: Write) => boolean;

/**
 * Strikes the next such write of a process, if the process sends one soon, and unless another fault is aimed at the
 * process. Returns whether the fault is aimed.
 */
function strikeOnce(self: Incarnation, hits: Hits, strike: () => Fault | undefined): boolean {
  if (self.script !== undefined) return false;
  const end = (): void => {
    if (self.script === script) self.script = undefined;
  };
  const script: FaultScript = (request) => {
    if (request.kind !== "write" || !hits(request.write)) return undefined;
    end();
    return strike();
  };
  self.script = script;
  // The call may end without such a write.
  self.run.time.timers.set(2 * self.run.plan.leaseMs[0], true, end);
  return true;
}

/** Whether the run has faults of single requests. */
function hasFaults({ run }: Incarnation): boolean {
  return Object.keys(run.plan.faults.faults).length > 0;
}

/** Loses the request of an import that is given up soon; returns whether the run has such faults. */
export function loseImport(self: Incarnation, from: string): boolean {
  const isImport: Hits = ({ condition }) => JSON.stringify(condition).includes(from);
  return hasFaults(self) && strikeOnce(self, isImport, () => ({ fault: "request-lost" }));
}

/** Pauses the process for this time when it has sent the next grant of a lock; only in a run with all faults. */
export function pauseAtClaim(self: Incarnation, lock: string, lastsMs: number): void {
  if (self.run.plan.world?.isWild !== true) return;
  strikeOnce(self, isGrantOf(lock), () => {
    if (self.process.state !== "running") return undefined;
    self.happened("hindered");
    void self.process.block(lastsMs, { first: "io" }).then(() => self.happened("free again"));
    return undefined;
  });
}

/** Doubles the next grant of a lock: the copy arrives when the lease has ended, perhaps by an export. */
export function copyClaim(self: Incarnation, lock: string, delayMs: number): void {
  if (hasFaults(self)) strikeOnce(self, isGrantOf(lock), () => ({ fault: "duplicated", delayMs }));
}

function isGrantOf(lock: string): Hits {
  return ({ key, change }) =>
    stringIn(key, "pk") === `lock#${lock}` && change.set["holder"] !== undefined;
}

/** Kills the process when it sends the request that names its occurrence in the record: the request is lost. */
export function dieBeforeNaming(self: Incarnation): void {
  strikeOnce(
    self,
    (write) => isOfTask(write) && write.change.set["data"] !== undefined,
    () => (self.crash() ? { fault: "request-lost" } : undefined),
  );
}

/** For a while, loses what records the end of an occurrence, or the answer; only in a run with all faults. */
export function loseEnd(self: Incarnation, random: SeededRandom, lastsMs: number): void {
  if (self.run.plan.world?.isWild !== true || self.script !== undefined) return;
  const fault = random.chance(0.2) ? "response-lost" : "request-lost";
  const script: FaultScript = (request) => {
    if (request.kind !== "write" || !isEnd(request.write)) return undefined;
    return { fault, ...(random.chance(0.5) ? { unknownAfterMs: 1 } : {}) };
  };
  self.script = script;
  self.after(lastsMs, () => {
    if (self.script === script) self.script = undefined;
  });
}

/** Kills an operator when it sends one of the writes of a forced release, which arrives or is lost. */
export function dieWhileForcing(self: Incarnation, random: SeededRandom): void {
  let left = random.integer(1, 3);
  const strike = (): Fault | undefined => {
    left -= 1;
    if (left > 0) strikeOnce(self, isForcing, strike);
    else if (self.crash() && random.chance(0.5)) return { fault: "request-lost" };
    return undefined;
  };
  strikeOnce(self, isForcing, strike);
}

/** Delays the first write of a forced release, so that its read is old when the write arrives. */
export function forceSlowly(self: Incarnation, delayMs: number): void {
  strikeOnce(self, isForcing, () => ({ fault: "reordered", delayMs }));
}

// The naming of an occurrence, its renewals and its end, but not a grant.
function isOfTask({ key, change }: Write): boolean {
  return stringIn(key, "pk")?.startsWith("once#") === true && change.set["holder"] === undefined;
}

const isEnd: Hits = (write) =>
  isOfTask(write) &&
  (write.change.remove.includes("holder") || write.change.set["mark"] === undefined);

// The request of a forced release, in the record or in the row of a session.
const isForcing: Hits = ({ change }) =>
  Object.entries(change.set).some(
    ([attribute, value]) =>
      attribute.startsWith("request#") ||
      (attribute === "request" && "M" in value && stringIn(value.M, "kind") === "release"),
  );
