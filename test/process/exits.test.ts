import { describe, expect, it } from "vitest";
import { inspect, mutex } from "../../packages/holdfast/src/index.js";
import { ProcessScene } from "../support/process-scene.js";
import { shared } from "../support/shared.js";

const scene = await shared(ProcessScene.open());

describe("a process without further work", () => {
  it("ends despite a held lease and pending renewals", async () => {
    const options = { lease: "10s", renew: "1s" };
    const holder = scene.worker("exits", { name: "held", does: "hold", options });
    await holder.says("held");
    const heldMs = performance.now();
    const { code, atMs } = await holder.exited();
    expect(code).toBe(0);
    expect(atMs - heldMs).toBeLessThan(900);
    expect(holder.errors).toBe("");
    // The lock was not released: the lease protects it from now on.
    expect(await inspect(scene.locks(), "held")).toMatchObject({ state: "held" });
  });

  it("ends despite a port and a connection for rings, each way", async () => {
    const name = "rung";
    const holder = scene.worker("rung", { name, does: "hold" });
    await holder.says("held");
    const waiter = scene.worker("rung", { name, does: "wait" });
    await waiter.says("connected");
    await holder.exited();
    // Cut off from its holder, and with the listening port of its own, it has only its wait.
    expect(await waiter.says("rejected")).toMatchObject({ code: "not-acquired" });
    expect(await waiter.exited()).toMatchObject({ code: 0 });
    expect(await holder.exited()).toMatchObject({ code: 0 });
    expect(`${holder.errors}${waiter.errors}`).toBe("");
  });

  it("stays alive while an acquire is pending", async () => {
    const lease = await mutex(scene.locks(), "pending").acquire();
    const options = { wait: "900ms", poll: { min: "50ms", max: "50ms" } };
    const waiter = scene.worker("exits", { name: "pending", does: "wait", options });
    expect(await waiter.says("rejected")).toMatchObject({ code: "not-acquired" });
    expect(await waiter.exited()).toMatchObject({ code: 0 });
    expect(waiter.errors).toBe("");
    await lease.release();
  });

  it("stays alive while an acquire is pending in the local queue", async () => {
    const options = { lease: "20s", renew: "manual", wait: "900ms" };
    const waiter = scene.worker("exits", { name: "line", does: "wait behind itself", options });
    expect(await waiter.says("rejected")).toMatchObject({ code: "not-acquired" });
    expect(await waiter.exited()).toMatchObject({ code: 0 });
  });
});
