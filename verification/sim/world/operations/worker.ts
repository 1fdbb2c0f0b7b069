import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import type { OperationName, World } from "../traits.js";
import { burst } from "./burst.js";
import { askToResign, stand } from "./elections.js";
import { importOne, manyLocks, oneLock } from "./locks.js";
import { schedule } from "./occurrences.js";
import { operate } from "./operators.js";
import { readWriteLock, semaphore } from "./permits.js";

type Operation = (self: Incarnation, random: SeededRandom) => Promise<void>;

const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  mutex: (self, random) => oneLock(self, random, "mutex"),
  fairLock: (self, random) => oneLock(self, random, "fairLock"),
  multiLock: manyLocks,
  semaphore,
  readWriteLock,
  import: importOne,
  election: stand,
  resignRequest: askToResign,
  burst,
};

/** Runs the workers of a process, its schedules and its operator until the run ends. */
export function live(
  self: Incarnation,
  random: SeededRandom,
  world: World,
  workers: number,
): Promise<void>[] {
  return [
    ...Array.from({ length: workers }, () => work(self, random.fork(), world)),
    ...(world.tasksEveryMs > 0 ? [schedule(self, random.fork(), world)] : []),
    ...(world.forces > 0 ? [operate(self, random.fork(), world)] : []),
  ];
}

/** Calls operations in sequence. */
async function work(self: Incarnation, random: SeededRandom, world: World): Promise<void> {
  const { run } = self;
  while (!run.isOver) {
    await self.sleep(random.fraction() * run.plan.behaviour.longestRestMs);
    await self.restWhileQuiet();
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
