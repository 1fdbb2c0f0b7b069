import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliWorld, pause, type Spawned, until } from "../../packages/cli/test/support.js";
import { releaseByHolder } from "../../packages/holdfast/src/admin/index.js";
import { inspect, type Lease, mutex } from "../../packages/holdfast/src/index.js";

const LEASE_MS = 2_000;
const lock = (leaseMs: number): string[] => {
  return ["lock", "job", "--lease", `${leaseMs}ms`, "--renew", "400ms", "--"];
};

/**
 * A process that appends to a file every few milliseconds while alive, with a child that does the same. A
 * stubborn process ignores SIGTERM; with `leaves` the parent ends and leaves the child behind.
 */
const ACTOR = `
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
const [file, manner, generation] = process.argv.slice(2);
if (manner === "stubborn") process.on("SIGTERM", () => {});
if (generation === "parent") {
  spawn(process.execPath, [process.argv[1], file, manner, "child"], { stdio: "inherit" });
}
if (manner === "leaves" && generation === "parent") setTimeout(() => process.exit(5), 600);
setInterval(() => {
  appendFileSync(file + "." + generation, process.hrtime.bigint() + " " + process.pid + "\\n");
}, 5);
`;

let world: CliWorld;
beforeEach(async () => {
  world = await CliWorld.start({ spawning: true });
  writeFileSync(world.file("actor.mjs"), ACTOR);
});
afterEach(() => world.close());

interface Act {
  readonly atMs: number;
  readonly pid: number;
}

function actsOf(generation: "parent" | "child"): Act[] {
  const file = world.file(`acts.${generation}`);
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at, pid] = line.split(" ");
      return { atMs: Number(BigInt(at ?? 0)) / 1e6, pid: Number(pid) };
    });
}

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const lastActMs = (generation: "parent" | "child"): number => actsOf(generation).at(-1)?.atMs ?? 0;

/** Starts an acting command with its child, and waits until both act. */
async function act(
  manner: "gentle" | "stubborn" | "leaves",
  leaseMs: number = LEASE_MS,
): Promise<Spawned> {
  const words = [process.execPath, world.file("actor.mjs"), world.file("acts"), manner, "parent"];
  const running = world.spawn([...lock(leaseMs), ...words]);
  await until(() => actsOf("parent").length > 3 && actsOf("child").length > 3, "both act");
  return running;
}

/** Checks that the command and the child acted recently, and never after `ms`. */
function expectNoActAfter(ms: number): void {
  expect(lastActMs("parent")).toBeLessThan(ms);
  expect(lastActMs("child")).toBeLessThan(ms);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/\) [ZX] /.test(stat);
  } catch (error) {
    // Without /proc a process that can be signalled counts as alive.
    return (error as NodeJS.ErrnoException).code === "ENOENT" && existsSync("/proc") === false;
  }
}

function childrenOf(pid: number): number[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child = 0]) => child);
}

/**
 * A rival in this process that takes the lock as soon as possible. Returns the lease and the time of the grant.
 */
async function rivalTakes(): Promise<{ readonly lease: Lease; readonly atMs: number }> {
  const poll = { min: "20ms", max: "50ms" };
  const lease = await mutex(world.locks, "job").acquire({ wait: "20s", poll });
  return { lease, atMs: nowMs() };
}

describe("the guard of a locked command", () => {
  it("ends the command and the child before the deadline while holdfast is stopped", async () => {
    const running = await act("stubborn");
    const taken = rivalTakes();
    process.kill(running.pid, "SIGSTOP");
    const stoppedAtMs = nowMs();
    const { lease, atMs } = await taken;
    await pause(300);
    // The deadline ended both, and not the stop.
    expect(lastActMs("parent")).toBeGreaterThan(stoppedAtMs + LEASE_MS / 4);
    expectNoActAfter(Math.min(atMs, stoppedAtMs + LEASE_MS));
    process.kill(running.pid, "SIGCONT");
    const { status, stderr } = await running.result;
    expect(status).toBe(76);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
    // The late discovery by the stopped process does not affect the new holder.
    lease.assertHeld();
    await lease.renew();
    await lease.release();
  });

  it("ends the command and the child before the deadline when holdfast is killed", async () => {
    const running = await act("stubborn");
    const [guard = 0] = childrenOf(running.pid);
    const taken = rivalTakes();
    process.kill(running.pid, "SIGKILL");
    const killedAtMs = nowMs();
    const { lease, atMs } = await taken;
    await pause(300);
    expectNoActAfter(Math.min(atMs, killedAtMs + LEASE_MS));
    expect(isAlive(guard)).toBe(false);
    await lease.release();
  });

  it("kills without SIGTERM after waking past the deadline", async () => {
    const leaseMs = 5_000;
    const running = await act("stubborn", leaseMs);
    const [guard = 0] = childrenOf(running.pid);
    process.kill(running.pid, "SIGSTOP");
    process.kill(guard, "SIGSTOP");
    await pause(leaseMs + 200);
    process.kill(guard, "SIGCONT");
    const continuedAtMs = nowMs();
    await pause(1_000);
    // A guard awake in time would have given the group half a second to clean up.
    expectNoActAfter(continuedAtMs + 300);
    process.kill(running.pid, "SIGCONT");
    expect((await running.result).status).toBe(76);
  });

  it("sends SIGTERM at once when holdfast is killed", async () => {
    const running = await act("gentle");
    const killedAtMs = nowMs();
    process.kill(running.pid, "SIGKILL");
    await pause(1_000);
    expectNoActAfter(killedAtMs + 500);
  });

  it("ends the command in time when the table stops answering", async () => {
    const running = await act("stubborn");
    await world.server.close();
    const closedAtMs = nowMs();
    const { status } = await running.result;
    expect(status).toBe(76);
    expectNoActAfter(closedAtMs + LEASE_MS);
    expect(isAlive(actsOf("child").at(-1)?.pid ?? 0)).toBe(false);
  });

  it("stops the command when the lease is lost, and exits with 76", async () => {
    const running = await act("stubborn");
    const { holder } = await inspect(world.locks, "job");
    expect(await releaseByHolder(world.locks, "job", holder ?? "")).toBe(true);
    const freedAtMs = nowMs();
    const { status, stderr } = await running.result;
    expect(status).toBe(76);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
    // At the next renewal, which is also the next chance to detect the loss.
    expectNoActAfter(freedAtMs + 1_000);
  });

  it("leaves the work to holdfast when killed: the command ends, and the exit status is 70", async () => {
    const running = await act("stubborn");
    const [guard = 0] = childrenOf(running.pid);
    const killedAtMs = nowMs();
    process.kill(guard, "SIGKILL");
    const { status, stderr } = await running.result;
    expect(status).toBe(70);
    expect(stderr).toMatch(/^holdfast: [^\n]*guard[^\n]+\n$/);
    expectNoActAfter(killedAtMs + 500);
    expect((await inspect(world.locks, "job")).state).toBe("free");
  });

  it("ends with the command, and ignores signals", async () => {
    const running = await act("gentle");
    const [guard = 0] = childrenOf(running.pid);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
      process.kill(guard, signal);
    }
    await pause(300);
    expect(isAlive(guard)).toBe(true);
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
    await until(() => !isAlive(guard), "the guard has ended");
  });

  it("ends the rest of the command's group before the release of the lock", async () => {
    const running = await act("leaves");
    const { lease, atMs } = await rivalTakes();
    expect((await running.result).status).toBe(5);
    await pause(200);
    expectNoActAfter(atMs);
    await lease.release();
  });

  it("keeps the lock while the command runs, for many leases", async () => {
    const running = await act("gentle");
    await pause(2 * LEASE_MS);
    expect(lastActMs("parent")).toBeGreaterThan(nowMs() - 500);
    running.kill("SIGTERM");
    expect(await running.result).toMatchObject({ status: 143, stderr: "" });
  });
});

describe("a signal to holdfast", () => {
  it("reaches the whole group, for each kind of signal", async () => {
    const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
    const names = signals.map((signal) => signal.slice(3)).join(" ");
    const member = (who: string): string =>
      `for s in ${names}; do trap "echo ${who} $s" $s; done; echo ${who} up; ` +
      `while :; do sleep 0.02; done`;
    const script = `(${member("child")}) & ${member("parent")}`;
    const running = world.spawn(["lock", "signals", "--", "sh", "-c", script]);
    await running.printed("child up");
    await running.printed("parent up");
    for (const signal of signals) {
      running.kill(signal);
      await running.printed(`parent ${signal.slice(3)}`);
      // A shell starts background jobs without the signals of the keyboard.
      if (signal !== "SIGINT" && signal !== "SIGQUIT") {
        await running.printed(`child ${signal.slice(3)}`);
      }
    }
    process.kill(running.pid, "SIGKILL");
  });

  it("lets the command choose the exit status", async () => {
    const script = 'trap "exit 3" INT; echo up; while :; do sleep 0.02; done';
    const running = world.spawn(["lock", "chosen", "--", "sh", "-c", script]);
    await running.printed("up");
    running.kill("SIGINT");
    expect(await running.result).toMatchObject({ status: 3, stderr: "" });
  });
});
