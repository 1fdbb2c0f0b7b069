import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { exportLease, mutex } from "../../../src/index.js";

it("a lease is not lost by an export that is refused", async () => {
  const world = new World();
  const { locks } = world.inhabitant({ lease: "30s", process: { bootStepMs: 1_000 } });
  const lease = await world.until(mutex(locks, "a").acquire());
  const error = await world.until(
    exportLease(lease, { lease: "500ms" }).catch((one: unknown) => one),
  );
  expect(error).toMatchObject({ code: "invalid-argument" });
  expect(lease.isHeld).toBe(true);
});
