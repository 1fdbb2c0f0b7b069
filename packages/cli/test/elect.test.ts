import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { election } from "../../holdfast/src/election/index.js";
import { CliWorld, pause, until } from "./support.js";

let world: CliWorld;
beforeEach(async () => {
  world = await CliWorld.start();
});
afterEach(() => world.close());

const FAST = ["--lease", "2s", "--renew", "300ms", "--poll", "200ms"];
const elect = (...more: string[]): string[] => ["elect", "pool", ...FAST, ...more];

function linesOf(file: string): string[] {
  const path = world.file(file);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

/** Appends a line to a file at once and then every 20 ms, until ended. */
function ticking(file: string): string[] {
  const script = `trap 'exit 0' TERM; while :; do echo "$HOLDFAST_LEASE_FENCE" >> "$1"; sleep 0.02; done`;
  return ["sh", "-c", script, "-", world.file(file)];
}

describe("holdfast elect", () => {
  it("runs the command during a term, with the term in the environment, and exits with the command's status", async () => {
    const script =
      'echo "$HOLDFAST_LEASE_NAME $HOLDFAST_LEASE_FENCE $HOLDFAST_LEASE_OWNER"; exit 7';
    const words = elect("--once", "--owner", "me", "--", "sh", "-c", script);
    const { status, stdout, stderr } = await world.run(words);
    expect({ status, stderr }).toEqual({ status: 7, stderr: "" });
    const leader = await election(world.locks, "pool").leader();
    expect(stdout).toBe(`pool ${leader.term} me\n`);
    expect(leader.leader).toBeUndefined();
  });

  it("campaigns again after the command has ended", async () => {
    const running = world.start(elect("--", "sh", "-c", `echo ran >> ${world.file("runs")}`));
    await until(() => linesOf("runs").length === 3, "it ran three times");
    running.kill("SIGTERM");
    await running.result;
    expect(await election(world.locks, "pool").leader()).toMatchObject({ leader: undefined });
  });

  it("runs the command again at the interval, in a single term", async () => {
    const script = `echo "$HOLDFAST_LEASE_FENCE" >> ${world.file("runs")}`;
    const running = world.start(elect("--every", "100ms", "--", "sh", "-c", script));
    await until(() => linesOf("runs").length >= 4, "it ran four times");
    expect(new Set(linesOf("runs")).size).toBe(1);
    running.kill("SIGINT");
    await running.result;
    expect((await election(world.locks, "pool").leader()).leader).toBeUndefined();
  });

  it("starts no further run, and tells once, when the guard has ended one before the end of the term", async () => {
    const command = ["sh", "-c", `echo on >> ${world.file("runs")}; sleep 60`];
    const words = ["elect", "pool", "--once", "--every", "50ms", "--max-hold", "4s"];
    const { status, stderr } = await world.run([...words, "--", ...command]);
    expect({ status, runs: linesOf("runs") }).toEqual({ status: 76, runs: ["on"] });
    expect(stderr).toMatch(/^holdfast: Lock "pool" was not renewed in time[^\n]*\n$/);
  });

  it("runs again once the term is renewed after an outage", async () => {
    const script = `echo on >> ${world.file("runs")}; exec sleep 60`;
    const running = world.start(elect("--every", "50ms", "--", "sh", "-c", script));
    await until(() => linesOf("runs").length === 1, "it runs");
    const { dynamodb } = world.server;
    const { handle } = dynamodb;
    const type = "com.amazon.coral.availability#ThrottlingException";
    dynamodb.handle = () => ({ status: 400, body: { __type: type, message: "slower" } });
    await running.printed("not renewed in time", "stderr");
    dynamodb.handle = handle;
    await until(() => linesOf("runs").length === 2, "it runs again");
    running.kill("SIGTERM");
    await running.result;
  });

  it("runs again after a run that ended just after a late renewal", async () => {
    const [log, go] = [world.file("runs"), world.file("go")];
    const tidy = `echo term >> "${log}"; while [ ! -e "${go}" ]; do sleep 0.02; done; exit 1`;
    const script = `trap '${tidy}' TERM; echo on >> "${log}"; while :; do sleep 0.02; done`;
    const words = ["elect", "pool", "--lease", "6s", "--renew", "2s", "--every", "2s"];
    const running = world.start([...words, "--", "sh", "-c", script]);
    await until(() => linesOf("runs").length === 1, "it runs");
    const { dynamodb } = world.server;
    const { handle } = dynamodb;
    const type = "com.amazon.coral.availability#ThrottlingException";
    dynamodb.handle = () => ({ status: 400, body: { __type: type, message: "slower" } });
    await until(() => linesOf("runs").length === 2, "the guard ends it");
    dynamodb.handle = (operation, body) => {
      // The late renewal, and then the end of the run.
      if (operation === "UpdateItem") setTimeout(() => writeFileSync(go, ""), 50);
      return handle.call(dynamodb, operation, body);
    };
    await until(() => linesOf("runs").length > 2, "it runs again");
    expect(linesOf("runs")).toEqual(["on", "term", "on"]);
    dynamodb.handle = handle;
    running.kill("SIGTERM");
    await running.result;
  });

  it("runs the command in a single process at a time, and in the next process soon after the first is ended", async () => {
    // Longer than this test: only a resignation makes room for the second process.
    const long = ["--lease", "10m", "--renew", "1m"];
    const first = world.start(elect(...long, "--", ...ticking("first")));
    await until(() => linesOf("first").length > 3, "the first one runs");
    const second = world.start(elect(...long, "--", ...ticking("second")));
    await pause(1_000);
    expect(linesOf("second")).toEqual([]);
    first.kill("SIGTERM");
    expect((await first.result).status).toBe(0);
    const last = linesOf("first").length;
    await until(() => linesOf("second").length > 3, "the second one runs");
    expect(linesOf("first").length).toBe(last);
    expect(Number(linesOf("second")[0])).toBeGreaterThan(Number(linesOf("first")[0]));
    second.kill("SIGTERM");
    await second.result;
  });

  it("ends the command when the leadership is lost, prints the loss, and continues as a follower", async () => {
    const running = world.start(elect("--json", "--", ...ticking("runs")));
    await until(() => linesOf("runs").length > 3, "it runs");
    // Frees the record by hand, as an operator might.
    await world.client.send(
      new UpdateItemCommand({
        TableName: "locks",
        Key: { pk: { S: "leader#pool" }, sk: { S: "lease" } },
        UpdateExpression: "REMOVE holder",
      }),
    );
    const term = await election(world.locks, "pool", { failover: "2s" }).campaign();
    // Printed after the end of the command.
    await running.printed('{"error":{"code":"lost"', "stderr");
    const count = linesOf("runs").length;
    await pause(300);
    expect(linesOf("runs").length).toBe(count);
    await term.release();
    await until(() => linesOf("runs").length > count, "it leads again");
    running.kill("SIGTERM");
    const { stderr } = await running.result;
    const kinds = stderr.match(/"kind":"(\w+)"/g);
    expect(kinds).toEqual([
      '"kind":"elected"',
      '"kind":"lost"',
      '"kind":"elected"',
      '"kind":"resigned"',
    ]);
    expect(stderr).toContain('{"error":{"code":"lost"');
  });

  it("resigns on request, in order, and `resign` waits for the resignation", async () => {
    const running = world.start(elect("--", ...ticking("runs")));
    await until(() => linesOf("runs").length > 3, "it runs");
    const asked = await world.run(["resign", "pool", "--json"]);
    expect(asked).toMatchObject({ status: 0, stdout: '{"name":"pool","resigned":true}\n' });
    running.kill("SIGTERM");
    await running.result;
  });

  it("kills a stubborn command half a lease after the request to resign", async () => {
    const running = world.spawn(
      elect(
        "--",
        "sh",
        "-c",
        `trap '' TERM; echo up >> ${world.file("up")}; while :; do sleep 0.05; done`,
      ),
    );
    await until(() => linesOf("up").length > 0, "it runs");
    expect(await world.run(["resign", "pool"])).toMatchObject({ status: 0 });
    running.kill("SIGKILL");
  });

  it("exits at once, with a distinct status, if the command cannot run", async () => {
    expect(await world.run(elect("--", "no-such-command"))).toMatchObject({ status: 127 });
    expect(await world.run(elect())).toMatchObject({ status: 64 });
    expect(await world.run(elect("--failover", "9s", "--", "true"))).toMatchObject({ status: 64 });
    expect(await world.run(elect("--every", "x", "--", "true"))).toMatchObject({ status: 64 });
  });

  it("ends its wait on a signal, and leaves nothing in the table", async () => {
    const term = await election(world.locks, "pool").campaign();
    const before = world.requests;
    const running = world.start(elect("--", "true"));
    await until(() => world.requests > before + 1, "it stands by");
    running.kill("SIGINT");
    expect((await running.result).status).toBe(130);
    expect(await election(world.locks, "pool").leader()).toMatchObject({ holder: term.holder });
  });
});

describe("holdfast leader", () => {
  it("prints the leader, or exits with 75", async () => {
    const nobody = await world.run(["leader", "pool"]);
    expect(nobody.status).toBe(75);
    expect(nobody.stdout).toMatch(/^"pool" [^\n]*\n$/);
    const candidate = election(world.locks, "pool", { owner: "worker-1" });
    const term = await candidate.campaign({ value: { at: "10.0.0.1" } });
    const { stdout, status } = await world.run(["leader", "pool"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^"pool" .*\\bworker-1\\b.*\\bterm ${term.fence}\\b`));
    const told = JSON.parse((await world.run(["leader", "pool", "--json"])).stdout) as object;
    expect(told).toMatchObject({
      leader: "worker-1",
      term: String(term.fence),
      value: { at: "10.0.0.1" },
    });
  });

  it("prints each change with --watch until interrupted", async () => {
    const running = world.start(["leader", "pool", "--watch", "--poll", "50ms", "--json"]);
    await running.printed('"name":"pool"');
    const term = await election(world.locks, "pool", { owner: "worker-1" }).campaign();
    await running.printed('"leader":"worker-1"');
    await term.release();
    running.kill("SIGINT");
    expect((await running.result).status).toBe(130);
  });
});

describe("holdfast leader --poll", () => {
  it("is at least 50ms, as with `watch`", async () => {
    const running = world.start(["leader", "pool", "--watch", "--poll", "49ms"]);
    await until(() => running.text.stdout + running.text.stderr !== "", "an answer");
    running.kill("SIGINT");
    expect(await running.result).toMatchObject({
      ...{ status: 64, stderr: expect.stringContaining("--poll must lie between 50 ms") },
    });
  });
});

describe("holdfast resign", () => {
  it("sends no request to resign without a leader", async () => {
    const { status, stdout } = await world.run(["resign", "pool"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^"pool" [^\n]*\bfree\b[^\n]*\n$/);
  });

  it("exits with 75 if the leader has not resigned in time", async () => {
    await election(world.locks, "pool", { lease: "2s", renew: "300ms" }).campaign();
    const { status, stderr } = await world.run(["resign", "pool"]);
    expect(status).toBe(75);
    expect(stderr).toMatch(/\bresigned\b/);
  });
});
