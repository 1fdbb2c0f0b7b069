import { describe, expect, it } from "vitest";
import type { AcquireContext } from "../../../src/core/acquire/context.js";
import { holderSeen, leasesSeen } from "../../../src/core/acquire/holder-seen.js";
import { OpenLeases } from "../../../src/core/open-leases.js";
import type { RecordRef } from "../../../src/core/record/format.js";
import { Observations } from "../../../src/core/record/observation.js";

const REF = { kind: "lock", name: "a", id: "a" } as RecordRef;
const NOW_MS = 50_000;
const LOOKED_MS = 40_000;

interface Seen {
  readonly record: object;
  readonly sinceMs: number;
}

/** A client that last looked at everything at 40 s, and asks at 50 s. */
function clientThatSaw({ lock, row, decision }: { lock?: Seen; row?: Seen; decision?: object }) {
  const asked: unknown[] = [];
  const context = {
    nowMs: () => NOW_MS,
    holds: new OpenLeases(),
    format: { codec: { refOf: (kind: string, name: string) => ({ id: `${kind} ${name}` }) } },
    observations: Object.assign(Object.create(Observations.prototype), {
      of: (id: string) => (id === "a" ? lock : id === "session s" ? row : undefined),
      lookedAtMs: () => LOOKED_MS,
    }),
    sessions: { of: (name: string) => (name === "s" ? row : undefined) },
    decide: (...given: unknown[]) => {
      asked.push(given);
      return decision ?? { kind: "wait", acquirableAtMs: NOW_MS + 700 };
    },
  };
  return { context: context as unknown as AcquireContext, asked };
}

const held = (leaseMs: number, session?: string) => ({
  state: "held",
  holder: "h",
  owner: "worker-7",
  leaseMs,
  session,
});
const FREE = { state: "free" };

describe("the leases of a holder", () => {
  it("is that of the record", () => {
    const { context } = clientThatSaw({ lock: { record: held(3_000), sinceMs: 0 } });
    expect(leasesSeen(context, REF)).toEqual([3_000]);
  });

  it("is also that of the session's row", () => {
    const lock = { record: held(3_000, "s"), sinceMs: 0 };
    const row = { record: held(9_000), sinceMs: 0 };
    expect(leasesSeen(clientThatSaw({ lock, row }).context, REF)).toEqual([3_000, 9_000]);
    const ended = { record: FREE, sinceMs: 0 };
    expect(leasesSeen(clientThatSaw({ lock, row: ended }).context, REF)).toEqual([3_000]);
  });

  it("does not exist without a holder", () => {
    expect(leasesSeen(clientThatSaw({}).context, REF)).toEqual([]);
    const lock = { record: FREE, sinceMs: 0 };
    expect(leasesSeen(clientThatSaw({ lock }).context, REF)).toEqual([]);
  });
});

describe("what a client saw of a holder", () => {
  const lock = { record: held(3_000), sinceMs: 38_000 };

  it("is its silence up to the last look, and when a takeover is possible", () => {
    const { context, asked } = clientThatSaw({ lock });
    expect(holderSeen(context, REF, LOOKED_MS)).toEqual({
      ...{ lockName: "a", owner: "worker-7", leaseMs: 3_000, isOwn: false },
      ...{ silentMs: 2_000, takeableInMs: 700 },
    });
    // The queue does not matter, and neither does whether the record must exist.
    expect(asked).toEqual([[REF, false, { kind: "barge" }]]);
  });

  it("is unknown if the client has not looked since the begin of the call", () => {
    const { context } = clientThatSaw({ lock });
    expect(holderSeen(context, REF, LOOKED_MS + 1)).toBeUndefined();
  });

  it("does not exist without a holder", () => {
    const { context } = clientThatSaw({ lock: { record: FREE, sinceMs: 0 } });
    expect(holderSeen(context, REF, 0)).toBeUndefined();
  });

  it("is the silence of the session's row, and the longer of both leases", () => {
    const onSession = { record: held(3_000, "s"), sinceMs: 1_000 };
    const row = { record: held(9_000), sinceMs: 35_000 };
    const { context } = clientThatSaw({ lock: onSession, row });
    expect(holderSeen(context, REF, 0)).toMatchObject({ leaseMs: 9_000, silentMs: 5_000 });
  });

  it.each([
    ["take-over", 0],
    ["end-session", 0],
    ["look-at-session", undefined],
  ])("says for the decision %s that a takeover is possible in %o ms", (kind, takeableInMs) => {
    const { context } = clientThatSaw({ lock, decision: { kind } });
    expect(holderSeen(context, REF, 0)?.takeableInMs).toBe(takeableInMs);
  });

  it("never says that a takeover was possible in the past", () => {
    const decision = { kind: "wait", acquirableAtMs: NOW_MS - 5 };
    const { context } = clientThatSaw({ lock, decision });
    expect(holderSeen(context, REF, 0)?.takeableInMs).toBe(0);
  });
});
