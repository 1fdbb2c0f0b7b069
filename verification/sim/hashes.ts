import { readFileSync, writeFileSync } from "node:fs";
import { type CoreKind, planOf } from "./plan.js";
import { simulate } from "./simulation.js";

/** The hashes of some seeds' histories: equal on every machine until a change of behaviour. */
export interface Hashes {
  readonly minutes: number;
  readonly seeds: readonly {
    readonly seed: number;
    readonly kind: string;
    readonly hash: string;
  }[];
}

/** The number of seeds of each kind: twenty in all. */
const QUOTA: Readonly<Record<CoreKind, number>> = {
  crowd: 3,
  duel: 2,
  calm: 2,
  crash: 3,
  sessions: 2,
  ages: 2,
  "one fault": 2,
  deleted: 2,
  snapshot: 2,
};
const MINUTES = 1;

/** Runs the first seeds of each kind of plan, and returns the hashes of their histories. */
async function record(): Promise<Hashes> {
  const lengthMs = MINUTES * 60_000;
  const left = { ...QUOTA };
  const seeds: Hashes["seeds"][number][] = [];
  for (let seed = 1; Object.values(left).some((more) => more > 0); seed += 1) {
    const kind = planOf(seed, lengthMs).kind as CoreKind;
    if (left[kind] === 0) continue;
    left[kind] -= 1;
    const { hash } = await simulate(seed, lengthMs);
    seeds.push({ seed, kind, hash });
  }
  return { minutes: MINUTES, seeds };
}

/** Returns the seeds with a different history, each with the new hash. */
export async function changedHashes({ minutes, seeds }: Hashes): Promise<string[]> {
  const changed: string[] = [];
  for (const { seed, hash } of seeds) {
    const now = (await simulate(seed, minutes * 60_000)).hash;
    if (now !== hash) changed.push(`seed ${seed}: ${now}, and it was ${hash}`);
  }
  return changed;
}

/** Writes the hashes to a file. */
export async function recordHashes(path: string): Promise<void> {
  writeFileSync(path, `${JSON.stringify(await record(), undefined, 2)}\n`);
}

/** Compares with the hashes in a file, prints the differences and returns their number. */
export async function checkHashes(path: string): Promise<number> {
  const hashes = JSON.parse(readFileSync(path, "utf8")) as Hashes;
  const changed = await changedHashes(hashes);
  for (const line of changed) console.error(line);
  const locale = new Intl.DateTimeFormat().resolvedOptions();
  console.log(
    `${hashes.seeds.length} histories, ${changed.length} differ ` +
      `(Node ${process.version}, ${locale.locale}, ${locale.timeZone})`,
  );
  return changed.length;
}
