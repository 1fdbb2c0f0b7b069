import { type Lease, once } from "../../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import type { Plan } from "../../plan.js";
import type { World } from "../traits.js";
import { dieBeforeNaming, loseEnd } from "./aims.js";
import { codeOf, hold, noteReleased } from "./holding.js";

/** The tasks of a run: of one, an interrupted occurrence runs again. */
export const RERUN = "rerun";
type Task = "skip" | typeof RERUN;

/**
 * The lease of a run of a task. Callers poll at the default pace, so with a short lease none of them would take over while
 * a client still tries to record an end.
 */
export function leaseMsOf({ leaseMs: [shortest], world }: Plan, task: Task): number {
  return task === RERUN && world?.hasCoarseClocks !== true ? 4 * shortest : shortest;
}

/** Runs the schedules of a process: calls for each occurrence of each task when it is due, or late. */
export async function schedule(
  self: Incarnation,
  random: SeededRandom,
  { tasksEveryMs }: World,
): Promise<void> {
  const { run } = self;
  while (!run.isOver) {
    const drawn: Task = random.chance(0.5) ? "skip" : RERUN;
    const restMs = random.fraction() * (random.chance(0.5) ? 500 : tasksEveryMs);
    const unended = await rest(self, restMs);
    await self.restWhileQuiet();
    if (run.isOver) return;
    const { due } = run.exchange;
    const task = unended === undefined ? drawn : RERUN;
    const last = due.get(task) ?? 1;
    const now = 1 + Math.floor(run.time.nowMs / tasksEveryMs);
    const asked = random.chance(0.2) ? Math.max(1, last - random.integer(0, 1)) : now;
    const number = unended ?? asked;
    due.set(task, Math.max(number, last));
    await callFor(self, random, task, number);
  }
}

/** Rests for this time, or until another process cannot record the end of an occurrence: returns its number. */
async function rest(self: Incarnation, forMs: number): Promise<number | undefined> {
  const { exchange, time } = self.run;
  const untilMs = time.nowMs + forMs;
  const before = exchange.unended;
  while (time.nowMs < untilMs && exchange.unended === before) {
    await self.sleep(Math.min(200, untilMs - time.nowMs));
  }
  return exchange.unended === before ? undefined : exchange.unended?.number;
}

/** Calls for one occurrence. */
export async function callFor(
  self: Incarnation,
  random: SeededRandom,
  task: Task,
  number: number,
  what: "called" | "due" = "called",
): Promise<void> {
  const occurrence = String(number).padStart(9, "0");
  const isRerun = task === RERUN;
  const leaseMs = leaseMsOf(self.run.plan, task);
  const of = { kind: "occurrence", name: `once#${task}`, occurrence, isRerun } as const;
  const { exchange } = self.run;
  const losesEnd = isRerun && what === "called" && random.chance(0.6);
  self.asked();
  if (what === "due") self.note({ ...of, what });
  else if (random.chance(0.15)) dieBeforeNaming(self);
  const call = () =>
    once(
      self.locks,
      task,
      {
        occurrence,
        atMostFor: leaseMs,
        atLeastFor: isRerun && !losesEnd && random.chance(0.3) ? 2 * leaseMs : 0,
        ifInterrupted: isRerun ? "rerun" : "skip",
      },
      async (lease) => {
        self.silence.waits(false);
        self.note({ ...of, what: "began" });
        if (isRerun && exchange.unended?.number === number) exchange.unended = undefined;
        // The hardest moments: right after the beginning, and right after the end.
        if (random.chance(0.1)) self.crash();
        await work(self, random, lease, of.name);
        if (losesEnd) await loseRecordOfEnd(self, random, lease, { number });
        if (lease.isHeld) self.note({ ...of, what: "ended" });
        if (random.chance(0.1)) self.crash();
        else if (isRerun && !losesEnd && random.chance(0.2))
          loseEnd(self, random, leaseMs * (0.5 + random.fraction()));
      },
    );
  try {
    const called = isRerun ? self.silence.watch(`waited for a run of "${task}"`, {}, call) : call();
    if ((await called).ran) self.note({ ...of, what: "completed" });
  } catch (error) {
    codeOf(error);
  }
}

/**
 * Loses what records the end, and also the last renewals: another process takes over while this client still tries to
 * record the end.
 */
async function loseRecordOfEnd(
  self: Incarnation,
  random: SeededRandom,
  lease: Lease,
  unended: { readonly number: number },
): Promise<void> {
  const { exchange, plan } = self.run;
  const leaseMs = leaseMsOf(plan, RERUN);
  exchange.unended = unended;
  // In most cases, requests arrive again as soon as another process has taken over.
  const isOver = random.chance(0.7) ? () => exchange.unended !== unended : undefined;
  loseEnd(self, random, leaseMs * (1.05 + 0.5 * random.fraction()), isOver);
  const earlyMs = 0.6 * leaseMs * random.fraction();
  // A release rejects after two timeouts of a request, which is often before the lease expires.
  const lateMs = Math.max(0, lease.remainingMs() - 500 * random.fraction());
  await self.sleep(random.chance(0.4) ? earlyMs : lateMs);
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
