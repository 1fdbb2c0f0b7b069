import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { inspect, once } from "../../holdfast/src/index.js";
import { CommandFailed } from "../src/commands/scheduled-command.js";
import { CliWorld, type Running, until } from "./support.js";

const world = await shared(CliWorld.start());

const sh = (script: string): string[] => ["--", "sh", "-c", script];
const lines = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];

describe("holdfast once", () => {
  it("runs an occurrence once, with its status, and remembers how it ended", async () => {
    const words = ["once", "report", "--occurrence", "2026-01-01"];
    expect(await world.run([...words, ...sh("exit 3")])).toMatchObject({ status: 3, stdout: "" });
    const { data } = await inspect(world.locks, "report", { kind: "once" });
    expect(data).toMatchObject({ outcome: "failed", error: "CommandFailed: exit status 3" });
    expect(await world.run([...words, ...sh("exit 4")])).toMatchObject({
      ...{ status: 0, stderr: expect.stringContaining("has been begun") },
    });
    const { stdout } = await world.run([...words, "--json", ...sh("exit 4")]);
    expect(JSON.parse(stdout)).toEqual({ ran: false, why: "already" });
    const later = ["once", "report", "--occurrence", "2026-01-02", ...sh("exit 0")];
    expect((await world.run(later)).status).toBe(0);
  });

  it("is remembered by `holdfast runs`, also an occurrence that is no instant", async () => {
    await world.run(["once", "release", "--occurrence", "v1.2.0", ...sh("exit 3")]);
    expect((await world.run(["runs", "release"])).stdout).toBe(
      "name          release\nlast run      v1.2.0: failed\nerror         CommandFailed: exit status 3\n",
    );
    const { stdout } = await world.run(["runs", "release", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      ...{ name: "release", state: "free", occurrence: "v1.2.0", isOpen: false },
      ...{ outcome: "failed", error: "CommandFailed: exit status 3", last: "failed" },
    });
    const inspected = await world.run(["inspect", "release", "--kind", "once"]);
    expect(inspected.stdout).toMatch(
      /^occurrence +v1\.2\.0, failed\nerror +CommandFailed: exit status 3$/m,
    );
    let shown = "";
    await once(world.locks, "release", { occurrence: "v1.3.0", atMostFor: "1m" }, async () => {
      shown = (await world.run(["runs", "release"])).stdout;
    });
    expect(shown).toContain("v1.3.0: running");
    expect(shown).not.toContain("error");
  });

  it("ends at a signal that comes while the occurrence is begun, and runs nothing", async () => {
    const { dynamodb } = world.server;
    const handle = dynamodb.handle;
    const file = world.file("ran-to-its-end");
    const words = ["once", "late", "--occurrence", "2026-01-01", ...sh(`sleep 2; touch "${file}"`)];
    dynamodb.handle = (operation, body) => {
      if (operation !== "GetItem" && JSON.stringify(body).includes("2026-01-01")) {
        dynamodb.handle = handle;
        running.kill("SIGTERM");
      }
      return handle.call(dynamodb, operation, body);
    };
    const running = world.start(words);
    expect((await running.result).status).toBe(143);
    expect(existsSync(file)).toBe(false);
  });

  const CUT: readonly (readonly [string, number, (running: Running, guard: number) => void])[] = [
    ["the death of its guard", 70, (_, guard) => process.kill(guard, "SIGKILL")],
    ["a signal to holdfast", 143, (running) => running.kill("SIGTERM")],
  ];
  it.each(CUT)("runs again what was cut off with rerun: by %s", async (what, status, cut) => {
    const log = world.file(`${what}.log`);
    const words = ["once", what, "--occurrence", "2026-01-01", "--if-interrupted", "rerun"];
    // Later than the guard's message about the start.
    const script = `sleep 0.5; echo $PPID > "${log}"; sleep 60`;
    const first = world.start([...words, ...sh(script)]);
    await until(() => lines(log).length === 1, "the run");
    cut(first, Number(lines(log)[0]));
    expect(await first.result).toMatchObject({ status });
    expect(await world.run([...words, ...sh("exit 5")])).toMatchObject({ status: 5 });
    expect(await world.run([...words, ...sh("exit 6")])).toMatchObject({ status: 0 });
  });

  it("runs again what its guard has ended in an outage with rerun", async () => {
    const log = world.file("outage.log");
    const words = ["once", "outage", "--occurrence", "2026-01-01", "--if-interrupted", "rerun"];
    const script = `trap 'echo term >> "${log}"; exit 1' TERM; echo on >> "${log}"; while :; do sleep 0.02; done`;
    const first = world.start([...words, "--at-most-for", "4s", ...sh(script)]);
    await until(() => lines(log).length === 1, "the run");
    const { dynamodb } = world.server;
    const { handle } = dynamodb;
    const type = "com.amazon.coral.availability#ThrottlingException";
    dynamodb.handle = () => ({ status: 400, body: { __type: type, message: "slower" } });
    await until(() => lines(log).length === 2, "the end of the run");
    dynamodb.handle = handle;
    expect(await first.result).toMatchObject({ status: 76 });
    expect(await world.run([...words, ...sh("exit 5")])).toMatchObject({ status: 5 });
  });

  it("records in words that the command was not begun in time", () => {
    const outcome = { exitCode: null, signal: null, cause: "deadline", isGroupGone: true } as const;
    const { message } = new CommandFailed({ kind: "ended", ...outcome }, {} as never);
    expect(message).toBe("its lease was ending before the command ran");
  });

  it("needs an occurrence or a period", async () => {
    expect((await world.run(["once", "a", ...sh("true")])).status).toBe(64);
    expect((await world.run(["once", "a", "--every", "1d", ...sh("exit 5")])).status).toBe(5);
  });
});

describe("holdfast schedule", () => {
  it("runs the command at each instant on one machine, tells it which, and ends at a signal", async () => {
    const log = world.file("runs.log");
    const words = ["schedule", "tick", "--every", "1s", "--owner", "me"];
    const command = sh(`echo "$HOLDFAST_DUE $HOLDFAST_ATTEMPT $HOLDFAST_LEASE_NAME" >> "${log}"`);
    const both = [1, 2].map(() => world.start([...words, ...command]));
    await until(() => lines(log).length >= 3, "three runs");
    for (const one of both) one.kill("SIGTERM");
    for (const one of both) expect(await one.result).toMatchObject({ status: 143, stdout: "" });
    const found = lines(log);
    expect(new Set(found).size).toBe(found.length);
    expect(found[0]).toMatch(/^\d{4}-.*\.000Z 1 tick$/);
    const { stdout } = await world.run(["runs", "tick"]);
    expect(stdout).toMatch(/^rule +every 1s$/m);
    expect(stdout).toMatch(/^last run +\d{4}.*, attempt 1: completed$/m);
    expect(stdout).toMatch(/^by +me$/m);
  });

  it.each([
    [0, "completed"],
    [3, "failed"],
  ])("ends with its command at a signal: status %s is %s", async (status, last) => {
    const log = world.file(`${last}.log`);
    const script = `trap 'exit ${status}' TERM; echo begun > "${log}"; while :; do sleep 0.05; done`;
    const words = ["schedule", last, "--every", "1s", "--retries", "2", "--retry-after", "1h"];
    const running = world.start([...words, ...sh(script)]);
    await until(() => lines(log).length === 1, "a run");
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
    const { retryAt, ...told } = JSON.parse((await world.run(["runs", last, "--json"])).stdout);
    expect(told).toMatchObject({ last, attempt: 1 });
    // Another machine repeats a command that has failed at once.
    expect(retryAt).toBe(status === 0 ? undefined : told.ended);
  });

  it("repeats a failed command as --retries says, and `runs` tells the failure", async () => {
    const log = world.file("failures.log");
    const script = `echo "$HOLDFAST_ATTEMPT" >> "${log}"; exit 9`;
    const words = ["schedule", "bad", "--every", "1d", "--retries", "2", "--retry-after", "50ms"];
    // The first instant is in the past of a record that an earlier start has made.
    const occurrence = new Date(Date.now() - 2 * 86_400_000);
    await once(world.locks, "bad", { occurrence }, () => undefined);
    const running = world.start([...words, ...sh(script)]);
    await until(() => lines(log).length === 3, "three attempts");
    running.kill("SIGINT");
    expect((await running.result).status).toBe(130);
    expect(lines(log)).toEqual(["1", "2", "3"]);
    const { stdout } = await world.run(["runs", "bad", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ last: "failed", attempt: 3, lateMs: 0 },
      lastFailure: { error: "CommandFailed: exit status 9", attempt: 3 },
    });
  });

  it("ends with 78 on a missing table, and with 77 without permission", async () => {
    const words = ["schedule", "a", "--every", "1m"];
    const missing = await world.run([...words, "--table", "nosuch", ...sh("true")]);
    expect(missing).toMatchObject({ status: 78, stderr: expect.stringContaining('"nosuch"') });
    world.server.dynamodb.allows = () => false;
    const denied = await world.run([...words, ...sh("true")]);
    world.server.dynamodb.allows = undefined;
    expect(denied.status).toBe(77);
  });

  it("outlasts an outage at its start", async () => {
    const { dynamodb } = world.server;
    const handle = dynamodb.handle;
    const type = "com.amazon.coral.availability#ThrottlingException";
    dynamodb.handle = () => ({ status: 400, body: { __type: type, message: "slower" } });
    const running = world.start(["schedule", "late", "--every", "1s", ...sh("echo ran")]);
    await running.printed("throttle", "stderr");
    dynamodb.handle = handle;
    await running.printed("ran");
    running.kill("SIGTERM");
    expect((await running.result).status).toBe(143);
  });

  it("refuses a wrong rule, and two names", async () => {
    const retries = ["x", ""].map((count) => ["--every", "1m", "--retries", count]);
    for (const wrong of [["--cron", "61 * * * *"], [], ...retries]) {
      expect((await world.run(["schedule", "a", ...wrong, ...sh("true")])).status).toBe(64);
    }
    expect((await world.run(["schedule", "a", "b", "--every", "1m", ...sh("true")])).status).toBe(
      64,
    );
  });

  it("says that no run is remembered", async () => {
    expect(await world.run(["runs", "none"])).toMatchObject({
      ...{ status: 0, stderr: 'holdfast: No run of "none" is remembered.\n' },
    });
  });
});
