import { describe, expect, it } from "vitest";
import { Cancellation } from "../../../src/core/acquire/cancellation.js";
import type { AcquireContext } from "../../../src/core/acquire/context.js";
import type { HoldSettings } from "../../../src/core/hold/hold.js";
import type { RecordRef } from "../../../src/core/record/format.js";
import { Abort } from "../../../src/platform/abort.js";

const WAIT_MS = 1_000;
const throttled = { kind: "throttled", cause: new Error("slow down") } as const;
const unknown = { kind: "unknown", cause: new Error("cut off") } as const;

/** An acquisition whose wait ends at `end()`. */
function waiting() {
  const now = { ms: 0 };
  let atEnd = (): void => undefined;
  const context = {
    nowMs: () => now.ms,
    closing: new Abort(),
    settings: { maxClockDrift: 0.01 },
    observations: { of: () => undefined },
    timers: {
      set: (_ms: number, _keepsAlive: boolean, then: () => void) => {
        atEnd = then;
        return { cancel: () => undefined };
      },
    },
  } as unknown as AcquireContext;
  const settings = { waitMs: WAIT_MS, leaseMs: 10_000, owner: "one" } as HoldSettings;
  const ref = { kind: "lock", name: "a", id: "a" } as RecordRef;
  const cancellation = new Cancellation(context, [ref], settings);
  const end = () => {
    now.ms = WAIT_MS;
    atEnd();
  };
  return { cancellation, end };
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

  it("is the request that the end cut off, if no request before it was made", () => {
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
