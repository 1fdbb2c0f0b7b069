import type { Lease } from "../../../src/index.js";
import type { FaultRequest, FaultScript } from "../../../src/testing/faults/fault-plan.js";
import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import type { Incarnation } from "../incarnation.js";
import { stringIn } from "../queue/checkers.js";
import { codeOf, hold, noteReleased } from "./holding.js";

/** The tasks of a run: of one, an interrupted occurrence runs again. */
export const RERUN = "rerun";
export const TASKS = ["skip", RERUN] as const;
type Task = (typeof TASKS)[number];

/** Runs the due occurrence of a task, or the one before, unless another process has begun it. */
export async function runOccurrence(self: Incarnation, random: SeededRandom): Promise<void> {
  const task: Task = random.chance(0.5) ? "skip" : RERUN;
  const { due } = self.run.exchange;
  const last = (due.get(task) ?? 0) + (random.chance(0.3) ? 1 : 0);
  due.set(task, last);
  const number = random.chance(0.15) ? Math.max(1, last - 1) : last;
  await callFor(self, random, task, number);
}

/** Calls for one occurrence. */
export async function callFor(
  self: Incarnation,
  random: SeededRandom,
  task: Task,
  number: number,
  what: "called" | "due" = "called",
): Promise<void> {
  const occurrence = String(number).padStart(6, "0");
  const isRerun = task === RERUN;
  const [leaseMs] = self.run.plan.leaseMs;
  const of = { kind: "occurrence", name: `once#${task}`, occurrence, isRerun } as const;
  self.asked();
  if (what === "due") self.note({ ...of, what });
  else if (random.chance(0.15)) dieBeforeNaming(self);
  const called = self.locks.once(
    task,
    {
      occurrence,
      atMostFor: leaseMs,
      atLeastFor: isRerun && random.chance(0.3) ? 2 * leaseMs : 0,
      ifInterrupted: isRerun ? "rerun" : "skip",
    },
    async (lease) => {
      self.note({ ...of, what: "began" });
      // The hardest moments: right after the beginning, and right after the end.
      if (random.chance(0.1)) self.crash();
      await work(self, random, lease, of.name);
      if (lease.isHeld) self.note({ ...of, what: "ended" });
      if (random.chance(0.1)) self.crash();
    },
  );
  try {
    if ((await called).ran) self.note({ ...of, what: "completed" });
  } catch (error) {
    codeOf(error);
  }
}

/** Kills the process when it sends the request that names its occurrence in the record: the request is lost. */
function dieBeforeNaming(self: Incarnation): void {
  const script: FaultScript = (request) => {
    if (!isNaming(request) || !self.crash()) return undefined;
    return { fault: "request-lost" };
  };
  self.script ??= script;
}

function isNaming(request: FaultRequest): boolean {
  if (request.kind !== "write") return false;
  const { key, change } = request.write;
  const isTask = stringIn(key, "pk")?.startsWith("once#") === true;
  return isTask && change.set["holder"] === undefined && change.set["data"] !== undefined;
}

async function work(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease,
  name: string,
): Promise<void> {
  const { fence, holder, signal } = lease;
  const grant = {
    parts: [{ name, fence, holder }],
    isHeld: () => lease.isHeld,
    remainingMs: () => lease.remainingMs(),
    lossSignal: signal,
  };
  await hold(self, random, grant, { waited: false });
  // The library releases the lease when the work has ended.
  if (lease.isHeld) noteReleased(self, grant);
}
