import { describe, expect, it } from "vitest";
import { mutex } from "../../packages/holdfast/src/index.js";
import { ProcessScene } from "../support/process-scene.js";
import { pause } from "../support/sdk.js";
import { shared } from "../support/shared.js";

const LEASE_MS = 1_000;
// The lease plus two drifts of 1 %: no rival may be faster, and no rival needs to be slower.
const WATCH_MS = LEASE_MS * 1.02;
// A machine with two busy cores.
const SLACK_MS = 600;

const scene = await shared(ProcessScene.open());

describe("a killed holder", () => {
  it("is replaced by a waiter one lease after the last renewal", async () => {
    const holder = scene.worker("holder", { name: "watched", options: { lease: LEASE_MS } });
    const { fence } = await holder.says("held");
    const rival = scene.locks({ poll: { min: "20ms", max: "50ms" } });
    const waiting = mutex(rival, "watched").acquire({ lease: LEASE_MS });
    // A few renewals: the watch begins anew with each.
    await pause(1_500);
    holder.signal("SIGKILL");
    const killedMs = performance.now();
    const lease = await waiting;
    const tookMs = performance.now() - killedMs;
    // The last renewal was answered up to a third of the lease before the kill.
    expect(tookMs).toBeGreaterThan(WATCH_MS - LEASE_MS / 3 - SLACK_MS / 2);
    expect(tookMs).toBeLessThan(WATCH_MS + SLACK_MS);
    expect(lease.fence).toBe(BigInt(String(fence)) + 1n);
    report(`killed while watched: taken over after ${Math.round(tookMs)} ms`);
  });

  it("is replaced by a later rival a full lease after the rival's arrival", async () => {
    const holder = scene.worker("holder", { name: "unwatched", options: { lease: LEASE_MS } });
    await holder.says("held");
    holder.signal("SIGKILL");
    await holder.exited();
    await pause(200);
    const cameMs = performance.now();
    const rival = scene.locks({ poll: { min: "20ms", max: "50ms" } });
    const lease = await mutex(rival, "unwatched").acquire({ lease: LEASE_MS });
    const tookMs = performance.now() - cameMs;
    expect(tookMs).toBeGreaterThanOrEqual(WATCH_MS);
    expect(tookMs).toBeLessThan(WATCH_MS + SLACK_MS);
    expect(lease.isHeld).toBe(true);
    report(`killed unwatched: taken over ${Math.round(tookMs)} ms after the first look`);
  });
});

function report(figure: string): void {
  if (process.env["HOLDFAST_FIGURES"] !== undefined) console.log(figure);
}
