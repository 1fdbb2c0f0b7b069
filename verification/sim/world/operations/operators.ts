import { forceRelease as forceReleaseOf } from "../../../../packages/holdfast/src/admin/index.js";
import { inMs } from "../../../../packages/holdfast/src/internal/duration.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import type { LongHold, World } from "../traits.js";
import { dieWhileForcing, forceSlowly, pauseAtSession } from "./aims.js";
import { LEADER } from "./elections.js";
import { codeOf, nameOf } from "./holding.js";

/**
 * Runs the operator of a process, who forces the release of locks and leaderships that are held for long, and sometimes of
 * any lock, after asking the holder or at once.
 */
export async function operate(
  self: Incarnation,
  random: SeededRandom,
  { forces }: World,
): Promise<void> {
  let last: LongHold | undefined;
  while (!self.run.isOver) {
    await self.sleep(100);
    await self.restWhileQuiet();
    const { longHold } = self.run.exchange;
    if (longHold === undefined || longHold === last) continue;
    last = longHold;
    if (!random.chance(forces)) continue;
    await untilMove(self, random, longHold);
    await forceRelease(self, random, random.chance(0.2) ? nameOf(self, random) : longHold.name);
  }
}

/** Waits until shortly before the first renewal of a grant, which moves the lock to a session, if there is one. */
async function untilMove(
  self: Incarnation,
  random: SeededRandom,
  { grantedMs }: LongHold,
): Promise<void> {
  const { plan, time } = self.run;
  const waitMs = grantedMs + plan.leaseMs[0] / 3 - time.nowMs - 400 * random.fraction();
  if (waitMs > 0) await self.sleep(waitMs);
}

/** Forces the release of a lock or of the leadership, sometimes slowly; sometimes the process dies between two writes. */
async function forceRelease(self: Incarnation, random: SeededRandom, key: string): Promise<void> {
  const now = random.chance(0.4);
  const wait = random.chance(0.5) ? 0 : 2 * self.run.plan.leaseMs[1];
  const isLeader = key === LEADER;
  // A run of a task is not forced to end.
  if (!isLeader && !self.run.plan.names.includes(key)) return;
  if (random.chance(0.4)) dieWhileForcing(self, random);
  else if (random.chance(0.5)) forceSlowly(self, 800 * random.fraction());
  else if (!now) pauseAtSession(self, random);
  self.asked();
  self.note({ kind: "forces", name: key, isNow: now });
  try {
    const asked = {
      reason: "a drill",
      kind: isLeader ? "leader" : "lock",
      now,
      wait: inMs(wait),
    } as const;
    const { holder, wasDead } = await forceReleaseOf(self.locks, isLeader ? "a" : key, asked);
    if (holder !== undefined && !wasDead) self.note({ kind: "forced", name: key, holder });
  } catch (error) {
    codeOf(error);
  }
}
