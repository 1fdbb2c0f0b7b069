import { describe, expect, it } from "vitest";
import { REFUSED } from "../../verification/variants/refused.js";
import { violationsOf } from "../../verification/variants/run.js";
import { RULES } from "../../verification/variants/tables.js";
import { ROOT } from "../house/source.js";

describe("the interpreter of the protocol, beside code that breaks a rule", () => {
  it("is tried with a break of each rule", () => {
    expect(RULES.filter((of) => !REFUSED.some(({ rule }) => rule === of))).toEqual([]);
  });

  it.each(REFUSED.map((one, index) => ({ ...one, index })))(
    "refuses a break of $rule: $says",
    async ({ rule, says, edits, placement, index }) => {
      const variant = { name: `refused-${index}`, edits };
      const violations = await violationsOf(ROOT, variant, placement);
      const reported = violations.map(({ invariant, what }) => `${invariant}: ${what}`);
      expect(reported).toContainEqual(expect.stringMatching(`^trace ${rule}: .*${says}`));
    },
    60_000,
  );
});
