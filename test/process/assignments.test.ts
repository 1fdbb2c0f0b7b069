import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AssignEvent, beside, unspread } from "../../verification/sim/assign/checkers.js";
import { overlapping } from "../../verification/sim/overlapping.js";
import { Ledger } from "../support/ledger.js";
import { ProcessScene } from "../support/process-scene.js";
import { eventually } from "../support/sdk.js";
import type { Worker } from "../support/worker.js";

const NAMES = Array.from({ length: 12 }, (_, at) => `n${at}`);

describe("members that are killed, frozen and stopped", () => {
  const ledger = new Ledger();
  let scene: ProcessScene;
  let count = 0;
  const workers = new Map<string, Worker>();
  const history = (): readonly AssignEvent[] => ledger.lines() as readonly AssignEvent[];
  const isSpread = (): boolean => unspread(history(), NAMES, [...workers.keys()]).length === 0;

  async function start(): Promise<void> {
    count += 1;
    const by = `p${count}`;
    const worker = scene.worker("assigned", {
      name: "group",
      by,
      names: NAMES,
      ledger: ledger.path,
    });
    workers.set(by, worker);
    await worker.says("started");
  }

  function take(): readonly [string, Worker] {
    const [first] = workers;
    if (first === undefined) throw new Error("No member is left.");
    workers.delete(first[0]);
    return first;
  }

  beforeAll(async () => {
    scene = await ProcessScene.open();
    await Promise.all([start(), start(), start()]);
    await eventually(isSpread, 60_000);
  }, 90_000);
  afterAll(async () => {
    await scene.close();
    ledger.remove();
  });

  it("leave each name to one process that runs it, and evenly so afterwards", {
    timeout: 240_000,
  }, async () => {
    const [killed, dead] = take();
    await dead.end();
    ledger.gone(killed);
    await start();
    await eventually(isSpread, 60_000);
    // For longer than a lease, so that the others take its names while it believes that it has them.
    const [frozen, asleep] = take();
    asleep.signal("SIGSTOP");
    const seen = history().length;
    await eventually(() => {
      const later = history().slice(seen);
      return later.filter(({ kind }) => kind === "began").length >= NAMES.length / 3;
    }, 60_000);
    asleep.signal("SIGCONT");
    workers.set(frozen, asleep);
    await eventually(isSpread, 60_000);
    const [stopped, leaving] = take();
    leaving.signal("SIGUSR2");
    await leaving.says("stopped");
    ledger.gone(stopped);
    await start();
    // It counts as spread while the last names still move, and one that moves runs nowhere.
    let [seenMoves, sinceMs] = [0, 0];
    await eventually(() => {
      const moves = history().filter(({ kind }) => kind !== "acted").length;
      if (moves !== seenMoves) [seenMoves, sinceMs] = [moves, performance.now()];
      return isSpread() && performance.now() - sinceMs > 3_000;
    }, 60_000);
    expect(overlapping(history(), ["began", "ended"])).toEqual([]);
    expect(beside(history())).toEqual([]);
    expect(history().filter(({ kind }) => kind === "began").length).toBeGreaterThan(20);
  });
});
