import { describe, expect, it } from "vitest";
import { VirtualTime } from "../../../testing/src/time/virtual-time.js";
import { doubling, steady } from "../../src/core/backoff.js";
import { HoldfastError } from "../../src/errors.js";
import { Abort } from "../../src/platform/abort.js";
import {
  AGAIN,
  causeOf,
  type RetryOptions,
  retry,
  unlessMisconfigured,
} from "../../src/platform/retry.js";
import type { Misconfigured } from "../../src/platform/table.js";

const UNKNOWN = { kind: "unknown", cause: "no answer" } as const;
const APPLIED = { kind: "applied" } as const;
const MISCONFIGURED: Misconfigured = {
  kind: "misconfigured",
  error: new HoldfastError("access-denied", "Not allowed."),
};

type Said = typeof UNKNOWN | typeof APPLIED | typeof AGAIN | Misconfigured | Declined;
type Declined = { readonly kind: "throttled" | "conflict" | "skewed"; readonly cause: unknown };

/** The middle of every spread: pauses are as long as their backoff says. */
function scene(answers: readonly Said[], options: Partial<RetryOptions> = {}) {
  const time = new VirtualTime();
  const environment = { timers: time.timers, random: { id: () => "", fraction: () => 0.5 } };
  const attempts: number[] = [];
  const attempt = async (): Promise<Said> => {
    attempts.push(time.nowMs);
    return answers[attempts.length - 1] ?? UNKNOWN;
  };
  const result = retry(environment, attempt, { backoff: steady(100), ...options });
  result.catch(() => undefined);
  return { time, attempts, result };
}

describe("retry", () => {
  it("answers at once where the first attempt is answered", async () => {
    const { time, attempts, result } = scene([APPLIED]);
    expect(await time.runUntil(result)).toEqual({ kind: "answered", answer: APPLIED });
    expect(attempts).toEqual([0]);
  });

  it.each([
    UNKNOWN,
    { kind: "throttled", cause: 1 },
    { kind: "conflict", cause: 1 },
    { kind: "skewed", cause: 1 },
    AGAIN,
  ] as const)("makes another attempt after a pause where one says $kind", async (said) => {
    const { time, attempts, result } = scene([said, said, APPLIED]);
    expect(await time.runUntil(result)).toEqual({ kind: "answered", answer: APPLIED });
    expect(attempts).toEqual([0, 100, 200]);
  });

  it("pauses by the backoff for the drawn fraction", async () => {
    const { time, attempts, result } = scene([UNKNOWN, UNKNOWN, UNKNOWN, APPLIED], {
      backoff: doubling(10),
    });
    await time.runUntil(result);
    expect(attempts).toEqual([0, 10, 30, 70]);
  });

  it("reports each attempt without an answer, but no attempt that asks for a retry", async () => {
    const reported: unknown[] = [];
    const { time, result } = scene([UNKNOWN, AGAIN, { kind: "skewed", cause: 2 }, APPLIED], {
      onNoAnswer: (answer) => reported.push(answer),
    });
    await time.runUntil(result);
    expect(reported).toEqual([UNKNOWN, { kind: "skewed", cause: 2 }]);
  });

  it("rejects with what onNoAnswer throws", async () => {
    const { attempts, result } = scene([UNKNOWN], {
      onNoAnswer: () => {
        throw new Error("enough");
      },
    });
    await expect(result).rejects.toThrow("enough");
    expect(attempts).toEqual([0]);
  });

  it("is over after the pause at which it is too late, and makes at least one attempt", async () => {
    const { time, attempts, result } = scene([UNKNOWN], { isOver: () => true });
    expect(await time.runUntil(result)).toEqual({ kind: "over", last: UNKNOWN });
    expect(attempts).toEqual([0]);
    expect(time.nowMs).toBe(100);
  });

  it("reports nothing if the last attempt asked for a retry", async () => {
    const { time, result } = scene([UNKNOWN, AGAIN], { isOver: () => time.nowMs >= 200 });
    expect(await time.runUntil(result)).toEqual({ kind: "over", last: undefined });
  });

  it("ends in the middle of a pause when its signal aborts", async () => {
    const signal = new Abort();
    const { time, attempts, result } = scene([UNKNOWN], { signal });
    await time.advance(40);
    signal.abort();
    expect(await result).toEqual({ kind: "aborted", last: UNKNOWN });
    expect(attempts).toEqual([0]);
  });

  it("accepts an answer after the signal aborted", async () => {
    const signal = new Abort();
    signal.abort();
    const { result } = scene([APPLIED], { signal });
    expect(await result).toEqual({ kind: "answered", answer: APPLIED });
  });
});

describe("a wrong configuration", () => {
  it("is thrown at once", async () => {
    const { attempts, result } = scene([MISCONFIGURED]);
    await expect(result).rejects.toBe(MISCONFIGURED.error);
    expect(attempts).toEqual([0]);
  });

  it("is tried again where it can be put right before a deadline", async () => {
    const reported: unknown[] = [];
    const { time, attempts, result } = scene([MISCONFIGURED, APPLIED], {
      onMisconfigured: "retry",
      onNoAnswer: (answer) => reported.push(answer),
    });
    expect(await time.runUntil(result)).toEqual({ kind: "answered", answer: APPLIED });
    expect(attempts).toEqual([0, 100]);
    expect(reported).toEqual([]);
  });

  it("ends the loop without a pause where the caller says so", async () => {
    const { result } = scene([MISCONFIGURED], { onMisconfigured: "end" });
    expect(await result).toEqual({ kind: "over", last: MISCONFIGURED });
  });

  it("is thrown for a request that is sent once", () => {
    expect(() => unlessMisconfigured(MISCONFIGURED)).toThrow(MISCONFIGURED.error);
    expect(unlessMisconfigured<typeof APPLIED>(APPLIED)).toBe(APPLIED);
  });
});

describe("causeOf", () => {
  it("is the error of a wrong configuration, or why there was no answer", () => {
    expect(causeOf(MISCONFIGURED)).toBe(MISCONFIGURED.error);
    expect(causeOf(UNKNOWN)).toBe("no answer");
    expect(causeOf(undefined)).toBeUndefined();
  });
});
