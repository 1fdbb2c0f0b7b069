/** Whether this run is `npm run test:long`, or looks for known-bad variants. */
export const IS_LONG = process.env["HOLDFAST_TESTS"] === "long";

/**
 * The cases of a table. `npm test` has only the first `few`: the others show the same with another parameter, and belong to
 * `npm run test:long`. A file that asks must be among `FURTHER` in vitest.config.ts.
 */
export function firstOf<T>(few: number, cases: readonly T[]): readonly T[] {
  return IS_LONG ? cases : cases.slice(0, few);
}
