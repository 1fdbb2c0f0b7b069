import { describe, expect, it } from "vitest";
import { TableClock } from "../../../src/core/table-clock.js";
import { instantOf } from "../../../src/platform/clock.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";

const SETTINGS = { maxClockDrift: 0.01, maxClockErrorMs: 10_000 };

const DATE_MS = 1_700_000_000_000;

async function clockAfter(answerMs: number) {
  const time = new VirtualTime();
  const process = time.process();
  const tableClock = new TableClock(process.clock, () => process.clock.wallMs(), SETTINGS, true);
  const sent = instantOf(process.clock);
  await time.advance(answerMs);
  tableClock.see(sent, DATE_MS);
  return { time, process, tableClock };
}

describe("the table's time of a sighting", () => {
  it("is the `Date` rounded up, and the duration of the request, widened by the drift", async () => {
    const { time, tableClock } = await clockAfter(400);
    const latestMs = tableClock.latestMs(DATE_MS);
    expect(latestMs).toBeGreaterThanOrEqual(DATE_MS + 1_000 + 400 * 1.02);
    expect(latestMs).toBeLessThan(DATE_MS + 1_000 + 450);
    await time.advance(10_000);
    expect(tableClock.latestMs(DATE_MS)).toBeGreaterThan(latestMs + 10_000);
  });

  it("is at least the `Date` rounded up if the clocks of the machine stood still", async () => {
    const { time, process, tableClock } = await clockAfter(10);
    const sent = instantOf(process.clock);
    process.pause({ frozen: "all" });
    await time.advance(900);
    process.resume();
    // By the clocks of this machine, no time has passed since the first answer.
    tableClock.see(sent, DATE_MS + 1_000);
    expect(tableClock.latestMs(DATE_MS + 1_000)).toBeGreaterThanOrEqual(DATE_MS + 2_000);
  });

  it("is a whole number of milliseconds", async () => {
    const { tableClock } = await clockAfter(333);
    expect(Number.isInteger(tableClock.latestMs(DATE_MS))).toBe(true);
  });
});
