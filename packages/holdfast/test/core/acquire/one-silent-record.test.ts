import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { HoldfastError, mutex } from "../../../src/index.js";

it.each([
  ["denied", { fault: "misconfigured", error: new HoldfastError("access-denied", "no") }],
  ["throttled", { fault: "throttled" }],
  ["silent", { fault: "request-lost" }],
] as const)(
  "a waiting mutex tells rarely of its record, while another lease is renewed: %s",
  async (_, fault) => {
    const world = new World({ dates: (ms) => ms });
    const a = world.inhabitant();
    const lease = await world.until(mutex(a.locks, "other").acquire());
    a.network.script((request) =>
      request.kind === "write" && JSON.stringify(request.write.key).includes("hot")
        ? fault
        : undefined,
    );
    const waiting = mutex(a.locks, "hot").acquire({ wait: "8h" });
    await world.time.advance(3_600_000);
    expect(a.reported.length).toBeGreaterThan(0);
    expect(a.reported.length).toBeLessThan(20);
    a.network.clear();
    await world.until((await world.until(waiting)).release());
    await world.until(lease.release());
  },
);
