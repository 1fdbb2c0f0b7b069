import { describe, expect, it } from "vitest";
import { simulateQueue } from "../../verification/sim/queue/simulation.js";

// Fresh seeds at every run; one that fails is printed. For longer: HOLDFAST_SIM_QUEUES=500
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = Number(process.env["HOLDFAST_SIM_QUEUES"] ?? 20);
const LENGTH_MS = 60_000;

describe("processes that wait for one fair lock, under faults", () => {
  it(`keep its rules (${SEEDS} fresh seeds from ${FROM})`, async () => {
    const sums = { grants: 0, inOrder: 0, faults: 0, mishaps: 0 };
    const kinds: Record<string, number> = {};
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const outcome = await simulateQueue({ seed, lengthMs: LENGTH_MS });
      expect(outcome.violations, `seed ${seed}`).toEqual([]);
      sums.grants += outcome.grants;
      sums.inOrder += outcome.grantsInOrder;
      sums.faults += outcome.faults;
      sums.mishaps += outcome.mishaps;
      kinds[outcome.kind] = (kinds[outcome.kind] ?? 0) + 1;
    }
    // Runs in which nobody waits, or nothing goes wrong, would keep them too.
    expect(sums.inOrder).toBeGreaterThan(SEEDS * 10);
    expect(sums.grants).toBeGreaterThan(sums.inOrder);
    expect(sums.faults).toBeGreaterThan(SEEDS * 10);
    expect(sums.mishaps).toBeGreaterThan(SEEDS * 5);
    if (SEEDS > 20) console.log(sums, kinds);
  }, 900_000);

  // Hand-offs of two processes, with grants by tickets between them, were counted as one row.
  it("counts hand-offs in a row alone (seed 841255438)", async () => {
    const outcome = await simulateQueue({ seed: 841_255_438, lengthMs: LENGTH_MS });
    expect(outcome.violations).toEqual([]);
  });

  it.each(["crowd", "outages", "tampering"] as const)(
    `keep them in a run of one kind: %s (from ${FROM})`,
    async (kind) => {
      for (let seed = FROM; seed < FROM + 3; seed += 1) {
        const outcome = await simulateQueue({ seed, lengthMs: LENGTH_MS, kind });
        expect(outcome.violations, `seed ${seed}`).toEqual([]);
        expect(outcome.grantsInOrder).toBeGreaterThan(5);
        expect(outcome.mishaps).toBeGreaterThan(2);
      }
    },
    300_000,
  );

  it("go the same way for the same seed", async () => {
    const plan = { seed: 3, lengthMs: 20_000 };
    const first = await simulateQueue(plan);
    expect(await simulateQueue(plan)).toEqual(first);
    expect((await simulateQueue({ ...plan, seed: 4 })).hash).not.toBe(first.hash);
  });
});
