/** Whether this run is `npm run test:long`, which has minutes for the simulations; `npm test` has 30 s of processor time. */
const IS_LONG = process.env["HOLDFAST_TESTS"] === "long";

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
