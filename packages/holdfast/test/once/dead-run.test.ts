import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { type OnceOptions, type OnceResult, once } from "../../src/index.js";

const AT_MOST_MS = 30_000;
const BOUND_MS = 10_000;
// The `Date` of the last answer before the send, and the reader's own: a second each. And some answers of 10 ms.
const STEPS_MS = 2_200;
const NIGHT_MS = 24 * 3_600_000;
const [FIRST, SECOND] = ["2026-01-01", "2026-01-02"];
const RERUN = { ifInterrupted: "rerun" } as const;

const newWorld = () => new World({ dates: (trueMs) => trueMs });

function call(
  { locks }: Inhabitant,
  occurrence: string,
  { takesForEver = false, ...options }: Partial<OnceOptions> & { takesForEver?: boolean } = {},
): Promise<OnceResult<string>> {
  return once(locks, "report", { occurrence, atMostFor: AT_MOST_MS, ...options }, () =>
    takesForEver ? new Promise<string>(() => undefined) : "done",
  );
}

/** Lets a process begin an occurrence and die. Returns an instant before the last write of the process. */
async function deadRun(world: World, occurrence: string): Promise<number> {
  const dead = world.inhabitant();
  const fromMs = world.time.nowMs;
  void call(dead, occurrence, { takesForEver: true });
  await world.time.advance(100);
  dead.process.kill();
  return fromMs;
}

describe("a dead run, and processes that have never seen the record", () => {
  it("does not keep the next night's occurrence from running", async () => {
    const world = newWorld();
    await deadRun(world, FIRST);
    await world.time.advance(NIGHT_MS);
    const next = world.inhabitant();
    const counted = await world.requests(() => call(next, SECOND));
    expect(counted.result).toEqual({ ran: true, value: "done" });
    // The look, a strong read for the `Date`, the takeover, the name of the occurrence, and its end.
    expect(counted).toMatchObject({ reads: 2, writes: 3 });
  });

  it("is run again on request by the next process that asks, after `atMostFor` and the bound", async () => {
    const world = newWorld();
    const fromMs = await deadRun(world, FIRST);
    for (;;) {
      await world.time.advance(500);
      const asked = world.inhabitant();
      const end = new AbortController();
      const result = call(asked, FIRST, { ...RERUN, signal: end.signal }).catch(() => undefined);
      await world.time.advance(100);
      end.abort();
      if ((await world.until(result))?.ran === true) break;
    }
    const tookMs = world.time.nowMs - fromMs;
    expect(tookMs).toBeGreaterThan(AT_MOST_MS + BOUND_MS);
    expect(tookMs).toBeLessThan(AT_MOST_MS + BOUND_MS + STEPS_MS + 1_000);
  });

  it("counts as running before the end of the lease, and as over afterwards", async () => {
    const world = newWorld();
    await deadRun(world, FIRST);
    await world.time.advance(AT_MOST_MS);
    const early = await world.until(call(world.inhabitant(), FIRST));
    expect(early).toEqual({ ran: false, why: "running" });
    await world.time.advance(BOUND_MS + STEPS_MS);
    const late = await world.until(call(world.inhabitant(), FIRST));
    expect(late).toEqual({ ran: false, why: "already" });
  });

  it("costs a call no more than before while a live run renews its lease", async () => {
    const world = newWorld();
    void call(world.inhabitant(), FIRST, { takesForEver: true });
    for (let at = 0; at < 10 * AT_MOST_MS; at += 7_001) {
      await world.time.advance(7_001);
      const counted = await world.requests(() => call(world.inhabitant(), SECOND));
      expect(counted.result).toEqual({ ran: false, why: "running" });
      expect(counted).toMatchObject({ reads: 1, readUnits: 0.5, writes: 0 });
    }
  });

  it("is only watched with `maxClockError: never`", async () => {
    const world = newWorld();
    await deadRun(world, FIRST);
    await world.time.advance(NIGHT_MS);
    const next = world.inhabitant({ maxClockError: "never" });
    expect(await world.until(call(next, SECOND))).toEqual({ ran: false, why: "running" });
  });

  it("has a record below a kilobyte", async () => {
    const world = newWorld();
    await deadRun(world, FIRST);
    const sizes = world.table.items().map((item) => JSON.stringify(item).length);
    expect(Math.max(...sizes)).toBeLessThan(1_024);
  });
});
