import { describe, expect, it } from "vitest";
import {
  begunOf,
  decideStep,
  endedOf,
  type Now,
  type Policy,
  type Seen,
} from "../../src/schedule/decide.js";
import { dataOf, type Memory, memoryIn } from "../../src/schedule/memory.js";
import { ruleOf } from "../../src/schedule/rule.js";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 1, 12);
const at = (hours: number): number => NOON + hours * HOUR;

const rule = ruleOf({ every: "1h" });
const policy = (more: Partial<Policy> = {}): Policy => ({
  rule,
  catchUp: "last",
  overlap: "skip",
  retries: 0,
  backoffMs: 30_000,
  ...more,
});
const memory = (more: Partial<Memory> = {}): Memory => ({
  dueMs: at(0),
  isEnded: true,
  outcome: "completed",
  attempt: 1,
  by: "a",
  begunMs: at(0) + 50,
  endMs: at(0) + 1_000,
  rule: rule.text,
  ...more,
});
const now = (nowMs: number): Now => ({ nowMs, errorMs: 10_000, fromMs: at(-1) });
const free = (one: Memory | undefined): Seen => ({ state: "free", memory: one });

const failed = { outcome: "failed" as const, retryAtMs: at(0) + 31_000 };
const open = { isEnded: false, outcome: undefined, endMs: undefined };
const run = (dueMs: number, attempt = 1) => ({ kind: "run", dueMs, attempt });
const looks = (atMs: number | undefined) => ({ kind: "look", atMs });

describe("decideStep", () => {
  const rows: [string, Seen, number, Partial<Policy>, object][] = [
    ["waits for the next instant", free(memory()), at(0.5), {}, looks(at(1))],
    ["runs the instant when it is due", free(memory()), at(1), {}, run(at(1))],
    [
      "does not run an instant that another clock began early",
      free(memory({ dueMs: at(1) })),
      at(1) - 5_000,
      {},
      looks(at(2)),
    ],
    ["runs the newest of several", free(memory()), at(4.5), {}, run(at(4))],
    ["runs the oldest with `all`", free(memory()), at(4.5), { catchUp: "all" }, run(at(1))],
    [
      "runs the first of the last hundred with `all`",
      free(memory()),
      at(300),
      { catchUp: "all" },
      run(at(201)),
    ],
    ["runs all of exactly a hundred", free(memory()), at(100), { catchUp: "all" }, run(at(1))],
    [
      "runs a minute late with `none`",
      free(memory()),
      at(1) + 60_000,
      { catchUp: "none" },
      run(at(1)),
    ],
    [
      "passes over what is later with `none`",
      free(memory()),
      at(1) + 60_001,
      { catchUp: "none" },
      looks(at(2)),
    ],
    [
      "counts lateness from the end of a run that the instant waited for",
      free(memory({ endMs: at(1.5) })),
      at(1.5) + 9,
      { catchUp: "none" },
      run(at(1)),
    ],
    [
      "passes over instants up to `past`",
      free(memory({ pastMs: at(2) })),
      at(2.5),
      {},
      looks(at(3)),
    ],
    [
      "ignores a `past` that is not due yet",
      free(memory({ pastMs: at(900) })),
      at(2.5),
      {},
      run(at(2)),
    ],
    [
      "retries when the retry is due",
      free(memory(failed)),
      at(0) + 31_000,
      { retries: 1 },
      run(at(0), 2),
    ],
    [
      "waits for the retry",
      free(memory(failed)),
      at(0) + 30_000,
      { retries: 1 },
      looks(at(0) + 31_000),
    ],
    [
      "looks at the next instant, if it comes before the retry",
      free(memory({ ...failed, retryAtMs: at(1.2) })),
      at(0.9),
      {},
      looks(at(1)),
    ],
    [
      "waits for the retry first with `all`",
      free(memory({ ...failed, retryAtMs: at(1.2) })),
      at(1.1),
      { catchUp: "all" },
      looks(at(1.2)),
    ],
    ["gives up the retry for a newer instant", free(memory(failed)), at(1), {}, run(at(1))],
    [
      "waits for the latest retry that a right clock can have set",
      free(memory({ ...failed, retryAtMs: at(1.5) + 70_000 })),
      at(0.5),
      { catchUp: "all" },
      looks(at(1.5) + 70_000),
    ],
    [
      "does at once a retry that a wrong clock has put off",
      free(memory({ ...failed, retryAtMs: at(1.5) + 70_001 })),
      at(0.5),
      { catchUp: "all" },
      run(at(0), 2),
    ],
    [
      "gives up the retry for an instant that `none` passes over",
      free(memory(failed)),
      at(1.5),
      { catchUp: "none" },
      looks(at(2)),
    ],
    [
      "repeats a claim that was undone, as the same attempt",
      free(memory(open)),
      at(0.1),
      {},
      run(at(0), 1),
    ],
    [
      "does not repeat an interrupted run without retries",
      { state: "interrupted", memory: memory(open) },
      at(0.1),
      {},
      looks(at(1)),
    ],
    [
      "repeats an interrupted run with retries",
      { state: "interrupted", memory: memory(open) },
      at(0.1),
      { retries: 1 },
      run(at(0), 2),
    ],
    [
      "gives up after the last retry",
      { state: "interrupted", memory: memory({ ...open, attempt: 2 }) },
      at(0.1),
      { retries: 1 },
      looks(at(1)),
    ],
    [
      "takes a dead holder that has ended for free",
      { state: "interrupted", memory: memory() },
      at(1),
      {},
      run(at(1)),
    ],
    [
      "watches a live run, also past an instant",
      { state: "running", memory: memory(open) },
      at(1.5),
      {},
      { kind: "watch", atMs: at(2) },
    ],
    [
      "counts from the start of this process, if the record tells nothing",
      free(undefined),
      at(-0.5),
      {},
      looks(at(0)),
    ],
    ["runs what came since, if the record tells nothing", free(undefined), at(0), {}, run(at(0))],
  ];
  it.each(rows)("%s", (_, seen, nowMs, more, expected) => {
    expect(decideStep(seen, now(nowMs), policy(more))).toEqual({
      step: expected,
      wrongMs: undefined,
    });
  });

  it("gives up an interrupted run after its last retry", () => {
    const seen = (attempt: number): Seen => ({
      state: "interrupted",
      memory: memory({ ...open, attempt }),
    });
    expect(decideStep(seen(1), now(at(0.1)), policy({ retries: 1 })).step).toEqual(run(at(0), 2));
    expect(decideStep(seen(2), now(at(0.1)), policy({ retries: 1 })).step).toEqual(looks(at(1)));
  });

  it("ends after the last instant of a list", () => {
    const list = ruleOf({ at: [at(0)] });
    const decided = decideStep(free(memory()), now(at(1)), policy({ rule: list }));
    expect(decided.step).toEqual(looks(undefined));
  });

  it("goes on from the last known run, if the record names an instant that is not due", () => {
    const wrong = memory({ dueMs: at(24), success: { dueMs: at(1), atMs: at(1) } });
    expect(decideStep(free(wrong), now(at(1.5)), policy())).toEqual({
      step: looks(at(2)),
      wrongMs: at(24),
    });
    expect(decideStep(free(wrong), now(at(3)), policy()).step).toEqual(run(at(3)));
    const nearly = memory({ dueMs: at(2) + 70_000 });
    expect(decideStep(free(nearly), now(at(2)), policy()).wrongMs).toBeUndefined();
  });
});

describe("endedOf", () => {
  const begun = (more: Partial<Memory> = {}) => memory({ ...open, ...more });
  it("remembers a success, and keeps the last failure", () => {
    const failure = { dueMs: at(-3), atMs: at(-3), attempt: 1, by: "b", error: "e" };
    const ended = endedOf(begun({ failure }), { kind: "completed" }, at(0.2), policy());
    expect(ended).toMatchObject({
      isEnded: true,
      outcome: "completed",
      success: { dueMs: at(0), atMs: at(0.2) },
      failure,
      nextMs: at(1),
    });
  });
  it("doubles the pause before a retry, up to an hour", () => {
    const pause = (attempt: number) => {
      const ended = endedOf(
        begun({ attempt }),
        { kind: "failed", error: "e" },
        at(0.2),
        policy({ retries: 20 }),
      );
      return (ended.retryAtMs ?? 0) - at(0.2);
    };
    expect([1, 2, 3, 10].map(pause)).toEqual([30_000, 60_000, 120_000, HOUR]);
  });
  it("passes over instants during the run only with `skip`", () => {
    const past = (more: Partial<Policy>) =>
      endedOf(begun(), { kind: "completed" }, at(2.5), policy(more)).pastMs;
    expect(past({})).toBe(at(2));
    expect(past({ overlap: "wait" })).toBeUndefined();
    expect(endedOf(begun(), { kind: "completed" }, at(0.5), policy()).pastMs).toBeUndefined();
  });
  it("does not retry a final failure, nor after the last attempt", () => {
    const after = (attempt: number, isFinal: boolean) =>
      endedOf(
        begun({ attempt }),
        { kind: "failed", error: "e", isFinal },
        at(0.2),
        policy({ retries: 1 }),
      ).retryAtMs;
    expect(after(1, false)).toBeDefined();
    expect(after(2, false)).toBeUndefined();
    expect(after(1, true)).toBeUndefined();
  });
});

describe("begunOf", () => {
  const who = { nowMs: at(0.5), errorMs: 10_000, by: "b" };
  it("keeps for a retry what the run before it has passed over, and not for another instant", () => {
    const skipped = free(memory({ ...failed, pastMs: at(1) }));
    expect(begunOf({ dueMs: at(0), attempt: 2 }, skipped, who, policy())).toMatchObject({
      pastMs: at(1),
      nextMs: at(2),
    });
    const retried = begunOf({ dueMs: at(0), attempt: 2 }, skipped, who, policy());
    expect(endedOf(retried, { kind: "completed" }, at(0.6), policy()).pastMs).toBe(at(1));
    expect(begunOf({ dueMs: at(2), attempt: 1 }, skipped, who, policy()).pastMs).toBeUndefined();
  });
  it("forgets the success of an instant that is not due yet", () => {
    const at1 = { dueMs: at(0.5) + 70_001, atMs: at(0) };
    const wrong = free(memory({ success: at1 }));
    expect(begunOf({ dueMs: at(0.5), attempt: 1 }, wrong, who, policy()).success).toBeUndefined();
    const right = free(memory({ success: { ...at1, dueMs: at(0.5) + 70_000 } }));
    expect(begunOf({ dueMs: at(0.5), attempt: 1 }, right, who, policy()).success).toBeDefined();
  });
});

describe("the memory", () => {
  it("comes back from the data as it went in", () => {
    const success = { dueMs: at(-1), atMs: at(-0.9) };
    const failure = { dueMs: at(0), atMs: at(0.1), attempt: 3, by: "b", error: "no" };
    const whole = memory({ success, failure, pastMs: at(1), nextMs: at(2), retryAtMs: at(0.5) });
    expect(memoryIn(dataOf(whole))).toEqual(whole);
  });
  it("tells of an interrupted run in that of the next", () => {
    const seen: Seen = { state: "interrupted", memory: memory(open) };
    const next = begunOf(
      { dueMs: at(1), attempt: 1 },
      seen,
      { nowMs: at(1), errorMs: 10_000, by: "b" },
      policy(),
    );
    expect(next.failure).toMatchObject({ dueMs: at(0), attempt: 1, by: "a" });
  });
  it("takes the data of once() for a run that is over", () => {
    const data = { occurrence: "2026-01-01T10:00:00.000Z", ended: false };
    expect(memoryIn(data)).toMatchObject({ isEnded: true, dueMs: at(-2) });
    for (const other of [undefined, null, 7, "x", { occurrence: "2026-01-01" }, {}]) {
      expect(memoryIn(other)).toBeUndefined();
    }
  });
});
