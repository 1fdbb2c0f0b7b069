import { execFile, spawn } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { inspect, mutex } from "../../holdfast/src/index.js";
import { GuardedCommand } from "../src/guard/guarded-command.js";
import { CLI_FILE, CliWorld, pause, until } from "./support.js";

const world = await shared(CliWorld.start());

// Elsewhere no file has the bytes.
const onLinux = it.runIf(process.platform === "linux");

describe("holdfast lock", () => {
  it.each([0, 1, 7, 255])(
    "exits with the command's status %i, and releases the lock",
    async (status) => {
      const result = await world.run(["lock", "status", "--", "sh", "-c", `exit ${status}`]);
      expect(result).toMatchObject({ status, stdout: "", stderr: "" });
      expect((await inspect(world.locks, "status")).state).toBe("free");
    },
  );

  it("exits with 128 plus the number of the signal", async () => {
    expect((await world.run(["lock", "a", "--", "sh", "-c", "kill -9 $$"])).status).toBe(137);
    expect((await world.run(["lock", "a", "--", "sh", "-c", "kill -TERM $$"])).status).toBe(143);
  });

  it("exits with 127 for a missing command, with 126 for a command that is not executable", async () => {
    const missing = await world.run(["lock", "a", "--", "no-such-command"]);
    expect(missing).toMatchObject({ status: 127, stderr: expect.stringContaining("not found") });
    const file = world.file("plain.txt");
    writeFileSync(file, "text", { mode: 0o644 });
    expect((await world.run(["lock", "a", "--", file])).status).toBe(126);
    expect((await inspect(world.locks, "a")).state).toBe("free");
  });

  it("exits with 126, and frees the lock, for a command that the system refuses in another way", async () => {
    symlinkSync(world.file("loop"), world.file("loop"));
    writeFileSync(world.file("a file"), "text");
    for (const command of [join(world.file("a file"), "command"), world.file("loop")]) {
      const result = await world.run(["lock", "a", "--", command]);
      expect(result).toMatchObject({
        status: 126,
        stderr: expect.stringMatching(/E(NOTDIR|LOOP)/),
      });
      expect((await inspect(world.locks, "a")).state).toBe("free");
    }
  });

  it("frees the lock if its guard cannot be started", async () => {
    const held = {
      leaseMs: 30_000,
      signal: new AbortController().signal,
      remainingMs: () => 9_000,
    };
    const startGuard = () => spawn(world.file("no-such-node"), { stdio: [0, 1, 2, "ipc"] });
    const line = { command: "true", args: [], env: {} };
    const { outcome } = new GuardedCommand(held, line, { env: {}, startGuard });
    expect(await outcome).toEqual({ kind: "unguarded", isGroupGone: true });
  });

  it("passes the lease in the environment, and arguments unchanged", async () => {
    const script = "console.log(JSON.stringify([process.env, process.argv.slice(1)]))";
    const args = ["--json", "--", "a b", "*", ""];
    const words = ["lock", "jobs/1", "--owner", "me", "--", process.execPath, "-e", script, "--"];
    const { stdout } = await world.run([...words, ...args], { NODE_OPTIONS: "--no-deprecation" });
    const [env, got] = JSON.parse(stdout) as [NodeJS.ProcessEnv, string[]];
    expect(got).toEqual(args);
    const after = await inspect(world.locks, "jobs/1");
    expect(env).toMatchObject({
      HOLDFAST_LEASE_NAME: "jobs/1",
      HOLDFAST_LEASE_OWNER: "me",
      HOLDFAST_LEASE_FENCE: after.fence?.toString(),
      HOLDFAST_LEASE_HOLDER: expect.stringMatching(/^[0-9a-f-]{36}$/),
      NODE_OPTIONS: "--no-deprecation",
    });
    // The guard's channel is closed to the command.
    expect(env).not.toHaveProperty("NODE_CHANNEL_FD");
  });

  onLinux("notes which variables have bytes that are not UTF-8", async () => {
    const script = `export WRONG="$(printf 'caf\\351')"; exec "$@" lock a -- true`;
    const words = ["-c", script, "sh", process.execPath, CLI_FILE];
    const told = async (env: NodeJS.ProcessEnv) =>
      (await promisify(execFile)("sh", words, { env: { ...world.env, ...env } })).stderr;
    // A replacement character itself is a character like any other.
    expect(await told({ REPLACED: "\ufffd", ACUTE: "caf\u00e9" })).toMatch(
      /^holdfast: [^\n]* are not UTF-8, [^\n]*: WRONG\.\n$/,
    );
    const right = await world.spawn(["lock", "a", "--", "true"], { REPLACED: "\ufffd" }).result;
    expect(right).toMatchObject({ status: 0, stderr: "" });
  });

  it("locks several names together, with all names in the environment", async () => {
    const held = await mutex(world.locks, "s2").acquire();
    const script = "console.log(JSON.stringify([process.env, process.argv.slice(1)]))";
    const names = ["s1", "s2", "s 3"];
    const command = ["--", process.execPath, "-e", script, "--", "--", "x"];
    const none = await world.run(["lock", ...names, "--wait", "0", ...command]);
    expect(none).toMatchObject({ status: 75, stdout: "", stderr: expect.stringContaining('"s2"') });
    expect((await inspect(world.locks, "s1")).state).toBe("absent");
    await held.release();
    const outer = { HOLDFAST_LEASE_NAME: "outer", HOLDFAST_LEASE_FENCE: "1" };
    const words = ["lock", "s1", "--owner", "me", "s2", "s 3", ...command];
    const { status, stdout } = await world.run(words, outer);
    expect(status).toBe(0);
    const [env, got] = JSON.parse(stdout) as [Record<string, string>, string[]];
    expect(got).toEqual(["--", "x"]);
    expect(env["HOLDFAST_LEASE_OWNER"]).toBe("me");
    expect(JSON.parse(env["HOLDFAST_LEASE_NAMES"] ?? "")).toEqual(names);
    const fences = await Promise.all(names.map((name) => inspect(world.locks, name)));
    expect(JSON.parse(env["HOLDFAST_LEASE_FENCES"] ?? "")).toEqual(
      fences.map(({ fence }) => String(fence)),
    );
    expect(JSON.parse(env["HOLDFAST_LEASE_HOLDERS"] ?? "")).toHaveLength(3);
    expect(env["HOLDFAST_LEASE_NAME"]).toBeUndefined();
    expect(env["HOLDFAST_LEASE_FENCE"]).toBeUndefined();
    expect(fences.map(({ state }) => state)).toEqual(["free", "free", "free"]);
  });

  it.each([
    ["the same name twice", ["t", "t"]],
    ["--data for several", ["t", "u", "--data", "x"]],
    ["--namespace for several", ["t", "u", "--fair", "--namespace", "x"]],
  ])("refuses %s", async (_, words) => {
    const result = await world.run(["lock", ...words, "--", "echo", "mine"]);
    expect(result).toMatchObject({ status: 64, stdout: "" });
  });

  it("stores --data as a JSON string while holding the lock", async () => {
    const running = world.start([
      "lock",
      "told",
      "--data",
      "42",
      "--",
      "sh",
      "-c",
      "echo up; sleep 30",
    ]);
    await running.printed("up");
    expect((await inspect(world.locks, "told")).data).toBe("42");
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
  });

  it("exits with 75 after the wait, without running the command", async () => {
    const lease = await mutex(world.locks, "busy").acquire();
    const file = world.file("ran");
    for (const wait of ["0", "300ms"]) {
      const result = await world.run(["lock", "busy", "--wait", wait, "--", "touch", file]);
      expect(result).toMatchObject({ status: 75, stdout: "" });
      expect(result.stderr).toMatch(/^holdfast: [^\n]+\n$/);
    }
    expect(() => readFileSync(file)).toThrow();
    await lease.release();
  });

  it("waits without limit with --wait forever", async () => {
    const lease = await mutex(world.locks, "later").acquire();
    const running = world.start(["lock", "later", "--wait", "forever", "--", "echo", "mine"]);
    await pause(500);
    await lease.release();
    expect(await running.result).toMatchObject({ status: 0, stdout: "mine\n" });
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "ends its wait on %s, and leaves nothing in the table",
    async (signal) => {
      const lease = await mutex(world.locks, "waited").acquire();
      const before = world.requests;
      const running = world.start(["lock", "waited", "--", "echo", "mine"]);
      // The lock was refused, so the command waits, and handles signals.
      await until(() => world.requests > before, "it asks for the lock");
      running.kill(signal);
      const status = signal === "SIGINT" ? 130 : 143;
      expect(await running.result).toMatchObject({ status, stdout: "" });
      await lease.release();
      expect((await inspect(world.locks, "waited")).state).toBe("free");
    },
  );

  it.each([
    ["lock", "stuck"],
    ["semaphore", "stuck", "--permits", "1"],
    ["elect", "stuck", "--once"],
  ])("ends a command that is stuck after --max-hold: %s", async (...words) => {
    const startMs = performance.now();
    const ran = await world.run([...words, "--max-hold", "2s", "--", "sleep", "60"]);
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(ran.status).toBe(76);
    expect(ran.stderr).toContain("--max-hold 2s");
  });

  it.each([
    ["lock", "brief"],
    ["lock", "brief", "--read"],
    ["semaphore", "brief", "--permits", "1"],
    ["elect", "brief", "--once"],
  ])("runs a command that is shorter than a short --max-hold: %s", async (...words) => {
    const ran = await world.run([...words, "--max-hold", "2s", "--", "echo", "ran"]);
    expect(ran).toMatchObject({ status: 0, stdout: "ran\n", stderr: "" });
  });

  it("loses no output of a command when the pipe is read late", async () => {
    // Reads later than any output of holdfast itself.
    const script =
      'setTimeout(() => { for (let i = 0; i < 4000; i += 1) require("fs").writeSync(1, "y".repeat(100)) }, 500)';
    const running = world.spawn(["lock", "much", "--", process.execPath, "-e", script]);
    running.child.stdout?.pause();
    setTimeout(() => running.child.stdout?.resume(), 1_500);
    const { status, stdout } = await running.result;
    expect({ status, length: stdout.length }).toEqual({ status: 0, length: 400_000 });
  });
});
