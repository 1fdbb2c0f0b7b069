import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commandLineOf } from "../../packages/cli/src/guard/command-line.js";
import { processHost } from "../../packages/cli/src/host.js";
import { CLI_FILE, CliWorld, until } from "../../packages/cli/test/support.js";

/** What can outlive the lease of `holdfast lock`, and the options against it: docs/guard.md. */

let world: CliWorld;
beforeEach(async () => {
  world = await CliWorld.start({ spawning: true });
});
afterEach(() => world.close());

const isLinux = process.platform === "linux";
const commandOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts a command that prints its process id and the id of its guard. */
async function started(...options: string[]) {
  const script = "echo $$ $PPID; exec sleep 60";
  const running = world.spawn(["lock", "job", ...options, "--", "sh", "-c", script]);
  let text = "";
  running.child.stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  await until(() => /^\d+ \d+\n/.test(text), "the command has started");
  const [command = 0, guard = 0] = text.trim().split(" ").map(Number);
  return { running, command, guard };
}

// Without /proc and setpriv, these tests would test nothing.
describe.runIf(isLinux)("holdfast lock on Linux", () => {
  it("names its guard so that `pkill -f holdfast` does not hit both", async () => {
    const { running, guard, command } = await started("--owner", "pkilled");
    await until(() => commandOf(guard).startsWith("lease-guard"), "the guard has its title");
    expect(commandOf(guard)).not.toContain("holdfast");
    // Not the processes of other files of tests, which run at the same time.
    const own = `${CLI_FILE} lock job --owner pkilled`;
    expect(commandOf(running.pid)).toContain(own);
    execFileSync("pkill", ["-9", "-f", own]);
    await until(() => !isAlive(command), "the guard has ended the command");
  });

  it("--die-with-guard: the command dies with holdfast and its guard", async () => {
    const { running, command, guard } = await started("--die-with-guard");
    process.kill(running.pid, "SIGSTOP");
    process.kill(guard, "SIGKILL");
    await until(() => !isAlive(command), "the command is dead");
    process.kill(running.pid, "SIGKILL");
  });

  it("--die-with-guard passes arguments, status and a missing command on", async () => {
    const run = (...command: string[]) =>
      world.run(["lock", "job", "--die-with-guard", "--", ...command]);
    expect(await run("sh", "-c", 'echo "$1"; exit 7', "sh", "--a b")).toMatchObject({
      ...{ status: 7, stdout: "--a b\n" },
    });
    expect((await run("no-such-command")).status).toBe(127);
  });

  it("--die-with-guard without setpriv exits with 64, and runs nothing", async () => {
    const file = world.file("ran");
    const words = ["lock", "job", "--die-with-guard", "--", "/usr/bin/touch", file];
    const { status, stderr } = await world.run(words, { PATH: world.file("empty") });
    expect({ status, stderr }).toEqual({ status: 64, stderr: expect.stringContaining("setpriv") });
    expect(existsSync(file)).toBe(false);
  });

  it("refuses arguments whose bytes are not UTF-8 with 64", async () => {
    const script = world.file("raw.sh");
    writeFileSync(
      script,
      `exec "$@" lock "$(printf 'caf\\351')" -- touch "${world.file("ran")}"\n`,
    );
    const run = () =>
      execFileSync("sh", [script, process.execPath, CLI_FILE], { env: world.env, stdio: "pipe" });
    expect(run).toThrow(expect.objectContaining({ status: 64 }));
    expect(existsSync(world.file("ran"))).toBe(false);
    // A replacement character itself is a character like any other.
    expect((await world.run(["lock", "a\ufffdb", "--", "true"])).status).toBe(0);
  });
});

describe("holdfast lock", () => {
  it("ends at a hang-up, and goes on with --ignore-hup", async () => {
    const plain = await started();
    plain.running.kill("SIGHUP");
    expect((await plain.running.result).status).toBe(129);
    const { running, command } = await started("--ignore-hup");
    running.kill("SIGHUP");
    // A second signal, to know that the first has been handled.
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
    expect(isAlive(command)).toBe(false);
  });

  it("is refused on Windows", () => {
    const host = { ...processHost(), platform: "win32" } as const;
    expect(() => commandLineOf(["true"], {}, host, { note: () => undefined })).toThrow(
      expect.objectContaining({ exitCode: 78, message: expect.stringContaining("Windows") }),
    );
  });
});
