import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { assign } from "../../src/assign/index.js";
import type { Lease } from "../../src/index.js";

it("one lost answer to the write of a member's row is no outage", async () => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const a = world.inhabitant();
  let writes = 0;
  a.network.script((request) => {
    if (request.kind !== "write") return undefined;
    if (!JSON.stringify(request.write.key).includes("member/")) return undefined;
    writes += 1;
    return writes === 2 ? { fault: "response-lost" } : undefined;
  });
  const run = (_: string, { signal }: Lease) =>
    new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  const member = assign(a.locks, "g", { names: ["n1", "n2"], owner: "a", run });
  await world.until(member.start());
  await world.time.advance(600_000);
  expect(writes).toBeGreaterThan(1);
  expect(a.reported).toEqual([]);
  await world.until(member.stop());
});

const run = (_: string, { signal }: Lease) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

it("a stop during the start does not wait for the end of an outage", async () => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const a = world.inhabitant();
  const member = assign(a.locks, "g", { names: ["x", "y"], run });
  const started = expect(member.start()).rejects.toMatchObject({ code: "closed" });
  await world.time.advance(12);
  a.network.script(({ kind }) => (kind === "write" ? { fault: "request-lost" } : undefined));
  await world.time.advance(1_000);
  const fromMs = world.time.nowMs;
  await world.until(member.stop());
  expect(world.time.nowMs - fromMs).toBeLessThan(12_000);
  await started;
});

it("a stop after the loss of the session does not wait for another one", async () => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const a = world.inhabitant();
  const member = assign(a.locks, "g", { names: ["x", "y"], run });
  await world.until(member.start());
  a.network.script(({ kind }) => (kind === "write" ? { fault: "request-lost" } : undefined));
  await world.time.advance(60_000);
  expect(member.mine).toEqual([]);
  const fromMs = world.time.nowMs;
  await world.until(member.stop());
  expect(world.time.nowMs - fromMs).toBeLessThan(16_000);
});
