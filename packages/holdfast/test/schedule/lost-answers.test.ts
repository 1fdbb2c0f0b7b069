import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { schedule } from "../../src/schedule/index.js";

it("tells of writes without answers once, not at each instant", async () => {
  const world = new World({ dates: (ms) => ms });
  const a = world.inhabitant();
  const job = schedule(a.locks, "report", { every: "2m" }, () => undefined);
  job.start();
  await world.time.advance(300_000);
  a.network.script(({ kind }) => (kind === "write" ? { fault: "response-lost" } : undefined));
  await world.time.advance(3_600_000);
  expect(a.reported.map(({ code }) => code)).toEqual(["unreachable"]);
  a.network.clear();
  await world.time.advance(300_000);
  a.network.script(({ kind }) => (kind === "write" ? { fault: "response-lost" } : undefined));
  await world.time.advance(600_000);
  expect(a.reported.length).toBe(2);
  a.network.clear();
  await world.until(job.stop());
});
