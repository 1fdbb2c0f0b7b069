import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { schedule } from "../../src/schedule/schedule.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const MINUTE = 60_000;

it("a schedule keeps no signal of an earlier run, even with a listener of its work", async () => {
  const { world, locks } = inWorld({}, { dates: (trueMs) => trueMs });
  const signals: WeakRef<AbortSignal>[] = [];
  let aborts = 0;
  const every = schedule(locks, "report", { every: "1m" }, ({ signal }) => {
    signal.addEventListener("abort", () => {
      aborts += 1;
    });
    signals.push(new WeakRef(signal));
  });
  every.start();
  await world.time.advance(60 * MINUTE);
  for (let turns = 0; turns < 10; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
  expect(signals.length).toBeGreaterThanOrEqual(59);
  expect(signals.filter((one) => one.deref() !== undefined).length).toBeLessThan(5);
  await world.until(every.stop());
  expect(aborts).toBe(0);
});
