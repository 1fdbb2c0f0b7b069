import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import type { ClientContext } from "../../../src/core/context.js";
import type { HoldQueue } from "../../../src/core/hold/hold.js";
import { giveUpLease } from "../../../src/core/hold/release.js";
import type { RecordRef } from "../../../src/core/record/format.js";

const REF = { kind: "lock", name: "a", id: "a" } as RecordRef;
const HELD = { holder: "me", fence: 7n, number: undefined };

interface Answer {
  readonly kind: "applied" | "refused" | "unknown";
  /** The record of the answer. */
  readonly item?: object;
}
const thief: Answer = {
  kind: "refused",
  item: { state: "held", holder: "thief", fence: 8n },
};
const silent: Answer = { kind: "unknown" };

/** Releases a lease without local waiters, against these answers. */
function release(answers: readonly Answer[], lastData?: unknown) {
  const toGive = [...answers];
  const abandoned: string[] = [];
  let turns = 0;
  const context = {
    nowMs: () => 0,
    releases: () => undefined,
    healing: (answer: object) => answer,
    settings: { requestTimeoutMs: 1_000, maxLocalHandoffs: 4 },
    freeing: () => ({}),
    timeoutWithin: () => 500,
    patient: (backoff: object) => backoff,
    write: async () => toGive.shift() ?? silent,
    see: () => undefined,
    observations: { known: () => undefined, freed: () => undefined },
    abandon: (holder: string) => abandoned.push(holder),
    format: { codec: { read: (item: unknown) => item ?? { state: "absent" } } },
    random: { fraction: () => 0.5 },
    timers: {
      set: (_ms: number, _keepsAlive: boolean, then: () => void) => {
        queueMicrotask(then);
        return { cancel: () => undefined };
      },
    },
  } as unknown as ClientContext;
  const localQueue = {
    localHandoffs: 0,
    hasWaiters: false,
    shift: () => undefined,
    next: () => {
      turns += 1;
    },
  } as unknown as HoldQueue;
  const former = {
    ...{
      held: HELD,
      leaseMs: 1_000,
      keepData: true,
      lastData,
      life: undefined,
      isForOthers: false,
    },
    onNoAnswer: () => undefined,
  };
  const released = giveUpLease(context, REF, localQueue, former);
  return { released, abandoned, turns: () => turns };
}

describe("a release", () => {
  it("reports no loss if it was applied, also by a deletion of the record", async () => {
    const { released, abandoned, turns } = release([{ kind: "applied" }]);
    expect(await released).toBeUndefined();
    expect(abandoned).toEqual(["me"]);
    expect(turns()).toBe(1);
  });

  it("reports a loss if another holder refuses its only send", async () => {
    expect(await release([thief]).released).toBe("stolen");
  });

  it("reports no loss after a send without an answer", async () => {
    expect(await release([silent, thief]).released).toBeUndefined();
  });

  it("with data rejects if another holder refuses it after a send without an answer", async () => {
    const { released, abandoned, turns } = release([silent, thief], { done: true });
    await expectError(released, {
      ...{ code: "outcome-unknown", lockName: "a", mentions: ["data"] },
    });
    expect(abandoned).toEqual(["me"]);
    expect(turns()).toBe(1);
  });

  it("with data resolves if it was applied after a send without an answer", async () => {
    const { released } = release([silent, { kind: "applied" }], { done: true });
    expect(await released).toBeUndefined();
  });
});
