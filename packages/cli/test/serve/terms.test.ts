import { describe, expect, it } from "vitest";
import type { Inspection, Survey } from "../../../holdfast/src/admin/index.js";
import { termsAfter } from "../../src/serve/terms.js";

const START_MS = Date.parse("2026-01-01T00:00:00.000Z");
const at = (second: number) => new Date(START_MS + second * 1_000).toISOString();
const ms = (second: number) => START_MS + second * 1_000;

const leader = (fence: bigint, second: number, change: Partial<Inspection> = {}) => ({
  kind: "leader",
  lock: { name: "cron", state: "held", owner: "one", fence, acquiredAt: at(second), ...change },
});
const note = (fence: bigint, second: number, name = "cron") => ({
  name,
  grant: { fence, owner: "one", holder: "h", at: at(second), how: "claim" },
});
const survey = (locks: object[], terms: object[] = []): Survey =>
  ({ locks, terms }) as unknown as Survey;

describe("the terms of leaders", () => {
  it("end when a reading shows another term", () => {
    const first = termsAfter([], survey([leader(1n, 0)]), ms(3));
    expect(first).toMatchObject([{ fence: "1", state: "on", fromMs: ms(0) }]);
    expect(first[0]?.toMs).toBeUndefined();
    const then = termsAfter(first, survey([leader(2n, 4)]), ms(5));
    expect(then).toMatchObject([
      { fence: "1", state: "ended", fromMs: ms(0), toMs: ms(4) },
      { fence: "2", state: "on", fromMs: ms(4) },
    ]);
    expect(termsAfter(then, survey([leader(2n, 4)]), ms(9))).toEqual(then);
  });

  it("come from notes where no reading showed them, and end before the next term", () => {
    const notes = [note(9n, 40), note(7n, 10), note(8n, 20)];
    const terms = termsAfter([], survey([leader(9n, 40)], notes), ms(60));
    expect(terms).toMatchObject([
      { fence: "7", state: "noted", fromMs: ms(10), toMs: ms(20) },
      { fence: "8", state: "noted", fromMs: ms(20), toMs: ms(40) },
      { fence: "9", state: "on", fromMs: ms(40) },
    ]);
  });

  it("between two readings come from notes, beside the terms that readings showed", () => {
    const first = termsAfter([], survey([leader(1n, 0)], [note(1n, 0)]), ms(5));
    const notes = [note(1n, 0), note(2n, 7), note(3n, 8)];
    const then = termsAfter(first, survey([leader(3n, 8)], notes), ms(10));
    expect(then.map(({ fence, state, toMs }) => [fence, state, toMs])).toEqual([
      ["1", "ended", ms(7)],
      ["2", "noted", ms(8)],
      ["3", "on", undefined],
    ]);
  });

  it("include the last term of a free record, which ended before the first reading", () => {
    const free = survey([leader(4n, 0, { state: "free" })]);
    const first = termsAfter([], free, ms(30));
    expect(first).toMatchObject([{ fence: "4", state: "noted", fromMs: ms(0), toMs: ms(30) }]);
    expect(termsAfter(first, free, ms(90))).toEqual(first);
    expect(termsAfter([], survey([{ ...leader(4n, 0), kind: "lock" }]), ms(30))).toEqual([]);
  });

  it("end only at the next term of the same election", () => {
    const notes = [note(1n, 0), note(2n, 10, "other")];
    const terms = termsAfter([], survey([], notes), ms(50));
    expect(terms.map(({ toMs }) => toMs)).toEqual([ms(50), ms(50)]);
  });

  it("have no known end if no reading showed it, and never overlap", () => {
    const first = termsAfter([], survey([leader(1n, 0)], [note(1n, 0)]), ms(5));
    const notes = [note(1n, 0), note(2n, 30), note(3n, 20), note(4n, 50)];
    // An eventually consistent read still shows the third leader, beside the note of the fourth.
    const then = termsAfter(first, survey([leader(3n, 20)], notes), ms(100), true);
    expect(then.map(({ fence, state, fromMs, toMs }) => [fence, state, fromMs, toMs])).toEqual([
      ["1", "noted", ms(0), ms(30)],
      ["2", "noted", ms(30), ms(30)],
      ["3", "noted", ms(30), ms(50)],
      ["4", "noted", ms(50), ms(100)],
    ]);
    const alone = termsAfter(first, survey([]), ms(100), true);
    expect(alone).toMatchObject([{ fence: "1", state: "noted", toMs: ms(100) }]);
  });

  it("are the latest thousand, and order fences as numbers", () => {
    const notes = Array.from({ length: 1_200 }, (_, index) => note(BigInt(index + 1), index));
    const terms = termsAfter([], survey([], notes), ms(5_000));
    expect(terms).toHaveLength(1_000);
    expect(terms[0]).toMatchObject({ fence: "201", fromMs: ms(200), toMs: ms(201) });
    expect(terms.at(-1)).toMatchObject({ fence: "1200" });
  });
});
