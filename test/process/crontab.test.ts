import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CLI_FILE } from "../../packages/cli/test/support.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { ProcessScene } from "../support/process-scene.js";
import { eventually } from "../support/sdk.js";

const LEASE_MS = 2_000;
const BOUND_MS = 500;
// The wall clock's allowance of a first grant, the steps of two `Date`s, and a machine with two busy cores.
const SLACK_MS = 4_000;
const HELD = 75;

const DOCUMENT = fileURLToPath(new URL("../../docs/cli.md", import.meta.url));

/** The crontab of the document: its variables, and its only command. */
function crontab() {
  const text = /^```crontab\n([\s\S]*?)^```$/m.exec(readFileSync(DOCUMENT, "utf8"))?.[1] ?? "";
  const variables = [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
  const command = /^(?:[\d*/,-]+ ){5}(.+)$/m.exec(text)?.[1] ?? "";
  return { variables: Object.fromEntries(variables) as NodeJS.ProcessEnv, command };
}

describeOnDynamoDBLocal("the crontab of docs/cli.md", (endpoint) => {
  let scene: ProcessScene;
  let directory: string;
  const started: ChildProcess[] = [];
  beforeEach(async () => {
    scene = await ProcessScene.open(endpoint());
    directory = mkdtempSync(join(tmpdir(), "holdfast-crontab-test-"));
    // The command of the document, with a short lease.
    const shim = `#!/bin/sh\nsub=$1; shift\nexec "${process.execPath}" "${CLI_FILE}" "$sub" --lease ${LEASE_MS}ms "$@"\n`;
    writeFileSync(join(directory, "holdfast"), shim, { mode: 0o755 });
    // The first run hangs; its process is killed.
    const report = `#!/bin/sh\n[ -e hung ] && exec touch done\n: > hung\nexec sleep 60\n`;
    writeFileSync(join(directory, "report.sh"), report, { mode: 0o755 });
  });
  afterEach(async () => {
    for (const child of started.splice(0)) child.kill("SIGKILL");
    await scene.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Runs the command as cron does: by `sh`, which becomes the command. */
  function run() {
    const { variables, command } = crontab();
    const env = {
      ...variables,
      PATH: `${directory}:${process.env["PATH"]}`,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      HOLDFAST_ENDPOINT: endpoint(),
      HOLDFAST_TABLE: scene.table,
      HOLDFAST_MAX_CLOCK_ERROR: `${BOUND_MS}ms`,
    };
    const child = spawn("sh", ["-c", `exec ${command}`], { cwd: directory, env, stdio: "ignore" });
    started.push(child);
    const status = new Promise<number | null>((resolve) => child.once("exit", resolve));
    return { child, status };
  }

  it("skips while the lock of a killed job is held, and runs at the first command after lease and bound", async () => {
    expect(crontab().command).toMatch(/^holdfast lock \S+ --wait 0 -- /);
    const first = run();
    await eventually(() => existsSync(join(directory, "hung")), 20_000);
    first.child.kill("SIGKILL");
    await first.status;
    const killedMs = performance.now();
    // The last renewal was sent at most a third of the lease before the kill.
    const earliestMs = killedMs + (LEASE_MS * 2) / 3 - 300 + BOUND_MS;
    const latestMs = killedMs + LEASE_MS + BOUND_MS + SLACK_MS;
    const statuses: (number | null)[] = [];
    let [startedMs, firstEndedMs] = [0, Number.POSITIVE_INFINITY];
    while (statuses.at(-1) !== 0 && startedMs < latestMs) {
      startedMs = performance.now();
      statuses.push(await run().status);
      firstEndedMs = Math.min(firstEndedMs, performance.now());
    }
    // On a busy machine even the first command may be slower than the lease.
    if (firstEndedMs < earliestMs) expect(statuses[0]).toBe(HELD);
    expect(statuses.slice(0, -1).filter((status) => status !== HELD)).toEqual([]);
    expect(statuses.at(-1)).toBe(0);
    expect(performance.now()).toBeGreaterThan(earliestMs);
    expect(existsSync(join(directory, "done"))).toBe(true);
  }, 60_000);
});
