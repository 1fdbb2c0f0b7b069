import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { all, type Lease, semaphore } from "../../../src/index.js";

// The recipes of docs/permits.md, in virtual time.

const WAIT = { wait: "1h" } as const;

async function nested({ locks }: Inhabitant, tenant: string, job: () => Promise<void>) {
  const ofTenant = semaphore(locks, `jobs/${tenant}`, { permits: 1 });
  const inAll = semaphore(locks, "jobs", { permits: 3 });
  await ofTenant.run(WAIT, () => inAll.run(WAIT, job));
}

const together: typeof nested = async ({ locks }, tenant, job) => {
  const ofTenant = semaphore(locks, `jobs/${tenant}`, { permits: 1 });
  const inAll = semaphore(locks, "jobs", { permits: 3 });
  await all(locks, [ofTenant, inAll]).run(WAIT, job);
};

describe.each([
  ["nested", nested, { writes: 4, writeUnits: 4 }],
  ["together", together, { writes: 2, writeUnits: 6 }],
] as const)("a limit for each tenant and one for all, %s", (_, runFor, cost) => {
  it("keeps both, and lets every tenant run", async () => {
    const world = new World();
    const processes = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const running = new Map<string, number>();
    const most = { ofTenant: 0, inAll: 0 };
    const ran = new Map<string, number>();
    const jobs = Array.from({ length: 30 }, async (_, at) => {
      const tenant = at < 15 ? "busy" : `tenant ${at % 5}`;
      await runFor(processes[at % 3] as Inhabitant, tenant, async () => {
        running.set(tenant, (running.get(tenant) ?? 0) + 1);
        most.ofTenant = Math.max(most.ofTenant, running.get(tenant) ?? 0);
        most.inAll = Math.max(
          most.inAll,
          [...running.values()].reduce((sum, one) => sum + one),
        );
        await world.time.sleep(1_000);
        running.set(tenant, (running.get(tenant) ?? 0) - 1);
        ran.set(tenant, (ran.get(tenant) ?? 0) + 1);
      });
    });
    await world.until(Promise.all(jobs));
    expect(most).toEqual({ ofTenant: 1, inAll: expect.any(Number) });
    expect(most.inAll).toBeLessThanOrEqual(3);
    expect([...ran.values()].reduce((sum, one) => sum + one)).toBe(30);
  });

  it("costs the writes and units of the document", async () => {
    const world = new World();
    const one = world.inhabitant({ renew: "15s" });
    await world.until(runFor(one, "a", async () => undefined));
    const { writes, writeUnits } = await world.requests(() =>
      runFor(one, "a", async () => undefined),
    );
    expect({ writes, writeUnits }).toEqual(cost);
  });
});

describe("two permits in opposite orders", () => {
  const LIMIT = { permits: 1 };

  it("wait for each other when nested, and never when acquired together", async () => {
    const world = new World();
    const [one, two] = [world.inhabitant(), world.inhabitant()];
    const of = ({ locks }: Inhabitant, name: string) => semaphore(locks, name, LIMIT);
    const nest = (by: Inhabitant, first: string, second: string) =>
      of(by, first).run({ wait: "30s" }, async () => {
        await world.time.sleep(1_000);
        return of(by, second).run({ wait: "30s" }, () => "done");
      });
    const nests = [nest(one, "a", "b"), nest(two, "b", "a")];
    const ends = (await world.until(Promise.allSettled(nests))).map(({ status }) => status);
    expect(ends).toContain("rejected");
    const join = (by: Inhabitant, first: string, second: string) =>
      all(by.locks, [of(by, first), of(by, second)]).run({ wait: "30s" }, async () => {
        await world.time.sleep(1_000);
        return "done";
      });
    const joins = [join(one, "a", "b"), join(two, "b", "a")];
    expect(await world.until(Promise.all(joins))).toEqual(["done", "done"]);
  });
});

describe("a rate by permits that are held for a second", () => {
  const RATE = 4;

  async function inRate(world: World, { locks }: Inhabitant, call: () => void): Promise<void> {
    const permit = await semaphore(locks, "rate", { permits: RATE }).acquire({ wait: "10m" });
    const isOver = world.time.sleep(1_000);
    try {
      call();
    } finally {
      await isOver;
      await permit.release();
    }
  }

  it("begins no more calls in any second, and comes near to the rate", async () => {
    const world = new World();
    const processes = [world.inhabitant(), world.inhabitant()];
    const begun: number[] = [];
    const calls = Array.from({ length: 60 }, (_, at) =>
      inRate(world, processes[at % 2] as Inhabitant, () => begun.push(world.time.nowMs)),
    );
    await world.until(Promise.all(calls));
    for (const [at, ms] of begun.entries()) {
      const next = begun[at + RATE];
      if (next !== undefined) expect(next - ms).toBeGreaterThanOrEqual(1_000);
    }
    const seconds = ((begun.at(-1) ?? 0) - (begun[0] ?? 0)) / 1_000;
    expect(seconds).toBeLessThan((2.5 * begun.length) / RATE);
  });

  it("falls, and never rises, when a process dies", async () => {
    const world = new World();
    const [dead, alive] = [world.inhabitant(), world.inhabitant()];
    const begun: number[] = [];
    for (let i = 0; i < 2; i += 1) void inRate(world, dead, () => begun.push(world.time.nowMs));
    await world.time.advance(200);
    dead.process.kill();
    const calls = Array.from({ length: 200 }, () =>
      inRate(world, alive, () => begun.push(world.time.nowMs)),
    );
    await world.until(Promise.all(calls));
    for (const [at, ms] of begun.entries()) {
      const next = begun[at + RATE];
      if (next !== undefined) expect(next - ms).toBeGreaterThanOrEqual(1_000);
    }
    expect(begun).toHaveLength(202);
  });
});

describe("a semaphore with as many holders as fit into a record", () => {
  it("refuses the next with a clear error, keeps the others, and grants after a release", async () => {
    const world = new World();
    const [crowd, late] = [world.inhabitant(), world.inhabitant()];
    const of = ({ locks }: Inhabitant) => semaphore(locks, "s", { permits: 10_000 });
    const { holder } = await world.until(of(crowd).acquire());
    const key = { pk: { S: "semaphore#s" }, sk: { S: "lease" } };
    const record = { ...world.table.item(key) } as Record<string, never>;
    let holders = 1;
    for (; holders < 2_340; holders += 1) {
      const copy = `${String(holders).padStart(8, "0")}${holder.slice(8)}`;
      record[`permit#${copy}`] = record[`permit#${holder}`] as never;
      record[`fence#${copy}`] = record[`fence#${holder}`] as never;
    }
    world.table.putItem(key, { ...record, used: { N: String(holders) } });
    const leases: Lease[] = [];
    const fill = async (): Promise<void> => {
      while (leases.length < 60) leases.push(await of(late).acquire());
    };
    await world.until(
      expectError(fill(), { code: "misconfigured", lockName: "s", mentions: ["400 KB"] }),
    );
    expect(leases.length).toBeGreaterThan(0);
    expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
    await world.until((leases[0] as Lease).release());
    expect((await world.until(of(late).acquire())).isHeld).toBe(true);
  });
});

describe("a semaphore that is spread over records", () => {
  const RECORDS = 8;
  const PERMITS = 5;

  async function acquireOne({ locks }: Inhabitant, first: number): Promise<Lease> {
    const part = (at: number) =>
      semaphore(locks, `spread/${(first + at) % RECORDS}`, { permits: PERMITS });
    for (let at = 0; at < 3; at += 1) {
      const permit = await part(at).tryAcquire();
      if (permit !== null) return permit;
    }
    return part(0).acquire({ wait: "10m" });
  }

  it("grants every caller, never more than the sum, and each for the units of a small record", async () => {
    const world = new World();
    const processes = Array.from({ length: 4 }, () => world.inhabitant());
    let [inUse, most] = [0, 0];
    const jobs = Array.from({ length: 5 * RECORDS * PERMITS }, async (_, at) => {
      // Odd strides spread the callers, as random numbers do, but the same in each run.
      const permit = await acquireOne(processes[at % 4] as Inhabitant, (at * 5) % RECORDS);
      inUse += 1;
      most = Math.max(most, inUse);
      await world.time.sleep(1_000);
      inUse -= 1;
      await permit.release();
    });
    const { writes, writeUnits } = await world.requests(() => Promise.all(jobs));
    expect(most).toBe(RECORDS * PERMITS);
    expect(inUse).toBe(0);
    expect(writeUnits / writes).toBeLessThan(3);
  });
});
