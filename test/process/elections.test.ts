import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessScene } from "../support/process-scene.js";

let scene: ProcessScene;
beforeAll(async () => {
  scene = await ProcessScene.open();
});
afterAll(() => scene.close());

const LENGTHS = { lease: 1_000, renew: 200, poll: 100 };

describe("a worker that blocks its process past the deadline", () => {
  it("cannot write under its term any more, and learns so in the next line of its code", async () => {
    const worker = scene.worker("wedged", { name: "pool", lengths: LENGTHS, blockMs: 3_000 });
    expect(await worker.says("leads")).toMatchObject({ before: null });
    const term = await scene.locks().election("pool", LENGTHS).campaign();
    expect(await worker.says("wrote")).toMatchObject({
      isLeading: false,
      aborted: true,
      after: "TransactionCanceledException",
    });
    expect(term.isLeading).toBe(true);
    await term.resign();
  });
});
