import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { exportLease, mutex } from "../../../src/index.js";

it("an export of a long lease tells of an outage while it waits", async () => {
  const world = new World();
  const a = world.inhabitant();
  const lease = await world.until(mutex(a.locks, "m").acquire({ lease: "1h" }));
  a.network.script(() => ({ fault: "request-lost" }));
  const ended = expect(exportLease(lease)).rejects.toMatchObject({ code: "outcome-unknown" });
  await world.time.advance(60_000);
  expect(a.reported.map(({ code }) => code)).toEqual(["unreachable"]);
  await world.time.advance(1_800_000);
  await ended;
});
