import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { DEFAULTS } from "../../packages/holdfast/src/core/options.js";
import { holdMs, watchMs } from "../../packages/holdfast/src/core/record/decide.js";
import { mutex } from "../../packages/holdfast/src/index.js";
import { durationMs } from "../../packages/holdfast/src/internal/duration.js";
import { World } from "../support/world.js";

const path = fileURLToPath(new URL("../../docs/safety.md", import.meta.url));
const document = readFileSync(path, "utf8");
const ANY = { leastMs: 0, mostMs: Number.POSITIVE_INFINITY };
const ms = (text: string): number => durationMs("shown", text, ANY);

/** The rows of the table of lengths: lease, renewal, tolerated outage, takeover. */
const rows = [...document.matchAll(/^\|((?: [\d.]+ (?:s|min) +\|){4})$/gm)].map((match) =>
  (match[1] ?? "")
    .split("|")
    .slice(0, 4)
    .map((cell) => ms(cell.trim())),
) as [number, number, number, number][];

describe("the numbers of docs/safety.md", () => {
  const { maxClockDrift, renewsPerLease } = DEFAULTS;

  it("equal the default's", () => {
    expect(holdMs(30_000, maxClockDrift, 10)).toBe(29_390);
    expect(watchMs(30_000, maxClockDrift)).toBe(30_600);
    expect(document).toMatch(/\b30 s\b[^.]*\b29\.39 s\b[^.]*\b30\.6 s\b/);
    // In true time, with a slow clock of the holder and a fast clock of the watcher.
    const holderMs = holdMs(30_000, maxClockDrift, 10) / (1 - maxClockDrift);
    const watcherMs = watchMs(30_000, maxClockDrift) / (1 + maxClockDrift);
    expect(holderMs).toBeLessThanOrEqual(29_690);
    expect(watcherMs).toBeGreaterThanOrEqual(30_290);
    expect(document).toMatch(/\b29\.69 s\b[\s\S]*\b30\.29 s\b/);
  });

  it("equal the computed values in the table", () => {
    expect(rows.length).toBe(5);
    for (const [leaseMs, renewMs, borneMs, takenMs] of rows) {
      expect(Math.abs(leaseMs / renewsPerLease - renewMs)).toBeLessThan(5);
      const leftMs = holdMs(leaseMs, maxClockDrift, 10) - leaseMs / renewsPerLease;
      expect(Math.abs(leftMs - borneMs)).toBeLessThan(5);
      expect(watchMs(leaseMs, maxClockDrift)).toBe(takenMs);
    }
  });

  // Begins just before a renewal is due. An outage, with requests that fail at once, ends before the tolerated
  // time by the longest pause between two sends; a pause of the process ends just before the tolerated time.
  it.each(rows)("hold for a lease of %i ms", async (leaseMs, renewMs, borneMs, takenMs) => {
    for (const how of ["outage", "pause"] as const) {
      const world = new World();
      const latency = { requestMs: 0, responseMs: 0 };
      const holder = world.inhabitant({ latency });
      const lease = await world.until(mutex(holder.locks, "a").acquire({ lease: leaseMs }));
      const dueMs = world.time.nowMs + renewMs * 0.9;
      await world.time.advance(dueMs - world.time.nowMs - 10);
      // The renewal is drawn from the last tenth of the period.
      const version = world.record("a")?.["version"];
      expect(version).toEqual({ N: "1" });
      const pauseMs = 1.25 * Math.min(1_000, leaseMs / 20);
      if (how === "outage") {
        holder.network.script(() => ({ fault: "request-lost", unknownAfterMs: 1 }));
        await world.time.advance(borneMs - pauseMs - 20);
        holder.network.clear();
      } else {
        holder.process.pause();
        await world.time.advance(borneMs);
        holder.process.resume();
      }
      await world.time.advance(pauseMs + 20);
      expect(lease.isHeld, how).toBe(true);
      expect(world.record("a")?.["version"]).not.toEqual(version);
      expect(lease.remainingMs()).toBeGreaterThan(leaseMs / 2);
    }
    expect(takenMs).toBeGreaterThan(leaseMs);
  });
});
