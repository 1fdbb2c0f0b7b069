import { describe, expect, it } from "vitest";
import { VirtualTime } from "../../../../testing/src/time/virtual-time.js";
import { TableClock } from "../../../src/core/table-clock.js";
import { instantOf } from "../../../src/platform/clock.js";

const SETTINGS = { maxClockDrift: 0.01, maxClockErrorMs: 10_000 };

/** The clock of a client after one answer, with the time of the wall clock as its `Date`. */
async function clockAfter(answerMs: number, wallOffsetMs = 0) {
  const time = new VirtualTime();
  const process = time.process({ wallOffsetMs });
  const dateMs = Math.floor(time.wallMs / 1_000) * 1_000;
  const tableClock = new TableClock(process.clock, () => process.clock.wallMs(), SETTINGS, true);
  const sent = instantOf(process.clock);
  await time.advance(answerMs);
  tableClock.see(sent, dateMs);
  return { time, process, tableClock, dateMs };
}

describe("the table's time of a sighting", () => {
  it("is the `Date` rounded up, and the duration of the request, widened by the drift", async () => {
    const { time, tableClock, dateMs } = await clockAfter(400);
    const latestMs = tableClock.latestMs() ?? 0;
    expect(latestMs).toBeGreaterThanOrEqual(dateMs + 1_000 + 400 * 1.02);
    expect(latestMs).toBeLessThan(dateMs + 1_000 + 450);
    await time.advance(10_000);
    expect(tableClock.latestMs()).toBeGreaterThan(latestMs + 10_000);
  });

  it("is at least the `Date` rounded up if the clocks of the machine stood still", async () => {
    const { time, process, tableClock, dateMs } = await clockAfter(10);
    const sent = instantOf(process.clock);
    process.pause({ frozen: "all" });
    await time.advance(900);
    process.resume();
    // By the clocks of this machine, no time has passed since the first answer.
    tableClock.see(sent, dateMs + 1_000);
    expect(tableClock.latestMs()).toBeGreaterThanOrEqual(dateMs + 2_000);
  });

  it("is unknown after one answer whose `Date` disagrees with the wall clock", async () => {
    const { process, tableClock, dateMs } = await clockAfter(10, -3_600_000);
    expect(tableClock.latestMs()).toBeUndefined();
    tableClock.see(instantOf(process.clock), dateMs);
    expect(tableClock.latestMs()).toBeGreaterThanOrEqual(dateMs + 1_000);
  });

  it("is a whole number of milliseconds", async () => {
    const { tableClock } = await clockAfter(333);
    expect(Number.isInteger(tableClock.latestMs())).toBe(true);
  });
});
