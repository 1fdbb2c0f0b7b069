import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { all, mutex } from "../../../src/index.js";
import { type Finalization, systemFinalization } from "../../../src/platform/finalization.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const MOST_TURNS = 1_000;

/**
 * Ends after real turns of the event loop: only between them does the collector tell of what it has collected. A busy machine
 * takes more of them, so goes on until `isTold`.
 */
async function collected(isTold = () => true): Promise<void> {
  for (let turns = 0; turns < 10 || (turns < MOST_TURNS && !isTold()); turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
}

/** The finalization of this runtime, and how many objects are still to be collected. */
function countedFinalization(): Finalization & { readonly left: number } {
  const finalization = systemFinalization();
  const watched = new Set<number>();
  let all = 0;
  return {
    get left() {
      return watched.size;
    },
    watch: (target, callback) => {
      const at = all;
      all += 1;
      watched.add(at);
      finalization.watch(target, () => {
        watched.delete(at);
        callback();
      });
    },
    unwatch: (target) => finalization.unwatch(target),
  };
}

it.each([false, true])(
  "several locks whose handle is garbage-collected end without renewals (signal used: %s)",
  async (isUsed) => {
    const world = new World();
    const finalization = countedFinalization();
    const { locks, reported } = world.inhabitant({ lease: "3s", renew: "1s", finalization });
    const signals: AbortSignal[] = [];
    await world.until(
      all(locks, ["a", "b"])
        .acquire()
        .then((lease) => void (isUsed && signals.push(lease.signal))),
    );
    await collected(() => isUsed || finalization.left === 0);
    await world.time.advance(10_000);
    expect(reported.map(({ reason, lockName }) => [reason, lockName])).toEqual(
      isUsed
        ? []
        : [
            ["forgotten", "a"],
            ["forgotten", "b"],
          ],
    );
    const rival = world.inhabitant({ lease: "3s" });
    const got = await world.until(
      mutex(rival.locks, "a")
        .acquire({ wait: "6s" })
        .catch(() => null),
    );
    expect(got === null).toBe(isUsed);
    expect(signals.some(({ aborted }) => aborted)).toBe(false);
    await world.until(locks.close());
  },
);

it("several locks go on while the signal of one of them is in use", async () => {
  const world = new World();
  const finalization = systemFinalization();
  const { locks, reported } = world.inhabitant({ lease: "3s", renew: "1s", finalization });
  const signals: (AbortSignal | undefined)[] = [];
  await world.until(
    all(locks, ["a", "b"])
      .acquire()
      .then(({ parts }) => void signals.push(parts[0]?.signal)),
  );
  await collected();
  await world.time.advance(10_000);
  expect(reported).toEqual([]);
  expect(signals[0]?.aborted).toBe(false);
  await world.until(locks.close());
});
