import type { Variant } from "./variant.js";

const NUMBER = "src/core/acquire/assign-fence.ts";
const COMPANION = "src/formats/companion.ts";
const COMPANION_TEST = "test/formats/companion.test.ts";
const SIMULATED = {
  test: "test/sim/companion.test.ts",
  title: "are in the order of the grants in twelve runs that never change",
};

/** Errors in how grants are numbered beside records that carry no number. */
export const COMPANIONS: readonly Variant[] = [
  {
    name: "fence-unconfirmed",
    what: "a number that was counted is a fence, without a look at whom the record names by then",
    rules: ["R9"],
    edits: [
      {
        file: NUMBER,
        from: "        : await holderNow(context, ref, grant.deadline, cancellation);\n",
        to: "        : grant.holder;\n",
      },
    ],
    caughtBy: SIMULATED,
  },
  {
    name: "fence-confirmed-eventually",
    what: "whom the record names is read eventually consistent, and may be what it named before",
    rules: ["R9"],
    edits: [{ file: NUMBER, from: "consistent: true", to: "consistent: false" }],
    // Seldom seen by the simulation: a lagging read has to show neither more nor less than that grant.
    caughtBy: {
      test: COMPANION_TEST,
      title:
        "are not given to who lost the lock before it could count, though no clock of it says so",
    },
  },
  {
    name: "fence-confirmed-first",
    what: "the record is looked at before the number is counted, and not after",
    rules: ["R9"],
    edits: [
      {
        file: NUMBER,
        from: "    number ??= await count(context, ref, counter, grant, cancellation);\n",
        to: `    const named = await holderNow(context, ref, grant.deadline, cancellation);
    if (named !== undefined && named !== grant.holder) return "refused";
    if (named !== undefined) number ??= await count(context, ref, counter, grant, cancellation);
`,
      },
      {
        file: NUMBER,
        from: "        : await holderNow(context, ref, grant.deadline, cancellation);\n",
        to: "        : grant.holder;\n",
      },
    ],
    caughtBy: SIMULATED,
  },
  {
    name: "fence-counted-before-grant",
    what: "the number is counted before the grant is asked for",
    rules: ["R9"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "      const answered = await this.#repetition.run((timeoutMs) =>\n",
        to: `      const { counter } = this.#context.format;
      if (counter !== undefined) {
        const counted = counter.count(this.#ref, this.#grant.fenceSeed);
        const answered = await this.#context.write(counted, 300, this.#cancellation.signal);
        this.#grant.counted = answered.kind === "applied" ? counter.numberIn(answered.item) : undefined;
      }
      const answered = await this.#repetition.run((timeoutMs) =>
`,
      },
      {
        file: "src/core/acquire/grant.ts",
        from: "    const grant = { holder, seed, leaseMs, pauseMs, deadline };\n",
        to: "    const grant = { holder, seed, leaseMs, pauseMs, deadline, counted: this.#grant.counted };\n",
      },
      {
        file: NUMBER,
        from: "  let number: bigint | undefined;\n",
        to: "  let number: bigint | undefined = grant.counted;\n",
      },
    ],
    caughtBy: SIMULATED,
  },
  {
    name: "fence-over-anything",
    what: "a companion is written whatever is in its place",
    rules: ["R12"],
    edits: [
      {
        file: COMPANION,
        from: "condition: any(isAbsent(pk), IS_NUMBERED),",
        to: 'condition: any(isAbsent(pk), { kind: "present", attribute: pk }),',
      },
    ],
    caughtBy: {
      test: COMPANION_TEST,
      title: "take nothing that somebody else has put in their place",
    },
  },
  {
    name: "guard-by-holder-alone",
    what: "a lease whose fence is beside its record is guarded by the holder alone, whom a late claim can bring back",
    rules: ["R7"],
    edits: [
      {
        file: "src/core/hold/condition.ts",
        from: "if (counter === undefined || held.number === undefined) return",
        to: "if (counter !== undefined) return",
      },
    ],
    // The simulation sees it in one seed of some sixty: a late claim has to find the record free or absent.
    caughtBy: {
      test: COMPANION_TEST,
      title: "keep a former holder's conditions from ever holding again, whatever lands late",
    },
  },
  {
    name: "fence-put-by-grant",
    what: "a grant's number starts again from the clock, whatever was counted before",
    rules: ["R9"],
    edits: [
      {
        file: COMPANION,
        from: "[FENCE]: { incrementFrom: seed.toString() }",
        to: "[FENCE]: { N: seed.toString() }",
      },
    ],
    caughtBy: SIMULATED,
  },
];
