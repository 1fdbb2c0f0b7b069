import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { semaphore } from "../../holdfast/src/index.js";
import { CliWorld } from "./support.js";

const world = await shared(CliWorld.start());

describe("holdfast semaphore", () => {
  it("runs the command with the permit in the environment, and releases it", async () => {
    const script = "console.log(JSON.stringify(process.env)); process.exit(7)";
    const command = ["--", process.execPath, "-e", script];
    const words = ["semaphore", "jobs", "--permits", "2", "--owner", "me", ...command];
    const { status, stdout } = await world.run(words);
    expect(status).toBe(7);
    expect(JSON.parse(stdout)).toMatchObject({
      HOLDFAST_LEASE_NAME: "jobs",
      HOLDFAST_LEASE_OWNER: "me",
      HOLDFAST_LEASE_FENCE: expect.stringMatching(/^\d+$/),
      HOLDFAST_LEASE_HOLDER: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    await using all = await semaphore(world.locks, "jobs", { permits: 2 }).acquire({ weight: 2 });
    expect(all.fence).toBeGreaterThan(BigInt(JSON.parse(stdout).HOLDFAST_LEASE_FENCE));
  });

  it("grants up to the limit by weight, and exits with 75 beyond it", async () => {
    const words = ["semaphore", "few", "--permits", "3", "--wait", "0", "--weight"];
    const running = world.start([...words, "2", "--", "sh", "-c", "echo up; sleep 30"]);
    await running.printed("up");
    const { permits } = await semaphore(world.locks, "few", { permits: 3 }).inspect();
    expect(permits[0]?.session).toMatch(/^few[0-9a-f-]{36}$/);
    expect((await world.run([...words, "2", "--", "echo", "no"])).status).toBe(75);
    expect((await world.run([...words, "1", "--", "echo", "yes"])).stdout).toBe("yes\n");
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
  });

  it("goes by another limit in the table, and prints both numbers and the next step", async () => {
    await (await semaphore(world.locks, "told", { permits: 4 }).acquire()).release();
    const words = ["semaphore", "told", "--permits", "5", "--", "echo", "yes"];
    const { status, stdout, stderr } = await world.run(words);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "yes\n" });
    expect(stderr).toMatch(/limit of 4 .*--permits 5 .*holdfast semaphore told --set-limit 5/);
    expect(stderr.match(/limit of 4/g)).toHaveLength(1);
  });

  it("refuses another limit with 78 if asked, and prints both numbers and the next step", async () => {
    await (await semaphore(world.locks, "limited", { permits: 4 }).acquire()).release();
    const words = [
      "semaphore",
      "limited",
      "--permits",
      "5",
      "--refuse-limit",
      "--json",
      "--",
      "echo",
      "no",
    ];
    const { status, stdout, stderr } = await world.run(words);
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    const { error } = JSON.parse(stderr);
    expect(error.code).toBe("limit-mismatch");
    expect(error.message).toMatch(/limit of 4 permits .* uses 5\..*setLimit\(\)/);
    expect(error.message).toContain("holdfast semaphore limited --set-limit 5");
  });

  it("changes the limit with --set-limit", async () => {
    await (await semaphore(world.locks, "more", { permits: 4 }).acquire()).release();
    const changed = await world.run(["semaphore", "more", "--set-limit", "5"]);
    expect(changed).toMatchObject({
      status: 0,
      stdout: 'Semaphore "more" has a limit of 5; it was 4 before. In use: 0.\n',
    });
    expect((await world.run(["semaphore", "more", "--permits", "5", "--", "true"])).status).toBe(0);
    const old = ["semaphore", "more", "--permits", "4", "--", "true"];
    expect((await world.run(old)).status).toBe(0);
    const all = ["semaphore", "more", "--permits", "6", "--weight", "6", "--", "true"];
    expect((await world.run(all)).status).toBe(78);
  });

  it("ends the command, and exits with 76, when the permit is lost", async () => {
    const alone = await CliWorld.start();
    const words = ["semaphore", "lost", "--permits", "1", "--lease", "1s", "--", "sh", "-c"];
    const running = alone.start([...words, "echo up; sleep 30"]);
    await running.printed("up");
    await alone.server.close();
    const { status, stderr } = await running.result;
    await alone.close().catch(() => undefined);
    expect({ status, stderr }).toMatchObject({ status: 76, stderr: expect.stringMatching(/lost/) });
  });
});

describe("holdfast semaphore and lock --read", () => {
  const none = { HOLDFAST_ENDPOINT: "http://127.0.0.1:1" };

  it.each([
    ["no limit", ["semaphore", "a", "--", "true"], "--permits"],
    ["a limit of text", ["semaphore", "a", "--permits", "x", "--", "true"], "--permits"],
    ["two names", ["semaphore", "a", "b", "--permits", "1", "--", "true"], "one name"],
    [
      "a change with a command",
      ["semaphore", "a", "--set-limit", "1", "--", "true"],
      "--set-limit",
    ],
    [
      "a change with --permits",
      ["semaphore", "a", "--set-limit", "1", "--permits", "1"],
      "takes one",
    ],
    ["a reader that writes", ["lock", "a", "--read", "--write", "--", "true"], "exclude"],
    ["two names to read", ["lock", "a", "b", "--read", "--", "true"], "one name"],
    ["a fair reader", ["lock", "a", "--read", "--fair", "--", "true"], "--fair"],
    ["a writer with data", ["lock", "a", "--write", "--data", "x", "--", "true"], "--data"],
  ])("refuse %s", async (_, words, text) => {
    const result = await world.run(words, none);
    expect(result).toMatchObject({ status: 64, stdout: "", stderr: expect.stringContaining(text) });
  });
});

describe("holdfast lock --read and --write", () => {
  it("lets readers run together, and a writer alone", async () => {
    const second = await CliWorld.start();
    try {
      await readsAndWrites(second);
    } finally {
      await second.close();
    }
  });

  async function readsAndWrites(of: CliWorld): Promise<void> {
    const reading = of.start(["lock", "rw", "--read", "--", "sh", "-c", "echo up; sleep 30"]);
    await reading.printed("up");
    const asked = async (side: string) =>
      (await of.run(["lock", "rw", side, "--wait", "0", "--", "true"])).status;
    expect([await asked("--read"), await asked("--write")]).toEqual([0, 75]);
    reading.kill("SIGTERM");
    await reading.result;
    const writing = of.start(["lock", "rw", "--write", "--", "sh", "-c", "echo up; sleep 30"]);
    await writing.printed("up");
    expect([await asked("--read"), await asked("--write")]).toEqual([75, 75]);
    writing.kill("SIGTERM");
    expect((await writing.result).status).toBe(143);
  }
});
