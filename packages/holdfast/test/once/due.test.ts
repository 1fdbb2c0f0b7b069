import { beforeEach, describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { seededRandom } from "../../../testing/src/time/seeded-random.js";
import { inspect, type OnceOptions, once } from "../../src/index.js";
import { type NodeCronOptions, nodeCronCoordinator } from "../../src/node-cron/index.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MIDNIGHT_MS = Date.UTC(2026, 0, 1);

let world: World;
let ran: Inhabitant[];
beforeEach(() => {
  world = new World({ dates: (trueMs) => trueMs });
  ran = [];
});

const call = (who: Inhabitant, occurrence: OnceOptions["occurrence"]) =>
  world.until(once(who.locks, "report", { occurrence }, () => void ran.push(who)));
const named = async (who: Inhabitant) =>
  (
    (await world.until(inspect(who.locks, "report", { kind: "once" }))).data as {
      occurrence: string;
    }
  ).occurrence;
const host = (wallOffsetMs = 0) => world.inhabitant({ process: { wallOffsetMs } });

describe("the occurrence of a call with a period", () => {
  it.each([0, 5, 15, 30, 45, 59])("is the due hour for a schedule at minute %i", async (minute) => {
    const random = seededRandom(7);
    const hosts = [host(), host()];
    for (let hour = 1; hour <= 30; hour += 1) {
      const dueMs = hour * HOUR_MS + minute * 60_000;
      const fires = hosts.map((who) => ({ who, atMs: dueMs + 4 * random.fraction() - 2 }));
      for (const { who, atMs } of fires.sort((a, b) => a.atMs - b.atMs)) {
        await world.time.advance(Math.max(0, atMs - world.time.nowMs));
        await call(who, { every: "1h" });
      }
      expect(ran.length).toBe(hour);
      expect(await named(hosts[0] as Inhabitant)).toBe(
        new Date(MIDNIGHT_MS + hour * HOUR_MS).toISOString(),
      );
    }
  });

  it("is that of the call, and not of a late answer", async () => {
    const slow = world.inhabitant({ latency: { requestMs: 1_400, responseMs: 1_400 } });
    await world.time.advance(59_000);
    await call(slow, { every: "1s" });
    expect(await named(slow)).toBe("2026-01-01T00:00:59.000Z");
  });

  it.each([DAY_MS, 20 * 60_000, -DAY_MS])(
    "counts by the table's time where the clock is off by %i ms",
    async (offMs) => {
      const [good, wrong] = [host(), host(offMs)];
      await world.time.advance(HOUR_MS + 30_000);
      // The first request of the process shows the table's time.
      expect(await call(wrong, { every: "1m" })).toMatchObject({ ran: true });
      if (offMs > 0) expect(await named(good)).toBe("2026-01-01T01:00:00.000Z");
      for (let minute = 0; minute < 5; minute += 1) {
        await world.time.advance(60_000);
        expect(await call(good, { every: "1m" })).toMatchObject({ ran: true });
        expect(await call(wrong, { every: "1m" })).toEqual({ ran: false, why: "already" });
      }
    },
  );
});

describe("an instant that is not due yet", () => {
  // rule: protocol 62
  it.each([
    ["a Date", (ms: number) => new Date(ms)],
    ["milliseconds", (ms: number) => ms],
    ["text", (ms: number) => new Date(ms).toISOString()],
  ])("is refused by the table's time, and never stops other hosts: %s", async (_, of) => {
    const [good, wrong] = [host(), host(DAY_MS)];
    await world.time.advance(30_000);
    const dueMs = MIDNIGHT_MS + 30_000;
    const asked = call(wrong, of(dueMs + DAY_MS));
    await expect(asked).rejects.toMatchObject({ code: "misconfigured", lockName: "report" });
    expect(world.table.counts.writes).toBe(0);
    expect(await call(good, of(dueMs))).toMatchObject({ ran: true });
    expect(ran).toEqual([good]);
  });

  it("is accepted within `maxClockError`, as other text, and with `maxClockError: never`", async () => {
    const aMinuteLater = MIDNIGHT_MS + 60_000;
    const trusting = world.inhabitant({ maxClockError: "never" });
    expect(await call(host(), MIDNIGHT_MS + 9_000)).toMatchObject({ ran: true });
    expect(await call(trusting, aMinuteLater)).toMatchObject({ ran: true });
    expect(await call(host(), "2027")).toMatchObject({ ran: true });
  });

  it("makes node-cron skip the run of a wrong host only", async () => {
    const [good, wrong] = [host(), host(DAY_MS)];
    const at = (ms: number) => `report:${new Date(ms).toISOString()}`;
    const asked = nodeCronCoordinator(wrong.locks).shouldRun(at(MIDNIGHT_MS + DAY_MS), undefined);
    await expect(world.until(asked)).rejects.toMatchObject({ code: "misconfigured" });
    const coordinator = nodeCronCoordinator(good.locks);
    expect(await world.until(coordinator.shouldRun(at(MIDNIGHT_MS), undefined))).toBe(true);
  });

  it.each([{ atMostFor: "2 fortnights" }, { atLeastFor: -1 }, { owner: 7 }])(
    "is refused with %j before node-cron could skip every run",
    (wrong) => {
      const make = () => nodeCronCoordinator(host().locks, wrong as NodeCronOptions);
      expect(make).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    },
  );

  it("is refused without a client, by the name of the function", () => {
    expect(() => nodeCronCoordinator(undefined as never)).toThrow(/nodeCronCoordinator\(\)/);
  });

  // node-cron passes 30 s for a task without `distributedLease`.
  it.each([
    ["2m", 30_000, 120_000],
    ["2m", 45_000, 45_000],
    ["2m", undefined, 120_000],
    [undefined, 30_000, 30_000],
    [undefined, undefined, 60_000],
    ["2m", 500, 500],
  ])("has atMostFor %s for node-cron's %s ms: %i ms", async (atMostFor, ttlMs, leaseMs) => {
    const coordinator = nodeCronCoordinator(host().locks, { atMostFor });
    const key = `report:${new Date(MIDNIGHT_MS).toISOString()}`;
    expect(await world.until(coordinator.shouldRun(key, ttlMs))).toBe(true);
    const seen = await world.until(inspect(host().locks, "report", { kind: "once" }));
    expect(seen).toMatchObject({ leaseMs });
  });
});

describe("a record that a wrong clock has named", () => {
  const TOMORROW = "2026-01-02T00:00:00.000Z";
  const KEY = { pk: { S: "once#report" }, sk: { S: "lease" } };
  const name = (occurrence: string) => {
    const record = world.table.item(KEY) ?? {};
    const data = { M: { occurrence: { S: occurrence }, ended: { BOOL: true } } };
    world.table.putItem(KEY, { ...record, data });
  };

  // rule: protocol 62
  it("repairs itself by the next occurrence, which reports it once", async () => {
    const [a, b] = [host(), host()];
    await call(a, MIDNIGHT_MS);
    name(TOMORROW);
    await world.time.advance(60_000);
    expect(await call(a, { every: "1m" })).toMatchObject({ ran: true });
    expect(a.reported).toMatchObject([{ code: "misconfigured", lockName: "report" }]);
    expect(await call(b, { every: "1m" })).toEqual({ ran: false, why: "already" });
    expect(await named(a)).toBe("2026-01-01T00:01:00.000Z");
    await world.time.advance(DAY_MS);
    expect(await call(b, TOMORROW)).toMatchObject({ ran: true });
    expect(b.reported).toEqual([]);
  });

  it("stays while other clients may have begun it in time, and for other text", async () => {
    const a = host();
    await call(a, MIDNIGHT_MS);
    name(new Date(MIDNIGHT_MS + 60_000).toISOString());
    expect(await call(a, MIDNIGHT_MS + 1)).toEqual({ ran: false, why: "already" });
    name("2027");
    expect(await call(a, MIDNIGHT_MS + 1)).toEqual({ ran: false, why: "already" });
    name(TOMORROW);
    expect(await call(a, "2026-01-01")).toEqual({ ran: false, why: "already" });
    expect(a.reported).toEqual([]);
  });
});
