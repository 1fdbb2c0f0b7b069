import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import type { Incarnation } from "../incarnation.js";
import { askToResign, stand } from "./elections.js";
import { importOne, manyLocks, oneLock } from "./locks.js";
import { runOccurrence } from "./occurrences.js";
import { forceRelease } from "./operators.js";
import { readWriteLock, semaphore } from "./permits.js";
import type { OperationName, World } from "./traits.js";

type Operation = (self: Incarnation, random: SeededRandom) => Promise<void>;

const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  mutex: (self, random) => oneLock(self, random, "mutex"),
  fairLock: (self, random) => oneLock(self, random, "fairLock"),
  multiLock: manyLocks,
  semaphore,
  readWriteLock,
  import: importOne,
  forcedRelease: forceRelease,
  election: stand,
  resignRequest: askToResign,
  once: runOccurrence,
};

/** Runs one worker of a process until the run ends, with operations in sequence. */
export async function live(self: Incarnation, random: SeededRandom, world: World): Promise<void> {
  const { run } = self;
  while (!run.isOver) {
    await self.sleep(random.fraction() * run.plan.behaviour.longestRestMs);
    if (!run.isOver) await OPERATIONS[drawn(random, world)](self, random);
  }
}

function drawn(random: SeededRandom, { weights }: World): OperationName {
  const all = Object.entries(weights) as [OperationName, number][];
  let left = random.fraction() * all.reduce((sum, [, weight]) => sum + weight, 0);
  const found = all.find(([, weight]) => {
    left -= weight;
    return left < 0;
  });
  return found?.[0] ?? "mutex";
}
