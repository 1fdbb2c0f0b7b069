/** Makes the histories that `node scripts/porcupine.mjs` judges. */
import { join } from "node:path";
import { writeFigures } from "../../scripts/lib/figures.mjs";
import { planOf, termsOf } from "../sim/plan.js";
import { simulatePlan } from "../sim/simulation.js";
import { simulateUpdates } from "../sim/updates/simulation.js";
import { BROKEN, SOUND } from "./broken.js";
import { jsonLinesOf, type Operation, operationsOf, spansOf } from "./operations.js";

const LENGTH_MS = 120_000;

function write(folder: string, name: string, operations: readonly Operation[]): string {
  const file = join(folder, `${name}.jsonl`);
  writeFigures(file, jsonLinesOf(operations));
  return file;
}

/** Writes a file for each seed with an exclusion check. Returns the paths. */
export async function simulationHistories(folder: string, seeds: number): Promise<string[]> {
  const files: string[] = [];
  for (let seed = 1; files.length < seeds; seed += 1) {
    const plan = planOf(seed, LENGTH_MS);
    if (!termsOf(plan).isExclusive) continue;
    const { history } = await simulatePlan(plan);
    const name = `seed-${seed}-${plan.kind.replaceAll(" ", "-")}`;
    files.push(write(folder, name, operationsOf({ spans: spansOf(history) })));
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
    const name = `updates-${isGuarded ? "guarded" : "unguarded"}-${seed}`;
    files.push(write(folder, name, outcome.operations));
  }
  return { sums, files };
}

/** Writes the sound history, and each broken one. */
export function soundAndBroken(folder: string) {
  const broken = BROKEN.map(({ reason, refusedBy, operations }, at) => ({
    file: write(folder, `broken-${at + 1}`, operations),
    reason,
    refusedBy,
  }));
  return { sound: write(folder, "sound", SOUND), broken };
}
