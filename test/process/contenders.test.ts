import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessScene } from "../support/process-scene.js";
import type { Worker } from "../support/worker.js";

const PROCESSES = 4;
const CONTENDERS = 50;
const WORK_MS = 20;

interface Entry {
  readonly what: "begin" | "end";
  readonly fence: bigint;
  readonly pid: number;
  readonly atNs: bigint;
}

describe("200 contenders for the same name in four processes", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-"));
  const log = join(folder, "log");
  let scene: ProcessScene;
  let workers: Worker[];
  let entries: Entry[];

  beforeAll(async () => {
    scene = await ProcessScene.open();
    const options = { lease: "10s", wait: "60s", poll: { min: "10ms", max: "50ms" } };
    const task = { name: "contended", log, contenders: CONTENDERS, workMs: WORK_MS, options };
    workers = Array.from({ length: PROCESSES }, () => scene.worker("contenders", task));
    await Promise.all(workers.map((worker) => worker.exited()));
    const lines = readFileSync(log, "utf8").trimEnd().split("\n");
    entries = lines.map((line) => {
      const { what, fence, pid, atNs } = JSON.parse(line);
      return { what, fence: BigInt(fence), pid, atNs: BigInt(atNs) };
    });
  });
  afterAll(async () => {
    await scene.close();
    rmSync(folder, { recursive: true });
  });

  it("all acquire, and every process ends without a rejection", async () => {
    for (const worker of workers) {
      expect(await worker.exited()).toMatchObject({ code: 0 });
      expect(worker.said).toMatchObject([{ event: "ended", failed: [] }]);
    }
    expect(entries).toHaveLength(2 * PROCESSES * CONTENDERS);
  });

  it("never work at the same time", () => {
    // All processes append in the same order; the machine's clock is the same for all processes.
    for (let turn = 0; turn < entries.length; turn += 2) {
      const [begin, end] = [entries[turn], entries[turn + 1]];
      const next = entries[turn + 2];
      expect(begin).toMatchObject({ what: "begin" });
      expect(end).toMatchObject({ what: "end", fence: begin?.fence, pid: begin?.pid });
      if (end !== undefined && next !== undefined) expect(next.atNs).toBeGreaterThan(end.atNs);
    }
  });

  it("get fences that grow by 1 with every turn", () => {
    const fences = entries.filter(({ what }) => what === "begin").map(({ fence }) => fence);
    const first = fences[0] ?? 0n;
    expect(fences).toEqual(fences.map((_, turn) => first + BigInt(turn)));
  });

  it("print no warning", () => {
    expect(workers.map((worker) => worker.errors)).toEqual(workers.map(() => ""));
  });
});
