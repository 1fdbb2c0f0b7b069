import { describe, expect, it } from "vitest";
import type { ClientContext, OpenLease } from "../../../src/core/context.js";
import { closeInOrder, freeAll, type Running } from "../../../src/core/hold/close.js";
import type { RecordRef } from "../../../src/core/record/format.js";

/** A client whose requests have no answer, and whose timers end at `end()`. */
function setUp() {
  const timers: { readonly lengthMs: number; readonly keepsAlive: boolean; end: () => void }[] = [];
  let writes = 0;
  const context = {
    settings: { closeTimeoutMs: 1_000, requestTimeoutMs: 10_000 },
    clock: { monotonicMs: () => 0, wallMs: () => 0, bootMs: () => 0 },
    random: { fraction: () => 0.5 },
    timers: {
      set: (lengthMs: number, keepsAlive: boolean, end: () => void) => {
        timers.push({ lengthMs, keepsAlive, end });
        return { cancel: () => undefined };
      },
    },
    releases: () => undefined,
    beginClosing: () => undefined,
    drain: async () => undefined,
    releasing: new Set(),
    unreleased: () => [],
    freeing: () => ({}),
    write: () => {
      writes += 1;
      return new Promise(() => undefined);
    },
  } as unknown as ClientContext;
  const end = () => {
    for (const timer of timers.splice(0)) timer.end();
  };
  return { context, timers, end, writes: () => writes };
}

const lease = (index: number): OpenLease =>
  ({
    ref: { kind: "lock", name: `${index}`, id: `${index}` } as RecordRef,
    held: { holder: "h", fence: 1n },
    settings: { keepData: false },
    userData: { leftAtClose: undefined },
    requests: { run: (send: () => unknown) => send() },
  }) as unknown as OpenLease;

describe("the releases of a closing client", () => {
  it("send nothing more after the close timeout, and report each record", async () => {
    const { context, timers, end, writes } = setUp();
    const freeing = freeAll(
      context,
      Array.from({ length: 300 }, (_, index) => lease(index)),
    );
    expect(timers).toMatchObject([{ lengthMs: 1_000, keepsAlive: true }]);
    expect(writes()).toBe(300);
    end();
    const errors = await freeing;
    expect(writes()).toBe(300);
    expect(errors.map(({ code }) => code)).toEqual(Array(300).fill("outcome-unknown"));
    expect(new Set(errors.map(({ lockName }) => lockName)).size).toBe(300);
  });
});

describe("a close with running callbacks", () => {
  it("keeps the process alive until the close timeout, and then ends their leases", async () => {
    const { context, timers, end } = setUp();
    let forsaken = 0;
    const callback: Running = {
      ended: new Promise(() => undefined),
      forsake: () => {
        forsaken += 1;
      },
    };
    const closing = closeInOrder(context, new Set([callback]));
    expect(timers).toMatchObject([{ lengthMs: 1_000, keepsAlive: true }]);
    expect(forsaken).toBe(0);
    end();
    await closing;
    expect(forsaken).toBe(1);
  });
});
