import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { listQueue } from "../../holdfast/src/admin/index.js";
import { fairLock, semaphore } from "../../holdfast/src/index.js";
import { essence } from "../src/commands/queue.js";
import { CliWorld, until } from "./support.js";

const world = await shared(CliWorld.start());

const waiters = async (name: string, options = {}) =>
  (await listQueue(world.locks, name, options)).waiters;

describe("holdfast lock --fair", () => {
  it("waits in the order of arrival, and appears in the queue listing", async () => {
    const held = await fairLock(world.locks, "jobs").acquire();
    const running = [];
    for (const owner of ["one", "two"]) {
      const words = ["lock", "jobs", "--fair", "--owner", owner, "--", "echo", owner];
      running.push(world.start(words));
      await untilWaiting(running.length);
    }
    const listed = await world.run(["queue", "jobs"]);
    expect(listed.stdout).toMatch(
      /jobs {2}held by [\s\S]*POSITION[\s\S]*0 {9}1 {6}one[\s\S]*1 {9}1 {6}two/,
    );
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
    expect((await world.run(["queue", "jobs"])).stdout).toContain("no waiters");
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

  it("holds a lock in the given --namespace", async () => {
    await using _ = await fairLock(world.locks, "jobs", { namespace: "x" }).acquire();
    const words = ["lock", "jobs", "--wait", "0", "--fair", "--namespace"];
    expect((await world.run([...words, "x", "--", "true"])).status).toBe(75);
    expect((await world.run([...words, "y", "--", "true"])).status).toBe(0);
    const without = await world.run(["lock", "jobs", "--namespace", "x", "--", "true"]);
    expect(without).toMatchObject({ status: 64, stderr: expect.stringContaining("--fair") });
  });

  it("is inspected and listed with its namespace", async () => {
    await using held = await fairLock(world.locks, "rooms", { namespace: "x" }).acquire();
    await using plain = await fairLock(world.locks, "rooms").acquire();
    const inspected = await world.run(["inspect", "rooms", "--namespace", "x"]);
    expect(inspected.stdout).toMatch(/name +rooms\nnamespace +x\nstate +held/);
    const shown = await world.run(["inspect", "rooms", "--namespace", "x", "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ namespace: "x", holder: held.holder });
    const listed = (await world.run(["ls", "--prefix", "rooms"])).stdout;
    expect(listed).toMatch(new RegExp(`rooms in the namespace "x" .*${held.holder}`));
    expect(listed).toMatch(new RegExp(`rooms {2}.*${plain.holder}`));
    const wrong = await world.run(["watch", "--prefix", "rooms", "--namespace", "x"]);
    expect(wrong).toMatchObject({ status: 64, stderr: expect.stringContaining("--prefix") });
  });

  it("is watched separately in each namespace", async () => {
    const held = await fairLock(world.locks, "halls", { namespace: "x" }).acquire();
    await using plain = await fairLock(world.locks, "halls").acquire();
    const poll = ["--poll", "50ms", "--json"];
    const one = world.start(["watch", "halls", "--namespace", "x", ...poll]);
    const all = world.start(["watch", "--prefix", "halls", ...poll]);
    const linesOf = ({ stdout }: { readonly stdout: string }) =>
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    await Promise.all([one, all].map(({ printed }) => printed(held.holder)));
    await all.printed(plain.holder);
    await held.release();
    await Promise.all([one, all].map(({ printed }) => printed("released")));
    for (const { kill } of [one, all]) kill("SIGINT");
    const [ofOne, ofAll] = await Promise.all([one.result, all.result]);
    const told = linesOf(ofOne).map(({ change, namespace }) => [change, namespace]);
    expect(told).toEqual([
      ["seen", "x"],
      ["released", "x"],
    ]);
    const changes = linesOf(ofAll).map(({ change, namespace }) => [change, namespace]);
    expect(changes.slice(0, 2).map(([change]) => change)).toEqual(["seen", "seen"]);
    expect(changes.slice(2)).toEqual([["released", "x"]]);
  });

  it("is released by holder id, and by force, separately in each namespace", async () => {
    const quick = { lease: "2s", renew: "200ms" } as const;
    await using plain = await fairLock(world.locks, "desks").acquire();
    const held = await fairLock(world.locks, "desks", { namespace: "x", ...quick }).acquire();
    const words = ["release", "desks", "--holder", held.holder];
    expect((await world.run(words)).status).toBe(76);
    const released = await world.run([...words, "--namespace", "x"]);
    expect(released).toMatchObject({
      status: 0,
      stdout: 'Lock "desks" in the namespace "x" is released.\n',
    });
    const next = await fairLock(world.locks, "desks", { namespace: "x", ...quick }).acquire();
    const force = [
      "release",
      "desks",
      "--namespace",
      "x",
      "--force",
      "--now",
      "--reason",
      "a test",
    ];
    expect((await world.run(force)).stdout).toMatch(/^Lock "desks" in the namespace "x" is free; /);
    await until(() => next.signal.aborted, "the holder is told");
    expect(next.signal.reason).toMatchObject({ reason: "released-by-force" });
    const again = await world.run([...force, "--json"]);
    const told = { name: "desks", namespace: "x", isFree: true, wasDead: false };
    expect(JSON.parse(again.stdout)).toEqual(told);
    expect(plain.isHeld).toBe(true);
  });

  it("leaves the queue when interrupted", async () => {
    const held = await fairLock(world.locks, "jobs").acquire();
    const running = world.start(["lock", "jobs", "--fair", "--", "true"]);
    await untilWaiting(1);
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
    expect(await waiters("jobs")).toEqual([]);
    await held.release();
  });

  it("compares with queue --watch neither renewals nor the time left", async () => {
    const held = await fairLock(world.locks, "same").acquire();
    const limited = semaphore(world.locks, "same", { permits: 2 });
    const permit = await limited.acquire();
    const listings = async () => [
      essence(await listQueue(world.locks, "same")),
      essence(await listQueue(world.locks, "same", { kind: "semaphore" })),
    ];
    const before = await listings();
    await held.renew();
    expect(await listings()).toEqual(before);
    const other = await limited.acquire();
    await held.release();
    const [lock, permits] = await listings();
    expect(lock).not.toBe(before[0]);
    expect(permits).not.toBe(before[1]);
    await permit.release();
    await other.release();
  });

  it("prints changes with queue --watch, also after a refusal, until interrupted", async () => {
    const held = await fairLock(world.locks, "seen").acquire();
    const running = world.start(["queue", "seen", "--watch"]);
    await running.printed("held by");
    const { dynamodb } = world.server;
    const { handle } = dynamodb;
    dynamodb.handle = () => {
      const type = "com.amazon.coral.availability#ThrottlingException";
      return { status: 400, body: { __type: type, message: "slower" } };
    };
    await running.printed("throttled", "stderr");
    dynamodb.handle = handle;
    await held.release();
    await running.printed("free");
    running.kill("SIGINT");
    expect((await running.result).status).toBe(130);
  });
});
