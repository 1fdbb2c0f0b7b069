import { IS_LONG } from "../support/long.js";

/** The part of its fresh seeds that `npm run test:long` runs: `.ci/run` takes a quarter, and its weekly run all. */
const BUDGET = Number(process.env["HOLDFAST_BUDGET"] ?? 1);

/** The first of the fresh seeds of this run. */
export const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));

/**
 * Returns how many seeds a simulation runs: few in `npm test`, many in `npm run test:long`, and more on request, by an
 * environment variable.
 */
export function countOf(variable: string, few: number, many: number): number {
  return Number(process.env[variable] ?? (IS_LONG ? many : few));
}

/** The same for fresh seeds, which only search for violations: what a run must contain is a matter of fixed seeds. */
export function freshOf(variable: string, few: number, many: number): number {
  return countOf(variable, few, Math.max(few, Math.round(many * BUDGET)));
}

/** A violation that a simulation found. */
type Found = string | { readonly invariant: string; readonly atMs?: number; readonly what: string };

type NumbersOf<O> = { [K in keyof O as O[K] extends number ? K : never]: number };

/**
 * Runs a simulation with these seeds. Returns its first violations, each with its seed, the sum of each of its figures, and
 * all outcomes.
 */
export async function runSeeds<O extends { readonly violations: readonly Found[] }>(
  from: number,
  seeds: number,
  simulate: (seed: number) => Promise<O>,
): Promise<{ readonly first: string[]; readonly sums: NumbersOf<O>; readonly outcomes: O[] }> {
  const first: string[] = [];
  const sums: Record<string, number> = {};
  const outcomes: O[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const outcome = await simulate(seed);
    outcomes.push(outcome);
    for (const [figure, value] of Object.entries(outcome))
      if (typeof value === "number") sums[figure] = (sums[figure] ?? 0) + value;
    for (const found of outcome.violations) {
      if (first.length === 5) break;
      const { invariant = "", atMs, what } = typeof found === "string" ? { what: found } : found;
      const at = atMs === undefined ? "" : `${atMs.toFixed(0)} ms: `;
      first.push(`seed ${seed}: ${at}${invariant === "" ? "" : `${invariant}: `}${what}`);
    }
  }
  return { first, sums: sums as NumbersOf<O>, outcomes };
}
