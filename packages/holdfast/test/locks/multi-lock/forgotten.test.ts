import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { all, mutex } from "../../../src/index.js";
import { systemFinalization } from "../../../src/platform/finalization.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Ends after real turns of the event loop: only between them does the collector tell of what it has collected. */
async function collected(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
}

it.each([false, true])(
  "several locks whose handle is garbage-collected end without renewals (signal used: %s)",
  async (isUsed) => {
    const world = new World();
    const { locks, reported } = world.inhabitant({
      lease: "3s",
      renew: "1s",
      finalization: systemFinalization(),
    });
    const signals: AbortSignal[] = [];
    await world.until(
      all(locks, ["a", "b"])
        .acquire()
        .then((lease) => void (isUsed && signals.push(lease.signal))),
    );
    await collected();
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
