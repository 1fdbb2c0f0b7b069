import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CliWorld, pause, type Spawned, until } from "../../packages/cli/test/support.js";
import { interruptHolder } from "../../packages/holdfast/src/admin/index.js";
import { inspect } from "../../packages/holdfast/src/index.js";

/** Interruptions of a command under `holdfast lock`, by other processes. */

// Notes when it starts, when it gets SIGTERM, and, every few milliseconds, that it acts. A stubborn one acts on.
const ACTOR = `
import { appendFileSync } from "node:fs";
const [file, manner] = process.argv.slice(2);
const note = (what) => appendFileSync(file, what + " " + process.hrtime.bigint() + "\\n");
note("start");
process.on("SIGTERM", () => {
  note("term");
  if (manner === "tidy") process.exit(0);
});
setInterval(() => note("act"), 5);
`;

const INTERRUPTED = 79;
const RENEW_MS = 1_000;
/** For the processes of a busy machine. */
const SLACK_MS = 500;

let world: CliWorld;
beforeEach(async () => {
  world = await CliWorld.start({ spawning: true });
  writeFileSync(world.file("actor.mjs"), ACTOR);
});
afterEach(() => world.close());

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** When the actor noted this, first and last. */
function timesOf(file: string, what: string): { firstMs: number; lastMs: number } | undefined {
  if (!existsSync(world.file(file))) return undefined;
  const times = readFileSync(world.file(file), "utf8")
    .split("\n")
    .filter((line) => line.startsWith(`${what} `))
    .map((line) => Number(BigInt(line.split(" ")[1] ?? 0)) / 1e6);
  const [firstMs, lastMs] = [times[0], times.at(-1)];
  return firstMs === undefined || lastMs === undefined ? undefined : { firstMs, lastMs };
}

function start(file: string, manner: "tidy" | "stubborn", ...options: string[]): Spawned {
  const command = [process.execPath, world.file("actor.mjs"), world.file(file), manner];
  return world.spawn(["lock", "deploy", "--owner", file, ...options, "--", ...command]);
}

async function acting(...args: Parameters<typeof start>): Promise<Spawned> {
  const running = start(...args);
  await until(() => timesOf(args[0], "act") !== undefined, "the command acts");
  return running;
}

/** Waits until a request of this label is in the record. */
async function asked(by: string): Promise<void> {
  while ((await inspect(world.locks, "deploy")).request?.by !== by) await pause(10);
}

const SHORT = ["--lease", "3s", "--renew", `${RENEW_MS}ms`];

it("a newer command interrupts the running one within its renewal period, and runs after it", async () => {
  const older = await acting("older", "tidy", ...SHORT);
  const newer = start("newer", "tidy", "--if-held", "interrupt", ...SHORT);
  await asked("newer");
  const askedMs = nowMs();
  expect(await older.result).toMatchObject({
    status: INTERRUPTED,
    stdout: "",
    stderr:
      'holdfast: newer interrupted the holder of lock "deploy", so holdfast stopped the command.\n',
  });
  const termMs = timesOf("older", "term")?.firstMs ?? Number.POSITIVE_INFINITY;
  expect(termMs - askedMs).toBeLessThan(RENEW_MS + SLACK_MS);
  await until(() => timesOf("newer", "start") !== undefined, "the newer command runs");
  expect(timesOf("newer", "start")?.firstMs).toBeGreaterThan(timesOf("older", "act")?.lastMs ?? 0);
  newer.kill("SIGINT");
  await newer.result;
});

it("a command with --listen 1s is stopped within 1.2 s, although its renewals are rarer", async () => {
  const running = await acting("only", "tidy", "--listen", "1s");
  const asking = interruptHolder(world.locks, "deploy", { by: "alice" });
  const askedMs = nowMs();
  expect(await asking).toMatchObject({ owner: "only" });
  expect((await running.result).status).toBe(INTERRUPTED);
  const termMs = timesOf("only", "term")?.firstMs ?? Number.POSITIVE_INFINITY;
  expect(termMs - askedMs).toBeLessThan(1_200);
  expect((await inspect(world.locks, "deploy")).state).toBe("free");
});

it("a command that ignores SIGTERM is killed after --kill-after, and the lock is free then", async () => {
  const options = ["--listen", "100ms", "--lease", "20s", "--kill-after", "600ms"];
  const running = await acting("only", "stubborn", ...options);
  const told = await world.run(["interrupt", "deploy", "--by", "alice"]);
  expect(told).toMatchObject({
    status: 0,
    stdout: 'Lock "deploy": its holder, only, was asked to stop.\n',
  });
  const result = await running.result;
  expect(result.status).toBe(INTERRUPTED);
  expect(result.stderr).toContain("alice interrupted");
  const termMs = timesOf("only", "term")?.firstMs ?? 0;
  const stoppedMs = timesOf("only", "act")?.lastMs ?? Number.POSITIVE_INFINITY;
  expect(stoppedMs - termMs).toBeGreaterThan(400);
  expect(stoppedMs - termMs).toBeLessThan(600 + SLACK_MS);
  expect((await inspect(world.locks, "deploy")).state).toBe("free");
});

it("a command that ignores SIGTERM is killed before its lease ends, whatever --kill-after", async () => {
  const options = ["--listen", "100ms", ...SHORT, "--kill-after", "1h"];
  const running = await acting("only", "stubborn", ...options);
  const askedMs = nowMs();
  await interruptHolder(world.locks, "deploy");
  expect((await running.result).status).toBe(INTERRUPTED);
  const stoppedMs = timesOf("only", "act")?.lastMs ?? Number.POSITIVE_INFINITY;
  expect(stoppedMs - askedMs).toBeGreaterThan(1_000);
  expect(stoppedMs - askedMs).toBeLessThan(3_000);
});
