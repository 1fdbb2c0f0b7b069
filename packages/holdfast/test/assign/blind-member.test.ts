import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { assign } from "../../src/assign/index.js";
import { HoldfastError, type Lease } from "../../src/index.js";

const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
const run = (_: string, { signal }: Lease) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

const FAULTS = [
  ["silent", { fault: "request-lost" }, "unreachable"],
  ["throttled", { fault: "throttled" }, "throttled"],
] as const;
const DENIED = new HoldfastError("access-denied", "no");

it.each(FAULTS)("a member that cannot read the rows tells so, once: %s", async (_, fault, code) => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const [a, b] = [world.inhabitant(), world.inhabitant()];
  const first = assign(a.locks, "g", { names, owner: "a", run });
  await world.until(first.start());
  b.network.script(({ kind }) => (kind === "query" ? fault : undefined));
  const second = assign(b.locks, "g", { names, owner: "b", run });
  await world.until(second.start());
  await world.time.advance(600_000);
  // Not 20 times that "a" were no member.
  expect(b.reported.map((error) => error.code)).toEqual([code]);
  b.network.clear();
  await world.time.advance(120_000);
  expect([first.mine.length, second.mine.length]).toEqual([10, 10]);
  expect(b.reported.length).toBe(1);
});

it.each([
  ...FAULTS,
  ["denied", { fault: "misconfigured", error: DENIED }, "access-denied"] as const,
])("a member whose row is not written tells so, once: %s", async (_, fault, code) => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const [a, b] = [world.inhabitant(), world.inhabitant()];
  a.network.script((request) =>
    request.kind === "write" && JSON.stringify(request.write.key).includes("member/")
      ? fault
      : undefined,
  );
  const first = assign(a.locks, "g", { names, owner: "a", run });
  await world.until(first.start());
  const second = assign(b.locks, "g", { names, owner: "b", run });
  await world.until(second.start());
  await world.time.advance(600_000);
  expect(a.reported.map((error) => error.code)).toEqual([code]);
  // One word about the stranger, not one for each of its names.
  expect(b.reported.map((error) => error.code)).toEqual(["not-acquired"]);
});

it.each([
  ...FAULTS,
  ["denied", { fault: "misconfigured", error: DENIED }, "access-denied"] as const,
])("a member that gets no name tells so, once: %s", async (_, fault, code) => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const a = world.inhabitant();
  const isClaim = (write: { readonly key: unknown }) => /g\/n\d+/.test(JSON.stringify(write.key));
  a.network.script((request) =>
    request.kind === "write" && isClaim(request.write) ? fault : undefined,
  );
  const members = assign(a.locks, "g", { names: names.slice(0, 3), owner: "a", run });
  await world.until(members.start());
  await world.time.advance(1_200_000);
  expect(members.mine).toEqual([]);
  expect(a.reported.map((error) => error.code)).toEqual([code]);
  a.network.clear();
  await world.time.advance(300_000);
  expect(members.mine.length).toBe(3);
});

it.each([
  ["that cannot read the rows", "query", DENIED],
  ["that cannot open another session", "write", new HoldfastError("misconfigured", "no table")],
] as const)("a member %s looks once a period", async (_, kind, error) => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const [a, b] = [world.inhabitant(), world.inhabitant()];
  let asked = 0;
  const ask = () => {
    asked += 1;
    return names;
  };
  const first = assign(a.locks, "g", { names: ask, owner: "a", run });
  const second = assign(b.locks, "g", { names, owner: "b", run });
  await world.until(Promise.all([first.start(), second.start()]));
  await world.time.advance(30_000);
  let refused = 0;
  a.network.script((request) => {
    if (request.kind !== kind) return undefined;
    refused += 1;
    return { fault: "misconfigured", error };
  });
  await world.time.advance(120_000);
  [asked, refused] = [0, 0];
  await world.time.advance(600_000);
  // The default period is 10 s.
  expect(refused).toBeGreaterThanOrEqual(55);
  expect(refused).toBeLessThanOrEqual(62);
  expect(asked).toBeLessThanOrEqual(62);
});
