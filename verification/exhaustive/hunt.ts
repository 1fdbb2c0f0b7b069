/**
 * Hunts for one variant with every placement of one fault; bundled once for each variant, with its defect. Prints the first
 * violation as JSON, or null.
 */
import { KINDS } from "./kinds.js";
import { nameOf } from "./placement.js";
import { found, searchAll } from "./search.js";

/** The first placement that shows the defect, and what it breaks. */
export interface Caught {
  readonly placement: string;
  readonly invariants: readonly string[];
}

const AT_ONCE = 20;

// A rejection without a handler is part of the defect, and must not end the hunt.
process.on("unhandledRejection", () => undefined);
Error.stackTraceLimit = 0;

const names = KINDS.map(({ name }) => name);
await searchAll(names, { faults: 1, isWhole: false }, async (placements, isLast, onFound) => {
  const left = [...placements];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const one = await found(next, isLast);
      onFound(one);
      if (one.violations.length === 0) continue;
      const invariants = [...new Set(one.violations.map(({ invariant }) => invariant))];
      const caught: Caught = { placement: nameOf(next), invariants };
      process.stdout.write(`${JSON.stringify(caught)}\n`, () => process.exit(0));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
});
console.log("null");
