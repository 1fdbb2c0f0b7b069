import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessScene } from "../support/process-scene.js";

describe("a process with nothing more to do", () => {
  let scene: ProcessScene;
  beforeAll(async () => {
    scene = await ProcessScene.open();
  });
  afterAll(() => scene.close());

  it("ends by itself with a lease held and renewals due", async () => {
    const options = { lease: "10s", renew: "1s" };
    const holder = scene.worker("exits", { name: "held", does: "hold", options });
    await holder.says("held");
    const heldMs = performance.now();
    const { code, atMs } = await holder.exited();
    expect(code).toBe(0);
    expect(atMs - heldMs).toBeLessThan(900);
    expect(holder.errors).toBe("");
    // Nobody released it: what protects it now is its lease.
    expect(await scene.locks().inspect("held")).toMatchObject({ state: "held" });
  });

  it("stays as long as an acquire is pending", async () => {
    const lease = await scene.locks().mutex("pending").acquire();
    const options = { wait: "900ms", poll: { min: 50, max: 50 } };
    const waiter = scene.worker("exits", { name: "pending", does: "wait", options });
    expect(await waiter.says("rejected")).toMatchObject({ code: "not-acquired" });
    expect(await waiter.exited()).toMatchObject({ code: 0 });
    expect(waiter.errors).toBe("");
    await lease.release();
  });

  it("stays as long as an acquire is pending in the line of its own process", async () => {
    const options = { lease: "20s", renew: "manual", wait: "900ms" };
    const waiter = scene.worker("exits", { name: "line", does: "wait behind itself", options });
    expect(await waiter.says("rejected")).toMatchObject({ code: "not-acquired" });
    expect(await waiter.exited()).toMatchObject({ code: 0 });
  });
});
