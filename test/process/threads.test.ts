import { describe, expect, it } from "vitest";
import { mutex } from "../../packages/holdfast/src/index.js";
import { startFaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import { ProcessScene } from "../support/process-scene.js";
import { pause } from "../support/sdk.js";
import { shared } from "../support/shared.js";
import type { Worker } from "../support/worker.js";

const LEASE_MS = 3_000;
const MAY_BLOCK_MS = 30_000;
const POLL_MS = 200;
// The rival sees the `Date` of answers in whole seconds, and allows for an error of a second.
const CLOCK_ERROR_MS = 1_000;
// The table and all processes share the machine.
const SLACK_MS = 2_000;
const LENGTHS = { lease: LEASE_MS, maxClockError: CLOCK_ERROR_MS };
const OPTIONS = { ...LENGTHS, sharedSession: { thread: true, mayBlock: MAY_BLOCK_MS } };

const scene = await shared(ProcessScene.open());

// Most of these processes sleep in their blocks, so the tests can run at the same time.
describe.concurrent("a client whose session is renewed by a thread", () => {
  /** Starts a holder, and a rival in this process that acquires the lock as soon as it can. */
  async function contended(name: string, task: object) {
    const holder = scene.worker("threaded", { name, options: OPTIONS, sleeps: true, ...task });
    await holder.says("held");
    const heldMs = performance.now();
    const rival = scene.locks({ ...LENGTHS, poll: { min: `${POLL_MS}ms`, max: `${POLL_MS}ms` } });
    const granted = { afterMs: Number.NaN, atMs: Number.NaN };
    const acquired = mutex(rival, name)
      .acquire({ wait: "5m" })
      .then(async (lease) => {
        granted.afterMs = performance.now() - heldMs;
        granted.atMs = Date.now();
        return lease;
      });
    return { holder, granted, acquired, heldMs };
  }

  /** Options for a thread whose client comes from a module with these parameters. */
  function withModule(parameters: Record<string, string>, mayBlock = MAY_BLOCK_MS) {
    const module = new URL("workers/thread-client.mjs", import.meta.url);
    module.search = new URLSearchParams({ endpoint: scene.endpoint, ...parameters }).toString();
    return { ...LENGTHS, sharedSession: { thread: { module: module.href }, mayBlock } };
  }

  async function endedWell(holder: Worker): Promise<void> {
    await holder.says("closed");
    expect(await holder.exited()).toMatchObject({ code: 0 });
    expect(holder.errors).toBe("");
  }

  /** Checks that the lock was held in the block after a lease, and lost not later than a lease after `lastMs`. */
  async function lostInBlock({ holder, granted, acquired }: Contended, lastMs: number) {
    const unblocked = await holder.says("unblocked", 30_000);
    await acquired;
    expect(unblocked).toMatchObject({ isHeld: false, aborted: true });
    expect(unblocked["lostAfterMs"]).toBeGreaterThan(LEASE_MS);
    expect(unblocked["lostAfterMs"]).toBeLessThan(lastMs + LEASE_MS);
    expect(granted.atMs).toBeGreaterThanOrEqual(Number(unblocked["lostAtMs"]));
    expect(await holder.says("rejected")).toMatchObject({ code: "lost" });
    await holder.says("closed");
  }
  type Contended = Awaited<ReturnType<typeof contended>>;

  // rule: R2, protocol 113
  it("keeps its lock while the event loop is blocked for less than the bound", async () => {
    const { holder, granted, acquired } = await contended("short", {
      blockMs: 20_000,
      sleeps: false,
    });
    const unblocked = await holder.says("unblocked", 60_000);
    expect(unblocked).toMatchObject({ isHeld: true, aborted: false });
    // The holder releases after the block, and only then comes the rival.
    await holder.says("kept");
    await acquired;
    expect(granted.atMs).toBeGreaterThanOrEqual(Number(unblocked["atMs"]));
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
  it.each([
    ["dies", "diesAfterMs"],
    ["hangs", "hangsAfterMs"],
  ] as const)(
    "loses its lock at the deadline if the thread %s in a block",
    async (_, end) => {
      const options = withModule({ [end]: "6000" });
      const scenario = await contended(end, { options, blockMs: 12_000, asks: true });
      await lostInBlock(scenario, 6_000);
    },
    60_000,
  );

  // rule: R2, protocol 114
  it("loses its lock at the deadline if the thread loses its network in a block", async () => {
    const proxy = await startFaultProxy({ target: scene.endpoint });
    try {
      const options = withModule({ endpoint: proxy.endpoint });
      const scenario = await contended("cut", { options, blockMs: 12_000, asks: true });
      await pause(6_000 - (performance.now() - scenario.heldMs));
      proxy.partition();
      await lostInBlock(scenario, 6_000);
    } finally {
      await proxy.close();
    }
  }, 60_000);

  // rule: protocol 114
  it("keeps its lock if only the thread loses its network, and the event loop runs", async () => {
    const proxy = await startFaultProxy({ target: scene.endpoint });
    try {
      const options = withModule({ endpoint: proxy.endpoint });
      const scenario = await contended("apart", { options, waitMs: 12_000, reports: true });
      await pause(4_000);
      proxy.partition();
      const reported = await scenario.holder.says("reported");
      const message = expect.stringContaining("The main thread renews the session now");
      expect(reported).toMatchObject({ code: "outcome-unknown", message });
      const unblocked = await scenario.holder.says("unblocked");
      expect(unblocked).toMatchObject({ isHeld: true });
      await scenario.holder.says("kept");
      await scenario.acquired;
      expect(scenario.granted.atMs).toBeGreaterThanOrEqual(Number(unblocked["atMs"]));
    } finally {
      await proxy.close();
    }
  }, 60_000);

  // rule: protocol 114
  it("keeps its lock if the thread hangs, and the event loop runs", async () => {
    const options = withModule({ hangsAfterMs: "4000" });
    const scenario = await contended("idle", { options, waitMs: 12_000, reports: true });
    const reported = await scenario.holder.says("reported");
    const message = expect.stringContaining("has not renewed the session in time");
    expect(reported).toMatchObject({ code: "outcome-unknown", message });
    const unblocked = await scenario.holder.says("unblocked");
    expect(unblocked).toMatchObject({ isHeld: true });
    await scenario.acquired;
    expect(scenario.granted.atMs).toBeGreaterThanOrEqual(Number(unblocked["atMs"]));
    // A thread that hangs for good must not keep the process alive.
    await scenario.holder.says("closed");
    expect(await scenario.holder.exited()).toMatchObject({ code: 0 });
  }, 60_000);

  it("uses a thread and shared memory only with the option", async () => {
    const [without, used] = await Promise.all(
      [{ sharedSession: true }, { sharedSession: OPTIONS.sharedSession }].map((more) =>
        scene
          .worker("unthreaded", { name: JSON.stringify(more), options: { ...LENGTHS, ...more } })
          .says("used"),
      ),
    );
    expect(without).toMatchObject({ workers: 0, buffers: 0 });
    // One file more: the start of a thread, with what finds the endpoint of its client.
    expect(used).toMatchObject({ workers: 1, files: Number(without?.["files"]) + 1 });
    expect(used?.["buffers"]).toBeGreaterThan(0);
  }, 30_000);

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
