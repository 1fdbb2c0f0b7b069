import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { VARIANTS } from "../../verification/variants/all.js";
import {
  type FileResult,
  LONGEST_RUN_MS,
  notCaught,
  runTests,
  type Tested,
} from "../../verification/variants/tested.js";
import { isSimulated } from "../../verification/variants/variant.js";
import { ROOT } from "../house/source.js";

const tested = VARIANTS.filter((variant): variant is Tested => !isSimulated(variant));

describe("the tests", () => {
  let results: readonly FileResult[];
  beforeAll(
    async () => {
      results = await runTests(ROOT, tested);
    },
    tested.length * LONGEST_RUN_MS + 20_000,
  );

  it.each(tested)("catch $name, and pass without the defect", (variant) => {
    expect(existsSync(join(ROOT, variant.caughtBy.test))).toBe(true);
    expect(notCaught(variant, results)).toBeUndefined();
  });
});
