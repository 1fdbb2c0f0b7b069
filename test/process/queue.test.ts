import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listQueue } from "../../packages/holdfast/src/admin/index.js";
import type { QueuedWaiter } from "../../packages/holdfast/src/admin/queue.js";
import { fairLock } from "../../packages/holdfast/src/index.js";
import { ProcessScene } from "../support/process-scene.js";
import { eventually, pause } from "../support/sdk.js";
import type { Worker } from "../support/worker.js";

// The long form: QUEUE_WAITERS=300 npx vitest run test/process/queue.test.ts
const WAITERS = Number(process.env["QUEUE_WAITERS"] ?? 60);
const PROCESSES = 6;
const NAME = "queued";
const LEASE_MS = 8_000;

interface Entry {
  readonly what: "begin" | "end";
  readonly fence: string;
  readonly pid: number;
  readonly waiter: number;
}

/** Each process, as often as its places hold calls; the calls of a process are numbered in their order. */
function inOrder(places: readonly QueuedWaiter[]): string[] {
  const made = new Map<string, number>();
  return places.flatMap(({ owner = "", calls }) => {
    const [pid = ""] = owner.split(" ");
    const first = made.get(pid) ?? 0;
    made.set(pid, first + calls);
    return Array.from({ length: calls }, (_, index) => `${pid} ${first + index}`);
  });
}

describe(`${WAITERS} waiters in six processes, a third of them killed or stopped`, () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-"));
  const log = join(folder, "log");
  let scene: ProcessScene;
  let killed: Worker;
  let stopped: Worker;
  /** The waiters, in the order of the places of their processes, and of the calls in each process. */
  let order: string[];
  let workers: Worker[];
  let entries: Entry[];

  beforeAll(async () => {
    scene = await ProcessScene.open();
    const held = await fairLock(scene.locks({ lease: "60s" }), NAME).acquire();
    const each = WAITERS / PROCESSES;
    const poll = { min: "50ms", max: 2_000 };
    const options = { lease: LEASE_MS, requestTimeout: "3s" };
    const task = { name: NAME, log, waiters: each, workMs: 5, poll, options };
    workers = Array.from({ length: PROCESSES }, () => scene.worker("queuers", task));
    await Promise.all(workers.map((worker) => worker.says("started")));
    const locks = scene.locks();
    await eventually(async () => {
      await pause(250);
      order = inOrder((await listQueue(locks, NAME)).waiters);
      return order.length === WAITERS;
    }, 60_000);
    await held.release();
    await pause(500);
    const [first, second] = workers as [Worker, Worker];
    [killed, stopped] = [first, second];
    first.signal("SIGKILL");
    second.signal("SIGSTOP");
    await pause(2 * LEASE_MS);
    second.signal("SIGCONT");
    await Promise.all(workers.map((worker) => worker.exited()));
    const lines = readFileSync(log, "utf8").trimEnd().split("\n");
    entries = lines.map((line) => JSON.parse(line) as Entry);
  }, 600_000);
  afterAll(async () => {
    await scene.close();
    rmSync(folder, { recursive: true });
  });

  it("are each served once, except for killed waiters", () => {
    for (const worker of workers.filter((one) => one !== killed)) {
      const last = worker.said.at(-1);
      expect(last?.event).toBe("ended");
      const failed = last?.["failed"] as readonly string[];
      // A waiter stopped in the middle of its work has lost the lock after the stop.
      if (worker === stopped) expect(failed.filter((one) => !one.startsWith("lost: "))).toEqual([]);
      else expect(failed).toEqual([]);
      // A waiter stopped in the middle of a release reports an unanswered release.
      if (worker !== stopped) expect(worker.errors).toBe("");
    }
    const begun = entries.filter(({ what }) => what === "begin");
    const served = new Set(begun.map(({ pid, waiter }) => `${pid} ${waiter}`));
    expect(served.size).toBe(begun.length);
    expect(served.size).toBeGreaterThanOrEqual((WAITERS / PROCESSES) * (PROCESSES - 1));
    expect(served.size).toBeLessThanOrEqual(WAITERS);
  });

  it("are served in the order of their tickets, and in each process in the order of its calls", () => {
    // Killed or stopped processes are left out: they lose their places.
    const kept = new Set(
      workers.filter((one) => one !== killed && one !== stopped).map(({ pid }) => pid),
    );
    const isKept = (who: string): boolean => kept.has(Number(who.split(" ")[0]));
    const begun = entries.filter(({ what }) => what === "begin");
    const served = begun.map(({ pid, waiter }) => `${pid} ${waiter}`);
    expect(served.filter(isKept)).toEqual(order.filter(isKept));
  });

  it("never work at the same time, and have growing fences", () => {
    const begun = entries.filter(({ what }) => what === "begin");
    const fences = begun.map(({ fence }) => BigInt(fence));
    expect(fences).toEqual(fences.toSorted((left, right) => (left < right ? -1 : 1)));
    // Every turn ends before the next turn, except for waiters killed or stopped in the middle.
    const cut = entries.filter(
      ({ what }, index) => what === "begin" && entries[index + 1]?.what === "begin",
    );
    expect(cut.length).toBeLessThanOrEqual(2);
  });

  it("leave no entry in the table", async () => {
    const { Items = [] } = await scene.client.send(new ScanCommand({ TableName: scene.table }));
    expect(Items.filter(({ sk }) => sk?.S?.startsWith("ticket/"))).toEqual([]);
  });
});
