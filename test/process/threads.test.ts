import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessScene } from "../support/process-scene.js";
import { pause } from "../support/sdk.js";
import type { Worker } from "../support/worker.js";

const LEASE_MS = 3_000;
const MAY_BLOCK_MS = 30_000;
const POLL_MS = 200;
// The rival sees the `Date` of answers in whole seconds, and allows for an error of a second.
const CLOCK_ERROR_MS = 1_000;
// The table and three processes share the machine.
const SLACK_MS = 2_000;
const LENGTHS = { lease: LEASE_MS, maxClockError: CLOCK_ERROR_MS };
const OPTIONS = { ...LENGTHS, sharedSession: { thread: true, mayBlock: MAY_BLOCK_MS } };

describe("a client whose session is renewed by a thread", () => {
  let scene: ProcessScene;
  beforeAll(async () => {
    scene = await ProcessScene.open();
  });
  afterAll(() => scene.close());

  /** Starts a holder, and a rival in this process that acquires the lock as soon as it can. */
  async function contended(name: string, task: object) {
    const holder = scene.worker("threaded", { name, options: OPTIONS, ...task });
    await holder.says("held");
    const heldMs = performance.now();
    const rival = scene.locks({ ...LENGTHS, poll: { min: POLL_MS, max: POLL_MS } });
    const granted = { afterMs: undefined as number | undefined };
    const acquired = rival
      .mutex(name)
      .acquire({ wait: "5m" })
      .then(async (lease) => {
        granted.afterMs = performance.now() - heldMs;
        return lease;
      });
    return { holder, granted, acquired, heldMs };
  }

  async function endedWell(holder: Worker): Promise<void> {
    await holder.says("closed");
    expect(await holder.exited()).toMatchObject({ code: 0 });
    expect(holder.errors).toBe("");
  }

  // rule: R2, protocol 113
  it("keeps its lock while the event loop is blocked for less than the bound", async () => {
    const { holder, granted, acquired } = await contended("short", { blockMs: 20_000 });
    const unblocked = await holder.says("unblocked", 60_000);
    expect(unblocked).toMatchObject({ isHeld: true, aborted: false });
    // The holder releases after the block, and only then comes the rival.
    await holder.says("kept");
    await acquired;
    expect(granted.afterMs).toBeGreaterThan(20_000);
    await endedWell(holder);
  }, 90_000);

  // rule: R2, R8, protocol 113
  it("loses the lock in a longer block, and the first line after the block sees the loss", async () => {
    const { holder, granted, acquired } = await contended("long", { blockMs: 40_000 });
    await acquired;
    expect(granted.afterMs).toBeGreaterThan(MAY_BLOCK_MS - 2_000);
    const mostMs = MAY_BLOCK_MS + LEASE_MS + POLL_MS + CLOCK_ERROR_MS + SLACK_MS;
    expect(granted.afterMs).toBeLessThan(mostMs);
    const unblocked = await holder.says("unblocked", 60_000);
    expect(unblocked).toMatchObject({ isHeld: false, aborted: true });
    expect(await holder.says("rejected")).toMatchObject({ code: "lost", reason: "session-ended" });
    await endedWell(holder);
  }, 120_000);

  // rule: R2, R3
  it("loses its lock when the whole process is stopped for two leases", async () => {
    const { holder, acquired } = await contended("stopped", { waitMs: 100, blockMs: 1_000 });
    holder.signal("SIGSTOP");
    const stoppedMs = performance.now();
    const lease = await acquired;
    await pause(2 * LEASE_MS - (performance.now() - stoppedMs));
    holder.signal("SIGCONT");
    expect(await holder.says("unblocked")).toMatchObject({ isHeld: false, aborted: true });
    expect(await holder.says("rejected")).toMatchObject({ code: "lost" });
    expect(lease.isHeld).toBe(true);
    await holder.says("closed");
  }, 60_000);

  // rule: R2, protocol 114
  it("loses its lock at the deadline if the thread dies in a block", async () => {
    const module = new URL("workers/dying-client.mjs", import.meta.url);
    module.search = new URLSearchParams({ endpoint: scene.endpoint, afterMs: "6000" }).toString();
    const sharedSession = { thread: { module: module.href }, mayBlock: MAY_BLOCK_MS };
    const options = { ...LENGTHS, sharedSession };
    const task = { options, blockMs: 12_000, asks: true };
    const { holder, granted, acquired } = await contended("dying", task);
    const unblocked = await holder.says("unblocked", 30_000);
    await acquired;
    expect(unblocked).toMatchObject({ isHeld: false, aborted: true });
    // Held in the block by the thread, for longer than a lease, and not longer than a lease after the thread's end.
    expect(unblocked["lostAfterMs"]).toBeGreaterThan(LEASE_MS);
    expect(unblocked["lostAfterMs"]).toBeLessThan(6_000 + LEASE_MS);
    expect(granted.afterMs).toBeGreaterThan(Number(unblocked["lostAfterMs"]));
    expect(await holder.says("rejected")).toMatchObject({ code: "lost" });
    await holder.says("closed");
  }, 60_000);

  // rule: R3
  it("frees its lock after a lease when the process is killed in a block", async () => {
    const { holder, acquired } = await contended("killed", { blockMs: 60_000 });
    await pause(2 * LEASE_MS);
    holder.signal("SIGKILL");
    const killedMs = performance.now();
    await acquired;
    const mostMs = LEASE_MS + POLL_MS + CLOCK_ERROR_MS + SLACK_MS;
    expect(performance.now() - killedMs).toBeLessThan(mostMs);
  }, 60_000);
});
