import { describe, expect, it } from "vitest";
import { DEFAULTS } from "../../packages/holdfast/src/core/options.js";
import { holdMs, watchMs } from "../../packages/holdfast/src/core/record/decide.js";
import { durationMs } from "../../packages/holdfast/src/internal/duration.js";
import { pictures, TAKEOVER_S } from "../../scripts/docs/pictures.mjs";
import { textOf } from "../house/source.js";

const ANY = { leastMs: 0, mostMs: Number.POSITIVE_INFINITY };

describe("the pictures of the documents", () => {
  it.each([...pictures()])("%s is what scripts/docs/pictures.mjs draws", (file, drawn) => {
    expect(textOf(`docs/images/${file}`)).toBe(drawn);
  });

  it("show a takeover at the times that the core computes", () => {
    const { maxClockDrift, maxClockError } = DEFAULTS;
    const leaseMs = 30_000;
    expect(TAKEOVER_S).toEqual({
      deadline: holdMs(leaseMs, maxClockDrift, 10) / 1_000,
      watched: watchMs(leaseMs, maxClockDrift) / 1_000,
      // docs/safety.md: about 2 s more.
      firstSight: (leaseMs + durationMs("maxClockError", maxClockError, ANY) + 2_000) / 1_000,
    });
  });
});
