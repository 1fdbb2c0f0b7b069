import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import type { Incarnation } from "../incarnation.js";
import { LEADER } from "./elections.js";
import { codeOf } from "./holding.js";

/** Forces the release of a lock, or of a leadership, after asking its holder or at once. Some operators die. */
export async function forceRelease(self: Incarnation, random: SeededRandom): Promise<void> {
  const { names, leaseMs } = self.run.plan;
  const isLeader = random.chance(0.2);
  const name = isLeader ? "a" : (names[random.integer(0, names.length - 1)] ?? "a");
  const now = random.chance(0.4);
  const wait = random.chance(0.5) ? 0 : 2 * leaseMs[1];
  self.asked();
  self.note({ kind: "forces", name: isLeader ? LEADER : name, isNow: now });
  if (random.chance(0.2)) self.after(100 * random.fraction(), () => self.crash());
  const kind = isLeader ? "leader" : "lock";
  try {
    const asked = { reason: "a drill", kind, now, wait } as const;
    const { holder, wasDead } = await self.locks.admin.forceRelease(name, asked);
    const key = isLeader ? LEADER : name;
    if (holder !== undefined && !wasDead) self.note({ kind: "forced", name: key, holder });
  } catch (error) {
    codeOf(error);
  }
}
