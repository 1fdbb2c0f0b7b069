import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliWorld, until } from "./support.js";

let world: CliWorld;
beforeAll(async () => {
  world = await CliWorld.start();
});
afterAll(() => world.close());

const waiters = async (name: string, options = {}) =>
  (await world.locks.queue(name, options)).waiters;

describe("holdfast lock --fair", () => {
  it("waits in the order of arrival, and is listed meanwhile", async () => {
    const held = await world.locks.fairLock("jobs").acquire();
    const running = [];
    for (const owner of ["one", "two"]) {
      const words = ["lock", "jobs", "--fair", "--owner", owner, "--", "echo", owner];
      running.push(world.start(words));
      await untilWaiting(running.length);
    }
    const listed = await world.run(["queue", "jobs"]);
    expect(listed.stdout).toMatch(/jobs {2}held by [\s\S]*POSITION[\s\S]*0 {9}one[\s\S]*1 {9}two/);
    const json = JSON.parse((await world.run(["queue", "jobs", "--json"])).stdout);
    expect(json).toMatchObject({
      lock: { state: "held", holder: held.holder },
      waiters: [
        { owner: "one", position: 0 },
        { owner: "two", position: 1 },
      ],
    });
    expect(BigInt(json.waiters[1].ticket)).toBeGreaterThan(BigInt(json.waiters[0].ticket));
    await held.release();
    const [one, two] = await Promise.all(running.map(({ result }) => result));
    expect([one?.status, two?.status]).toEqual([0, 0]);
    expect((await world.run(["queue", "jobs"])).stdout).toContain("nobody waits");
  });

  async function untilWaiting(count: number): Promise<void> {
    let found = 0;
    const look = setInterval(() => {
      void waiters("jobs").then((all) => {
        found = all.length;
      });
    }, 50);
    await until(() => found === count, `${count} wait`).finally(() => clearInterval(look));
  }

  it("holds one of several locks of a name by --namespace", async () => {
    await using _ = await world.locks.fairLock("jobs", { namespace: "x" }).acquire();
    const words = ["lock", "jobs", "--wait", "0", "--fair", "--namespace"];
    expect((await world.run([...words, "x", "--", "true"])).status).toBe(75);
    expect((await world.run([...words, "y", "--", "true"])).status).toBe(0);
    const without = await world.run(["lock", "jobs", "--namespace", "x", "--", "true"]);
    expect(without).toMatchObject({ status: 64, stderr: expect.stringContaining("--fair") });
  });

  it("leaves the queue when it is interrupted", async () => {
    const held = await world.locks.fairLock("jobs").acquire();
    const running = world.start(["lock", "jobs", "--fair", "--", "true"]);
    await untilWaiting(1);
    running.child.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
    expect(await waiters("jobs")).toEqual([]);
    await held.release();
  });

  it("prints with queue --watch what has changed, until it is interrupted", async () => {
    const held = await world.locks.fairLock("seen").acquire();
    const running = world.start(["queue", "seen", "--watch"]);
    await running.printed("held by");
    await held.release();
    await running.printed("free");
    running.child.kill("SIGINT");
    expect((await running.result).status).toBe(130);
  });
});
