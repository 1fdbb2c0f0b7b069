import { expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { LEASE_CHANNELS } from "../../../src/core/events.js";
import { mutex, openSession } from "../../../src/index.js";
import { listenTo } from "../../../src/platform/diagnostics.js";

it("a session that cannot be opened is no failed acquisition of a lock", async () => {
  const { world, locks, network } = inWorld({ requestTimeout: "200ms" });
  network.script(() => ({ fault: "request-lost" }));
  const told: unknown[] = [];
  const stop = listenTo(LEASE_CHANNELS.refusal, (event) => void told.push(event));
  try {
    await expect(world.until(openSession(locks, { wait: "1s" }))).rejects.toMatchObject({
      code: "unreachable",
    });
    expect(told).toEqual([]);
    await expect(world.until(mutex(locks, "a").acquire({ wait: "1s" }))).rejects.toMatchObject({
      code: "unreachable",
    });
    expect(told).toHaveLength(1);
  } finally {
    stop();
  }
});
