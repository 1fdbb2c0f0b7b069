import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { slot } from "../../src/assign/index.js";
import { partsOf } from "../../src/client.js";
import { FailingCall } from "../../src/core/failing-call.js";
import { HoldfastError, mutex } from "../../src/index.js";

const OUTAGES = [
  ["silent", { fault: "request-lost" }, "unreachable"],
  ["throttled", { fault: "throttled" }, "throttled"],
  [
    "denied",
    { fault: "misconfigured", error: new HoldfastError("access-denied", "no") },
    "access-denied",
  ],
] as const;

it.each(OUTAGES)("a wait for a slot tells of an outage, once: %s", async (_, fault, code) => {
  const world = new World();
  const a = world.inhabitant();
  a.network.script(() => fault);
  const asked = slot(a.locks, "workers", { of: 3, wait: "2h" });
  await world.time.advance(60_000);
  expect(a.reported.map((error) => error.code)).toEqual([code]);
  await world.time.advance(3_600_000);
  expect(a.reported.length).toBe(1);
  a.network.clear();
  await world.until((await world.until(asked)).release());
});

it.each(OUTAGES)(
  "three waits for slots of one client tell of one outage: %s",
  async (_, fault, code) => {
    const world = new World();
    const a = world.inhabitant();
    a.network.script(() => fault);
    const asked = [1, 2, 3].map(() => slot(a.locks, "workers", { of: 3, wait: "2h" }));
    await world.time.advance(600_000);
    expect(a.reported.map((error) => error.code)).toEqual([code]);
    a.network.clear();
    for (const one of await world.until(Promise.all(asked))) await world.until(one.release());
    a.network.script(() => fault);
    void slot(a.locks, "workers", { of: 3, wait: "2h" });
    await world.time.advance(600_000);
    expect(a.reported.map((error) => error.code)).toEqual([code, code]);
  },
);

it.each(OUTAGES)(
  "calls that begin during one outage tell of it once: %s",
  async (_, fault, code) => {
    const world = new World();
    const a = world.inhabitant();
    a.network.script(() => fault);
    const asked: Promise<unknown>[] = [];
    for (let calls = 0; calls < 3; calls += 1) {
      asked.push(slot(a.locks, "workers", { of: 3, wait: "2h" }));
      await world.time.advance(60_000);
    }
    expect(a.reported.map((error) => error.code)).toEqual([code]);
    a.network.clear();
    await world.until(Promise.all(asked));
  },
);

it("a call tells of refused writes, also after another one has told of refused reads", async () => {
  const world = new World();
  const a = world.inhabitant();
  const b = world.inhabitant();
  const held = await world.until(mutex(b.locks, "a").acquire());
  const waits = mutex(a.locks, "a").acquire({ wait: "2h" });
  await world.time.advance(1_000);
  a.network.script(() => ({ fault: "throttled" }));
  await world.time.advance(60_000);
  expect(a.reported.map(({ code }) => code)).toEqual(["throttled"]);
  const asked = slot(a.locks, "workers", { of: 3, wait: "2h" });
  await world.time.advance(60_000);
  expect(a.reported.map(({ code }) => code)).toEqual(["throttled", "throttled"]);
  a.network.clear();
  await world.until((await world.until(asked)).release());
  await world.until(held.release());
  await world.until((await world.until(waits)).release());
});

it("a call tells of refused writes, although another one tells of refused reads meanwhile", () => {
  const it = new World().inhabitant();
  const { context } = partsOf(it.locks, "a test");
  const refused = (operation: string) => {
    const answer = { kind: "throttled", cause: new Error("too many") } as const;
    context.outages.see({ operation }, answer, () => context.nowMs());
    return answer;
  };
  const call = new FailingCall(context, { tries: 2 });
  const attempt = (): boolean => {
    const { cause } = refused("UpdateItem");
    return call.onFailure(new HoldfastError("throttled", "Too many.", { cause }));
  };
  expect(attempt()).toBe(false);
  expect(context.outages.isNews(refused("GetItem"), context.nowMs())).toBe(true);
  expect([attempt(), attempt()]).toEqual([true, false]);
});

it("a wait for a slot tells if the table's answers take longer than its lease", async () => {
  const world = new World();
  const a = world.inhabitant({ latency: { requestMs: 300, responseMs: 300 } });
  const ended = expect(
    slot(a.locks, "workers", { of: 3, wait: "10m", lease: "500ms" }),
  ).rejects.toMatchObject({ code: "unreachable" });
  await world.time.advance(60_000);
  expect(a.reported.map(({ message }) => message)).toEqual([
    expect.stringContaining("longer than a lease"),
  ]);
  await world.time.advance(600_000);
  await ended;
});

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
