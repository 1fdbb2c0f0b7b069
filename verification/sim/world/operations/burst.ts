import { mutex } from "../../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { codeOf } from "./holding.js";
import { oneLock } from "./locks.js";

const MOST_AT_ONCE = 120;

/**
 * Holds a lock while the same process acquires many free locks at once, and gives each back at once. The process has few
 * connections, so its own requests compete for them: neither the lock nor one of the others may be lost.
 */
export async function burst(self: Incarnation, random: SeededRandom): Promise<void> {
  const count = random.integer(20, MOST_AT_ONCE);
  const others = Array.from({ length: count }, async (_, at) => {
    const name = `${self.name} ${at}`;
    self.asked();
    try {
      const lease = await mutex(self.locks, name).acquire({ wait: "10m" });
      self.asked();
      if (!lease.isHeld) self.run.fail("kept", `${self.name} got "${name}" already lost`);
      await lease.release();
    } catch (error) {
      // A caller that waits long enough gets a free lock, unless its client is closed at the end of the run.
      const code = codeOf(error);
      if (code !== "closed") self.run.fail("kept", `${self.name} did not get "${name}": ${code}`);
    }
  });
  self.bursts += 1;
  await Promise.all([oneLock(self, random, "mutex"), ...others]).finally(() => {
    self.bursts -= 1;
  });
}
