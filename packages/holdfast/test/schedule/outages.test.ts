import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { HoldfastError, mutex } from "../../src/index.js";
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

it.each([
  ["denied", { fault: "misconfigured", error: new HoldfastError("access-denied", "no") }],
  ["throttled", { fault: "throttled" }],
  ["silent", { fault: "request-lost" }],
] as const)(
  "tells once of refused writes of its record, while another lease is renewed: %s",
  async (_, fault) => {
    const world = new World({ dates: (ms) => ms });
    const a = world.inhabitant();
    const job = schedule(a.locks, "report", { every: "1h" }, () => undefined);
    job.start();
    const lease = await world.until(mutex(a.locks, "other").acquire());
    await world.time.advance(300_000);
    a.network.script((request) =>
      request.kind === "write" && JSON.stringify(request.write.key).includes("report")
        ? fault
        : undefined,
    );
    await world.time.advance(3 * 3_600_000);
    expect(a.reported.length).toBe(1);
    a.network.clear();
    await world.until(Promise.all([job.stop(), lease.release()]));
  },
);
