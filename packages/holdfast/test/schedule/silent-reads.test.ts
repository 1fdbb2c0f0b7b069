import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { mutex } from "../../src/index.js";
import { schedule } from "../../src/schedule/index.js";

it("tells of silent reads once while another lease of the client is renewed", async () => {
  const world = new World({ dates: (ms) => ms });
  const a = world.inhabitant();
  const job = schedule(a.locks, "report", { every: "1m" }, () => undefined);
  job.start();
  const lease = await world.until(mutex(a.locks, "other").acquire());
  await world.time.advance(300_000);
  a.network.script(({ kind }) => (kind === "read" ? { fault: "request-lost" } : undefined));
  await world.time.advance(3_600_000);
  expect(a.reported.length).toBe(1);
  a.network.clear();
  await world.until(Promise.all([job.stop(), lease.release()]));
});
