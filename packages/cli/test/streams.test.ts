import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { election } from "../../holdfast/src/election/index.js";
import { fairLock, mutex } from "../../holdfast/src/index.js";
import { CLI_FILE, CliWorld } from "./support.js";

/** Output that has no reader, or no room. */

let world: CliWorld;
beforeAll(async () => {
  world = await CliWorld.start();
  await mutex(world.locks, "a").acquire();
  await fairLock(world.locks, "q").acquire();
  await election(world.locks, "e").campaign();
});
afterAll(() => world.close());

/** Runs a line of bash in which `holdfast` is the built command. Returns its last status, and its streams. */
async function bash(line: string) {
  const script = `holdfast() { "${process.execPath}" "${CLI_FILE}" "$@"; }\n${line}`;
  const child = spawn("bash", ["-c", script], { env: world.env });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const [status] = await once(child, "close");
  return { status: status as number, stdout, stderr };
}

const onLinux = it.runIf(process.platform === "linux");

describe("a command whose reader has gone", () => {
  onLinux.each(["watch a --poll 1h", "leader e --watch --poll 1h", "queue q --watch"])(
    "ends before the next change, and prints nothing on stderr: %s",
    async (words) => {
      const { stdout, stderr } = await bash(
        `holdfast ${words} | head -1; echo "\${PIPESTATUS[0]}"`,
      );
      expect(stdout.trim().split("\n")).toEqual([expect.any(String), "141"]);
      expect(stderr).toBe("");
    },
  );

  it("ends at the next output", async () => {
    const { stdout, stderr } = await bash(
      'holdfast inspect a | (exec <&-; sleep 0); echo "\x24{PIPESTATUS[0]}"',
    );
    expect(stdout.trim()).toBe("141");
    expect(stderr).toBe("");
  });
});

describe("output to a full device", () => {
  onLinux.each([
    "ls --json",
    "inspect a",
    "watch a",
    "history a --json",
    "table policy --for lock",
    "--help",
  ])("fails with 74: %s", async (words) => {
    const { status, stderr } = await bash(`holdfast ${words} > /dev/full`);
    expect(status).toBe(74);
    expect(stderr).toMatch(/could not be written \(ENOSPC\)/);
  });

  onLinux("does not end the command under a lock", async () => {
    expect(await bash("holdfast lock b --wait 0 -- true > /dev/full 2> /dev/full")).toMatchObject({
      status: 0,
    });
  });
});
