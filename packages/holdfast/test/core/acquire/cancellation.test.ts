import { describe, expect, it } from "vitest";
import { Cancellation } from "../../../src/core/acquire/cancellation.js";
import type { AcquireContext } from "../../../src/core/acquire/context.js";
import type { HoldSettings } from "../../../src/core/hold/hold.js";
import { Outages } from "../../../src/core/outages.js";
import type { RecordRef } from "../../../src/core/record/format.js";
import { Observations } from "../../../src/core/record/observation.js";
import { Abort } from "../../../src/platform/abort.js";

const WAIT_MS = 1_000;
const throttled = { kind: "throttled", cause: new Error("slow down") } as const;
const unknown = { kind: "unknown", cause: new Error("cut off") } as const;
const cutOff = { ...unknown, isCutOff: true } as const;

/** An acquisition whose wait ends at `end()`. */
function waiting(more: Partial<HoldSettings> = {}) {
  const now = { ms: 0 };
  let atEnd = (): void => undefined;
  /** When the outages would be told, and whether their timers were cancelled. */
  const outages: { readonly ms: number; isCancelled: boolean }[] = [];
  const timers: number[] = [];
  const seen: { record?: object } = {};
  const known = new Outages();
  const context = {
    outages: known,
    nowMs: () => now.ms,
    closing: new Abort(),
    settings: { maxClockDrift: 0.01, requestTimeoutMs: 5_000 },
    observations: Object.assign(Object.create(Observations.prototype), {
      of: () => seen.record && { record: seen.record },
    }),
    timers: {
      set: (ms: number, keepsAlive: boolean, then: () => void) => {
        if (!keepsAlive) {
          const outage = { ms, isCancelled: false };
          outages.push(outage);
          return {
            cancel: () => {
              outage.isCancelled = true;
            },
          };
        }
        timers.push(ms);
        atEnd = then;
        return { cancel: () => undefined };
      },
    },
  } as unknown as AcquireContext;
  const settings = { waitMs: WAIT_MS, leaseMs: 10_000, owner: "one", ...more } as HoldSettings;
  const ref = { kind: "lock", name: "a", id: "a" } as RecordRef;
  const cancellation = new Cancellation(context, [ref], settings, context.nowMs());
  const end = (atMs = WAIT_MS) => {
    now.ms = atMs;
    atEnd();
  };
  return { cancellation, end, outages, timers, seen, known, now };
}

describe("the error at the end of a wait", () => {
  it("is the last reason before the end, and not the request that the end cut off", () => {
    const { cancellation, end } = waiting();
    cancellation.onNoResponse(unknown);
    cancellation.onNoResponse(throttled);
    end();
    expect(cancellation.isStopped).toBe(true);
    cancellation.onNoResponse(unknown);
    expect(cancellation.error()).toMatchObject({ code: "throttled", lockName: "a" });
  });

  it("names the aborted request if there was no earlier request", () => {
    const { cancellation, end } = waiting();
    end();
    cancellation.onNoResponse(unknown);
    expect(cancellation.error()).toMatchObject({ code: "unreachable", lockName: "a" });
  });

  it("is `not-acquired` if DynamoDB answered the request before", () => {
    const { cancellation, end } = waiting();
    cancellation.onNoResponse(throttled);
    cancellation.onResponse();
    end();
    cancellation.onNoResponse(unknown);
    expect(cancellation.error()).toMatchObject({ code: "not-acquired", lockName: "a" });
  });
});

describe("the end of a wait beyond the lease of the holder", () => {
  const BEYOND = { beyondLeaseMs: 1_000, leaseMs: 1_000, waitMs: 2_020 };
  const heldFor = (leaseMs: number) => ({ state: "held", leaseMs, session: undefined });

  it("moves if the holder that was seen has a longer lease", () => {
    const { cancellation, end, timers, seen } = waiting(BEYOND);
    expect(timers).toEqual([2_020]);
    seen.record = heldFor(5_000);
    end(2_020);
    expect(cancellation.isStopped).toBe(false);
    // 5 s, the drift bound twice, and 1 s beyond: 6,100 ms, of which 2,020 have passed.
    expect(timers).toEqual([2_020, 4_080]);
    end(6_100);
    expect(cancellation.isStopped).toBe(true);
    expect(timers).toHaveLength(2);
  });

  it.each([
    ["it has the same lease", heldFor(1_000), 2_020],
    ["it has a shorter lease", heldFor(500), 2_020],
    ["there is none", undefined, 2_020],
    ["the timer came so late that the longer wait is over, too", heldFor(5_000), 6_100],
    ["the timer came even later", heldFor(5_000), 60_000],
  ])("does not move if %s", (_title, record, atMs) => {
    const { cancellation, end, timers, seen } = waiting(BEYOND);
    if (record !== undefined) seen.record = record;
    end(atMs);
    expect(cancellation.isStopped).toBe(true);
    expect(timers).toHaveLength(1);
  });
});

describe("an outage", () => {
  it("is watched from the first request without an answer, also after earlier answers", () => {
    const { cancellation, outages } = waiting();
    cancellation.onResponse();
    for (let i = 0; i < 3; i += 1) cancellation.onNoResponse(unknown);
    expect(outages).toEqual([{ ms: 5_000, isCancelled: false }]);
  });

  it("is watched from the first failure of any request during the wait, and no earlier one", () => {
    for (const [failedMs, leftMs] of [
      [1_000, 2_000],
      [-3_000, 1_000],
    ] as const) {
      const { cancellation, outages, known, now } = waiting();
      known.see({ operation: "read" }, unknown, () => failedMs);
      now.ms = 4_000;
      cancellation.onNoResponse(unknown);
      expect(outages).toEqual([{ ms: leftMs, isCancelled: false }]);
    }
  });

  it("does not begin with a request that the call itself cut off", () => {
    const { cancellation, outages } = waiting();
    cancellation.onNoResponse(cutOff);
    expect(outages).toEqual([]);
  });

  it("is over after an answer, and the next is watched again", () => {
    const { cancellation, outages } = waiting();
    cancellation.onNoResponse(throttled);
    cancellation.onResponse();
    cancellation.onNoResponse(unknown);
    expect(outages.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
  });

  it("is no longer watched once the acquisition has ended", () => {
    const { cancellation, outages } = waiting();
    cancellation.onNoResponse(unknown);
    cancellation.dispose();
    expect(outages.map(({ isCancelled }) => isCancelled)).toEqual([true]);
  });

  it("is not watched by a call without a wait", () => {
    const { cancellation, outages } = waiting({ waitMs: 0 });
    cancellation.onNoResponse(unknown);
    expect(outages).toEqual([]);
  });

  it("is not watched after the end of the wait", () => {
    const { cancellation, end, outages } = waiting();
    end();
    cancellation.onNoResponse(unknown);
    expect(outages).toEqual([]);
  });
});
