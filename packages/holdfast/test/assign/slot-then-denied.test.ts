import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { slot } from "../../src/assign/index.js";
import { HoldfastError } from "../../src/index.js";

it.each([7_000, 20_000])(
  "a wait for a slot tells of a refused permission after an outage of %d ms",
  async (outageMs) => {
    const world = new World();
    const a = world.inhabitant();
    a.network.script(() => ({ fault: "throttled" }));
    const asked = slot(a.locks, "workers", { of: 3, wait: "2h" });
    await world.time.advance(outageMs);
    const error = new HoldfastError("access-denied", "no");
    a.network.script(() => ({ fault: "misconfigured", error }));
    await world.time.advance(3_600_000);
    expect(a.reported.map(({ code }) => code).at(-1)).toBe("access-denied");
    a.network.clear();
    await world.until((await world.until(asked)).release());
  },
);
