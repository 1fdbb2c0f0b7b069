import { HoldfastError, type Session } from "../../../../packages/holdfast/src/index.js";
import type { Write } from "../../../../packages/holdfast/src/platform/table.js";
import type {
  Fault,
  FaultRequest,
  FaultScript,
} from "../../../../packages/testing/src/faults/fault-plan.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { textIn } from "../../items.js";

/*
 * Faults aimed at one kind of write, at moments that a random fault seldom hits.
 */

/** The answer to expired credentials. */
export const EXPIRED = new HoldfastError(
  "access-denied",
  "DynamoDB refused the request: The security token included in the request is expired.",
);

type Hits = (write: Write) => boolean;

/** Strikes the next request of a process with such a write, if the process sends one soon. */
function strikeOnce(
  self: Incarnation,
  hits: Hits,
  strike: () => Fault | undefined,
  withinMs?: number,
): void {
  strikeNext(self, (request) => writesOf(request).some(hits), strike, withinMs);
}

/** Strikes the next such request of a process, if the process sends one soon. */
function strikeNext(
  self: Incarnation,
  hits: (request: FaultRequest) => boolean,
  strike: () => Fault | undefined,
  withinMs = 2 * self.run.plan.leaseMs[0],
): void {
  const aim: FaultScript = (request) => {
    if (!hits(request)) return undefined;
    self.aims.delete(aim);
    return strike();
  };
  self.aims.add(aim);
  // The call may end without such a request.
  self.run.time.timers.set(withinMs, true, () => self.aims.delete(aim));
}

function writesOf(request: FaultRequest): readonly Write[] {
  if (request.kind === "write") return [request.write];
  return request.kind === "transact" ? request.transaction.writes : [];
}

/** Whether the run has faults of single requests. */
function hasFaults({ run }: Incarnation): boolean {
  return Object.keys(run.plan.faults.faults).length > 0;
}

/** Loses the request of an import that is given up soon; returns whether the run has such faults. */
export function loseImport(self: Incarnation, from: string): boolean {
  const isImport: Hits = ({ condition }) => JSON.stringify(condition).includes(from);
  if (hasFaults(self)) strikeOnce(self, isImport, () => ({ fault: "request-lost" }));
  return hasFaults(self);
}

/** Pauses the process when it has sent the next grant of a lock; only in a run with all faults. */
export function pauseAtClaim(self: Incarnation, lock: string, lastsMs: () => number): void {
  if (self.run.plan.world?.isWild !== true || isAimedAt(self)) return;
  strikeOnce(self, isGrantOf(lock), () => pause(self, lastsMs()));
}

/** Returns the length of a pause that the session does not survive, but a lease that was granted just before does. */
export function outlasting(session: Session, random: SeededRandom): number {
  const leftMs = session.remainingMs();
  return leftMs + (session.leaseMs - leftMs) * random.fraction();
}

/**
 * Pauses the process for longer than a lease when it has a place in queues and checks that the place is first; only in a
 * run with all faults.
 */
export function pauseAtPlace(self: Incarnation, random: SeededRandom): void {
  if (self.run.plan.world?.isWild !== true) return;
  const lastsMs = self.run.plan.leaseMs[1] * (1.2 + random.fraction());
  // The answer to the request for a place would come too late if the pause began earlier.
  const isCheck = (request: FaultRequest): boolean =>
    request.kind === "read" && request.read.consistent;
  strikeOnce(self, isPlace, () => {
    strikeNext(self, isCheck, () => pause(self, lastsMs));
    return undefined;
  });
}

/**
 * Pauses an operator for longer than a lease while it reads the holder's session, which then is older than it seems; only
 * in a run with all faults.
 */
export function pauseAtSession(self: Incarnation, random: SeededRandom): void {
  if (self.run.plan.world?.isWild !== true) return;
  const lastsMs = self.run.plan.leaseMs[1] * (1 + random.fraction());
  const isOfSession = (request: FaultRequest): boolean =>
    request.kind === "read" && textIn(request.read.key, "pk")?.startsWith("session#") === true;
  strikeNext(self, isOfSession, () => pause(self, lastsMs));
}

function pause(self: Incarnation, lastsMs: number): undefined {
  if (self.process.state !== "running") return;
  self.happened("hindered");
  void self.process.block(lastsMs, { first: "io" }).then(() => self.happened("free again"));
}

/** Doubles the next grant of a lock: the copy arrives when the lease has ended, perhaps by an export. */
export function copyClaim(self: Incarnation, lock: string, delayMs: number): void {
  if (!hasFaults(self) || isAimedAt(self)) return;
  strikeOnce(self, isGrantOf(lock), () => ({ fault: "duplicated", delayMs }));
}

// The many workers of a process would otherwise double or delay most of its grants.
function isAimedAt({ script, aims }: Incarnation): boolean {
  return script !== undefined || aims.size > 0;
}

/**
 * Loses the answer to the next change of a lease's length, and refuses it when it is sent again, so that its caller gives it
 * up; only in a cloned world. Returns whether it does.
 */
export function giveUpChange(self: Incarnation, lock: string): boolean {
  if (self.run.plan.kind !== "cloned world" || isAimedAt(self)) return false;
  const isChange: Hits = ({ key, change }) =>
    textIn(key, "pk") === `lock#${lock}` &&
    change.set["holder"] === undefined &&
    change.set["leaseMs"] !== undefined;
  const refuse = (): Fault => ({ fault: "misconfigured", error: EXPIRED });
  strikeOnce(self, isChange, () => {
    strikeOnce(self, isChange, refuse);
    return { fault: "response-lost", unknownAfterMs: 1 };
  });
  return true;
}

/** Delays the next update of a lock's data. */
export function slowUpdate(self: Incarnation, lock: string, delayMs: number): void {
  if (!hasFaults(self)) return;
  const isUpdate: Hits = ({ key, change }) =>
    textIn(key, "pk") === `lock#${lock}` &&
    change.set["holder"] === undefined &&
    change.set["dataSeq"] !== undefined;
  strikeOnce(self, isUpdate, () => ({ fault: "delayed", delayMs }));
}

function isGrantOf(lock: string): Hits {
  return ({ key, change }) =>
    textIn(key, "pk") === `lock#${lock}` && change.set["holder"] !== undefined;
}

const isPlace: Hits = ({ key, change }) =>
  textIn(key, "pk")?.startsWith("queue#") === true && change.set["holder"] !== undefined;

/** Kills the process when it sends the request that names its occurrence in the record: the request is lost. */
export function dieBeforeNaming(self: Incarnation): void {
  strikeOnce(
    self,
    (write) => isOfTask(write) && write.change.set["data"] !== undefined,
    () => (self.crash() ? { fault: "request-lost" } : undefined),
  );
}

/**
 * Loses what records the end of an occurrence, or the answer, for this time or until `isOver`; only in a run with all
 * faults.
 */
export function loseEnd(
  self: Incarnation,
  random: SeededRandom,
  lastsMs: number,
  isOver: () => boolean = () => false,
): void {
  if (self.run.plan.world?.isWild !== true) return;
  const fault = random.chance(0.2) ? "response-lost" : "request-lost";
  strikeFor(self, lastsMs, (write) =>
    isOfTask(write) && !isOver()
      ? { fault, ...(random.chance(0.5) ? { unknownAfterMs: 1 } : {}) }
      : undefined,
  );
}

/**
 * From the next deletion of a process on, no deletion arrives for longer than a lease; only in a run with all faults.
 * Returns whether the run has all faults.
 */
export function loseDeletions(self: Incarnation, random: SeededRandom): boolean {
  const { plan } = self.run;
  if (plan.world?.isWild !== true) return false;
  const lastsMs = plan.leaseMs[1] * (1.2 + random.fraction());
  const isDeletion: Hits = ({ as }) => as === "delete";
  const lost: Fault = { fault: "request-lost" };
  const strike = (): Fault => {
    strikeFor(self, lastsMs, (write) => (isDeletion(write) ? lost : undefined));
    return lost;
  };
  // A waiter deletes its entry after its wait, which is often longer than its lease.
  strikeOnce(self, isDeletion, strike, 6 * plan.leaseMs[1]);
  return true;
}

/** Aims a fault at the writes of a process for this time. */
function strikeFor(
  self: Incarnation,
  lastsMs: number,
  faultOf: (write: Write) => Fault | undefined,
): void {
  const aim: FaultScript = (request) =>
    request.kind === "write" ? faultOf(request.write) : undefined;
  self.aims.add(aim);
  self.after(lastsMs, () => self.aims.delete(aim));
}

/** Sometimes refuses the credentials of the next downgrade; only in a run whose sessions outlive what they keep. */
export function refuseDowngrade(self: Incarnation, random: SeededRandom): void {
  if (self.run.plan.world?.keepsSessions !== true || random.chance(0.5)) return;
  const strike = (): Fault => ({ fault: "misconfigured", error: EXPIRED });
  strikeOnce(self, isExchange, strike);
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

const isExchange: Hits = ({ change }) => {
  const isPermit = (attribute: string): boolean => attribute.startsWith("permit#");
  return Object.keys(change.set).some(isPermit) && change.remove.some(isPermit);
};

// The naming of an occurrence, its renewals and its end, but not a grant.
function isOfTask({ key, change }: Write): boolean {
  return textIn(key, "pk")?.startsWith("once#") === true && change.set["holder"] === undefined;
}

// The request of a forced release, in the record or in the row of a session.
const isForcing: Hits = ({ change }) =>
  Object.entries(change.set).some(
    ([attribute, value]) =>
      attribute.startsWith("request#") ||
      (attribute === "request" && "M" in value && textIn(value.M, "kind") === "release"),
  );
