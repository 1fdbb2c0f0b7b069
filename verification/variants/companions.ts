import { companion } from "../../packages/formats/src/companion.js";
import { assignFence } from "../../packages/holdfast/src/core/acquire/assign-fence.js";
import { GrantWrite } from "../../packages/holdfast/src/core/acquire/grant.js";
import { guardConditions } from "../../packages/holdfast/src/core/hold/condition.js";
import type { Variant } from "./variant.js";

const COMPANION_TEST = "packages/formats/test/companion.test.ts";
const SIMULATED = {
  test: "test/sim/companion.test.ts",
  title: "follow the order of the grants in twelve fixed runs",
};

/** Defects in the companion fences of records without a number. */
export const COMPANIONS: readonly Variant[] = [
  {
    name: "fence-unconfirmed",
    what: "A new number counts as the fence, without a read of the record's holder afterwards.",
    rules: ["R9"],
    edits: [
      {
        in: { assignFence },
        from: "const shown = await readHolder(acquisition, grant.deadline);\n",
        to: 'const shown = { kind: "shown", holder: grant.holder };\n',
      },
    ],
    caughtBy: SIMULATED,
  },
  {
    name: "fence-confirmed-eventually",
    what: "The read of the record's holder is eventually consistent, and may show an earlier holder.",
    rules: ["R9"],
    edits: [{ in: { assignFence }, from: "consistent: true", to: "consistent: false" }],
    // The simulation seldom detects this: a lagging read must show exactly this grant.
    caughtBy: {
      test: COMPANION_TEST,
      title:
        "are refused to a client that lost the lock before the count, even if its clocks show no loss",
    },
  },
  {
    name: "fence-confirmed-first",
    what: "The client reads the record before it takes the number, and not afterwards.",
    rules: ["R9"],
    edits: [
      {
        in: { assignFence },
        from: "    if (number === undefined) {\n",
        to: `    const named = await readHolder(acquisition, grant.deadline);
    if (named.kind !== "shown") return named;
    if (named.holder !== grant.holder) return REFUSED;
    if (number === undefined) {
`,
      },
      {
        in: { assignFence },
        from: "const shown = await readHolder(acquisition, grant.deadline);\n",
        to: 'const shown = { kind: "shown", holder: grant.holder };\n',
      },
    ],
    caughtBy: SIMULATED,
  },
  {
    name: "fence-counted-before-grant",
    what: "The client takes the number before it requests the grant.",
    rules: ["R9"],
    edits: [
      {
        in: { GrantWrite },
        from: "    const { signal } = this.#cancellation;\n    const repetition = this.#repetition;\n",
        to: `      const { fenceCounter } = this.#context.format;
      if (fenceCounter !== undefined) {
        const counted = fenceCounter.count(this.#ref, this.#grant.fenceSeed);
        const answered = await this.#context.write(counted, 300, this.#cancellation.signal);
        this.#grant.counted = answered.kind === "applied" ? fenceCounter.numberIn(answered.item) : undefined;
      }
      const { signal } = this.#cancellation;
      const repetition = this.#repetition;
`,
      },
      {
        in: { GrantWrite },
        from: "    const grant = { holder, seed, leaseMs, pauseMs, deadline };\n",
        to: "    const grant = { holder, seed, leaseMs, pauseMs, deadline, counted: this.#grant.counted };\n",
      },
      {
        in: { assignFence },
        from: "  let number: bigint | undefined;\n",
        to: "  let number: bigint | undefined = grant.counted;\n",
      },
    ],
    caughtBy: SIMULATED,
  },
  {
    name: "fence-over-anything",
    what: "The client overwrites any item in the companion's place.",
    rules: ["R12"],
    edits: [
      {
        in: { companion },
        from: "condition: any(isAbsent(pk), isCount(FENCE)),",
        to: 'condition: any(isAbsent(pk), { kind: "present", attribute: pk }),',
      },
    ],
    caughtBy: {
      test: COMPANION_TEST,
      title: "never replace another program's item at their key",
    },
  },
  {
    name: "guard-by-holder-alone",
    what: "The condition of a lease with a companion fence requires only the holder, which a late claim can restore.",
    rules: ["R7"],
    edits: [
      {
        in: { guardConditions },
        from: "if (fenceCounter === undefined || held.number === undefined) return",
        to: "if (fenceCounter !== undefined) return",
      },
    ],
    // The simulation detects this in one of about sixty seeds: a late claim must find the record free or absent.
    caughtBy: {
      test: COMPANION_TEST,
      title:
        "keep a former holder's conditions from ever holding again, however late a write lands",
    },
  },
  {
    name: "fence-put-by-grant",
    what: "A grant's number restarts from the clock, whatever the earlier numbers.",
    rules: ["R9"],
    edits: [
      {
        in: { companion },
        from: "[FENCE]: { incrementFrom: seed.toString() }",
        to: "[FENCE]: { N: seed.toString() }",
      },
    ],
    caughtBy: SIMULATED,
  },
];
