import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { forceRelease } from "../../holdfast/src/admin/index.js";
import { fairLock, inspect, type Lease, mutex } from "../../holdfast/src/index.js";
import { wanted } from "../../holdfast/src/requests/index.js";
import { CliWorld, pause, until } from "./support.js";

const world = await shared(CliWorld.start());

const FAST = { lease: "3s", renew: "100ms" } as const;
const held = (name: string): Promise<Lease> => mutex(world.locks, name).acquire(FAST);
const requestTo = async (name: string) => (await inspect(world.locks, name)).request;

/** Waits until this client has asked the holder. */
async function asked(name: string, by: string): Promise<void> {
  while ((await requestTo(name))?.by !== by) await pause(10);
}

describe("holdfast interrupt", () => {
  it("tells the holder to stop, and says whom it asked", async () => {
    const lease = await held("told");
    const told = await world.run(["interrupt", "told", "--by", "alice", "--json"]);
    expect(told).toMatchObject({ status: 0, stderr: "" });
    const { holder, owner } = lease;
    expect(JSON.parse(told.stdout)).toEqual({ name: "told", holder, owner });
    await until(() => lease.signal.aborted, "the holder is told");
    expect(lease.signal.reason).toMatchObject({
      code: "interrupted",
      message: expect.stringContaining("alice"),
    });
    await lease.release();
  });

  it("exits with 0 if nobody holds the lock, and asks nobody", async () => {
    const free = await world.run(["interrupt", "nobody's"]);
    expect(free).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('"nobody\'s" is free'),
    });
    const json = await world.run(["interrupt", "nobody's", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({ name: "nobody's" });
  });

  it("asks the holder of a fair lock by its namespace", async () => {
    const lease = await fairLock(world.locks, "f", { namespace: "x" }).acquire(FAST);
    expect((await world.run(["interrupt", "f"])).stdout).toContain("is free");
    const told = await world.run(["interrupt", "f", "--namespace", "x"]);
    expect(told.stdout).toContain(`Lock "f" in the namespace "x": its holder, ${lease.owner}`);
    await lease.release();
  });

  it("is refused for the records of other clients", async () => {
    const refused = await world.run(["interrupt", "a", "--format", "dynamolock", "--pk", "key"]);
    expect(refused).toMatchObject({ status: 64, stdout: "" });
    expect(refused.stderr).toContain("interruptions");
  });
});

describe("holdfast lock --if-held", () => {
  const waiting = (name: string, owner: string, how = "interrupt") =>
    world.start(["lock", name, "--owner", owner, "--if-held", how, "--", "echo", owner]);

  it("interrupt: the newest of several commands runs, and an earlier one exits with 79", async () => {
    const lease = await held("newest");
    const first = waiting("newest", "first");
    await asked("newest", "first");
    const second = waiting("newest", "second");
    await asked("newest", "second");
    const superseded = await first.result;
    expect(superseded).toMatchObject({ status: 79, stdout: "" });
    expect(superseded.stderr).toMatch(/^holdfast: [^\n]*second[^\n]*\n$/);
    // The holder reads with its next renewal, which both commands may come before.
    await until(() => lease.signal.aborted, "the holder is told");
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
    await lease.release();
    expect(await second.result).toMatchObject({ status: 0, stdout: "second\n" });
  });

  it("announce: the holder learns who waits, and goes on", async () => {
    const lease = await held("polite");
    const waiter = waiting("polite", "me", "announce");
    await until(() => wanted(lease) !== undefined, "the holder knows");
    expect(wanted(lease)).toEqual({ kind: "announced", by: "me" });
    expect(lease.signal.aborted).toBe(false);
    await lease.release();
    expect(await waiter.result).toMatchObject({ status: 0, stdout: "me\n" });
  });

  it.each([
    ["several names", ["a", "b", "--if-held", "interrupt"], "one name"],
    ["fair locks", ["a", "--fair", "--if-held", "interrupt"], "--fair"],
    ["read-write locks", ["a", "--read", "--if-held", "interrupt"], "--if-held"],
    ["commands that do not wait", ["a", "--wait", "0", "--if-held", "announce"], "--wait 0"],
    ["another manner", ["a", "--if-held", "ask"], "interrupt, announce"],
    ["a --listen of less than 100 ms", ["a", "--listen", "50ms"], "100 ms"],
    ["a --listen without a unit", ["a", "--listen", "1"], "listen"],
    ["--listen for read-write locks", ["a", "--write", "--listen", "1s"], "--listen"],
    ["a --kill-after without a unit", ["a", "--kill-after", "soon"], "kill-after"],
    ["other formats", ["a", "--format", "dynamolock", "--if-held", "interrupt"], "--if-held"],
  ])("is refused for %s, with 64", async (_, words, text) => {
    const refused = await world.run(["lock", ...words, "--", "echo", "mine"]);
    expect(refused).toMatchObject({ status: 64, stdout: "" });
    expect(refused.stderr).toContain(text);
  });
});

describe("a request to the present holder", () => {
  const line = async (...words: string[]): Promise<string> => (await world.run(words)).stdout;
  const request = { kind: "interrupt", by: "alice" };

  it("shows in inspect, ls, queue and watch", async () => {
    const lease = await held("shown");
    const watching = world.start(["watch", "shown", "--poll", "50ms"]);
    await watching.printed("seen");
    await line("interrupt", "shown", "--by", "alice");
    await watching.printed("; interrupted by alice");
    expect(watching.text.stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/ {2}seen {6}shown {2}.*(?<!alice)$/),
      expect.stringMatching(/ {2}asked {5}shown {2}.*; interrupted by alice$/),
    ]);
    watching.kill("SIGINT");
    expect(await line("inspect", "shown")).toMatch(/^request {2,}interrupted by alice$/m);
    expect(await line("ls", "--prefix", "shown")).toMatch(/^shown +held; interrupted by alice /m);
    expect(await line("queue", "shown")).toContain(`held by ${lease.owner}; interrupted by alice`);
    expect(JSON.parse(await line("inspect", "shown", "--json"))).toMatchObject({ request });
    expect(JSON.parse(await line("ls", "--prefix", "shown", "--json"))).toMatchObject({ request });
    const queue = JSON.parse(await line("queue", "shown", "--json"));
    expect(queue).toMatchObject({ lock: { request } });
    await lease.release();
    expect(await line("inspect", "shown")).not.toContain("alice");
    const next = await held("shown");
    expect(await line("inspect", "shown")).not.toContain("alice");
    await next.release();
  });

  it("is one line if it is a forced release", async () => {
    const lease = await mutex(world.locks, "forced").acquire({ lease: "10s" });
    await forceRelease(world.locks, "forced", { reason: "it hangs", by: "bob", wait: 0 });
    const text = await line("inspect", "forced");
    expect(text.match(/bob/g)).toHaveLength(1);
    expect(await line("ls", "--prefix", "forced")).toContain("held; asked to release by bob");
    await lease.release();
  });
});
