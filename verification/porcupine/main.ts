/** Makes the histories of simulations that `npm run porcupine` gives to Porcupine. */
import { join } from "node:path";
import { writeFigures } from "../../scripts/lib/figures.mjs";
import { planOf, termsOf } from "../sim/plan.js";
import { simulatePlan } from "../sim/simulation.js";
import { simulateUpdates } from "../sim/updates/simulation.js";
import { jsonLinesOf, operationsOf, spansOf } from "./operations.js";

const LENGTH_MS = 120_000;

/** Writes a file for each seed with an exclusion check. Returns the paths. */
export async function simulationHistories(folder: string, seeds: number): Promise<string[]> {
  const files: string[] = [];
  for (let seed = 1; files.length < seeds; seed += 1) {
    const plan = planOf(seed, LENGTH_MS);
    if (!termsOf(plan).isExclusive) continue;
    const { history } = await simulatePlan(plan);
    const file = join(folder, `seed-${seed}-${plan.kind.replaceAll(" ", "-")}.jsonl`);
    writeFigures(file, jsonLinesOf(operationsOf({ spans: spansOf(history) })));
    files.push(file);
  }
  return files;
}

/** The sums of the updates workload, guarded or not, and the file of each seed. */
export async function updatesHistories(folder: string, seeds: number, isGuarded: boolean) {
  const sums = { seeds, acknowledged: 0, refused: 0, lost: 0, pauses: 0 };
  const files: string[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const outcome = await simulateUpdates(seed, isGuarded);
    sums.acknowledged += outcome.acknowledged;
    sums.refused += outcome.refused;
    sums.lost += outcome.lost;
    sums.pauses += outcome.pauses;
    const file = join(folder, `updates-${isGuarded ? "guarded" : "unguarded"}-${seed}.jsonl`);
    writeFigures(file, jsonLinesOf(outcome.operations));
    files.push(file);
  }
  return { sums, files };
}
