import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { all } from "../../../src/index.js";
import { systemFinalization } from "../../../src/platform/finalization.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

it("several locks go on while the signal of one of them is in use", async () => {
  const world = new World();
  const { locks, reported } = world.inhabitant({
    lease: "3s",
    renew: "1s",
    finalization: systemFinalization(),
  });
  const signals: (AbortSignal | undefined)[] = [];
  await world.until(
    all(locks, ["a", "b"])
      .acquire()
      .then(({ parts }) => void signals.push(parts[0]?.signal)),
  );
  for (let turns = 0; turns < 10; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
  await world.time.advance(10_000);
  expect(reported).toEqual([]);
  expect(signals[0]?.aborted).toBe(false);
  await world.until(locks.close());
});
