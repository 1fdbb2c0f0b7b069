import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { createReadStream, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { Crew } from "../src/demo/crew.js";
import { checkLedger } from "../src/demo/ledger.js";
import type { TableView } from "../src/serve/view-types.js";
import { CliWorld, pause, until } from "./support.js";
import { collected } from "./text.js";

const world = await shared(CliWorld.start({ spawning: true }));

type Event = { readonly event: string; readonly [field: string]: unknown };

const eventsOf = (stdout: string): Event[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Event);

/** Asks the server of the page until a reading is as wanted. */
async function tableOf(url: URL, isWanted: (view: TableView) => boolean) {
  const authorization = `Bearer ${url.searchParams.get("token")}`;
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(new URL("/api/table", url), { headers: { authorization } });
    const found = (await answer.json()) as { readonly view: TableView };
    if (isWanted(found.view)) return found;
    if (tries === 20) throw new Error(`The page never showed it: ${JSON.stringify(found)}`);
    await pause(250);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function workersIn(stdout: string): number[] {
  const workers = eventsOf(stdout.slice(0, stdout.lastIndexOf("\n"))).flatMap((one) =>
    one.event === "ready" ? Number(one["pid"]) : [],
  );
  expect(workers).toHaveLength(4);
  return workers;
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
}

describe("holdfast demo", () => {
  // Two at the same time: each demo waits for leases.
  it.concurrent("shows a kill, a stall and an orderly ledger, on a table in memory", async () => {
    const { status, stdout, stderr } = await world.run(["demo"], { AWS_PROFILE: "none-such" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("KILLED (SIGKILL)");
    expect(stdout).toContain("STOPPED (SIGSTOP)");
    expect(stdout).toContain("HELD BACK");
    expect(stdout.match(/TOOK OVER/g)).toHaveLength(2);
    expect(stdout).toMatch(/\bin order\b/i);
    expect(stdout).not.toContain(world.server.endpoint);
  }, 40_000);

  it.concurrent("fails with --break on a given table, and prints JSON", async () => {
    const { endpoint } = world.server;
    const words = ["demo", "--break", "--json", "--endpoint", endpoint, "--table", "demo"];
    const { status, stdout, stderr } = await world.run(words);
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "demo-failed" } });
    const events = eventsOf(stdout);
    const named = (event: string): Event | undefined => events.find((one) => one.event === event);
    expect(named("taken over")?.["tookMs"]).toBeGreaterThan(500);
    expect(named("wrote late")).toBeDefined();
    const check = named("check");
    expect(check).toMatchObject({ ok: false });
    const text = readFileSync(String(check?.["ledger"]), "utf8");
    expect(checkLedger(text).problems).toEqual(check?.["problems"]);
  }, 40_000);

  it.concurrent("leaves no process if its reader goes while a worker is stopped", async () => {
    const { child, result, text } = world.spawn(["demo", "--json"]);
    await until(() => text.stdout.includes('"paused"'), "a process is stopped", 28_000);
    const workers = workersIn(text.stdout);
    child.stdout?.destroy();
    expect((await result).status).toBe(141);
    await until(() => !workers.some(isAlive), "every worker has ended", 5_000).finally(() =>
      killAll(workers),
    );
  }, 40_000);

  it("says why it ends if it does not wait any longer for its workers", async () => {
    const ending = new AbortController();
    const next = new Crew(ending.signal).next("a grant", 60_000, () => undefined);
    ending.abort(new Error("The table is slow."));
    await expect(next).rejects.toMatchObject({
      ...{ code: "demo-failed", message: "The table is slow." },
    });
  });

  it("waits for nothing after its end", async () => {
    const next = new Crew(AbortSignal.abort(new Error("over"))).next("", 60_000, () => undefined);
    await expect(next).rejects.toMatchObject({ code: "demo-failed", message: "over" });
  });

  it("starts no worker after a signal that comes while it creates the table", async () => {
    const { dynamodb, endpoint } = world.server;
    const handle = dynamodb.handle;
    dynamodb.handle = (operation, body) => {
      if (operation === "CreateTable") running.kill("SIGTERM");
      return handle.call(dynamodb, operation, body);
    };
    const running = world.start(["demo", "--endpoint", endpoint, "--table", "late"]);
    const { status, stdout } = await running.result;
    dynamodb.handle = handle;
    expect({ status, stdout }).toEqual({ status: 143, stdout: "" });
  });

  it("ends a worker without a word if the demo ends during its write", async () => {
    const file = fileURLToPath(new URL("../dist/demo/worker.js", import.meta.url));
    const { endpoint } = world.server;
    // The worker blocks in its write until the pipe has a reader, and does not hear of the end before.
    const ledger = world.file("pipe");
    execFileSync("mkfifo", [ledger]);
    const setup = { worker: "w1", table: "locks", endpoint, lock: "alone", leaseMs: 5_000 };
    const words = [JSON.stringify({ ...setup, ledger, isBroken: false })];
    const child = fork(file, words, { env: world.env, silent: true });
    onTestFinished(() => void child.kill("SIGKILL"));
    const text = collected(child);
    child.on("message", ({ kind }: { readonly kind: string }) => {
      if (kind === "ready") child.send({ kind: "go" });
      if (kind !== "acquired") return;
      child.disconnect();
      createReadStream(ledger).resume();
    });
    const [status] = await once(child, "exit");
    expect({ status, ...text }).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("serves its table in a page until SIGINT, and leaves no process", async () => {
    const { kill, result, text } = world.start(["demo", "--serve", "--json"]);
    // Only SIGKILL ends a stopped process. A demo ends by itself after 28 s.
    await until(() => text.stdout.includes('"paused"'), "a process is stopped", 28_000);
    const [opened, opening] = eventsOf(text.stdout);
    expect(opened?.event).toBe("page");
    const url = new URL(String(opened?.["url"]));
    // The token becomes a cookie.
    const entered = await fetch(url, { redirect: "manual" });
    expect(entered.status).toBe(303);
    const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
    const page = await fetch(new URL("/", url), { headers: { cookie } });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("/page.js");
    expect((await fetch(new URL("/api/table", url))).status).toBe(401);
    const { view } = await tableOf(url, ({ rows }) => rows.some(({ state }) => state === "held"));
    expect(view.rows).toMatchObject([{ name: opening?.["lock"], kind: "lock", state: "held" }]);
    expect(view.rows[0]?.owner).toMatch(/^w\d$/);
    const workers = workersIn(text.stdout);
    onTestFinished(() => killAll(workers));
    kill("SIGINT");
    const { status, signal, stderr } = await result;
    expect({ status, signal, stderr }).toEqual({ status: 130, signal: null, stderr: "" });
    await until(() => !workers.some(isAlive), "every worker has ended");
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  }, 40_000);
});
