import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Abort, abortSignalOf, type SignalLike } from "../../src/platform/abort.js";

type Step = { readonly kind: "add" | "remove" | "abort"; readonly listener: number };

/** Lists the calls after each step; a listener may remove another listener during its call. */
function play(signal: SignalLike, abort: () => void, steps: readonly Step[], takes: number[]) {
  const called: string[] = [];
  const listeners = [0, 1, 2, 3].map((at) => () => {
    called.push(`${at} ${signal.aborted}`);
    const taken = listeners[takes[at] ?? -1];
    if (taken !== undefined) signal.removeEventListener("abort", taken);
  });
  for (const { kind, listener } of steps) {
    const one = listeners[listener] as () => void;
    if (kind === "add") signal.addEventListener("abort", one);
    else if (kind === "remove") signal.removeEventListener("abort", one);
    else abort();
    called.push(`${kind} ${signal.aborted}`);
  }
  return called;
}

const step = fc.record({
  kind: fc.constantFrom("add" as const, "add" as const, "remove" as const, "abort" as const),
  listener: fc.integer({ min: 0, max: 3 }),
});

describe("Abort", () => {
  it("calls the same listeners as Node's AbortController, in the same order, after any steps", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 12 }),
        fc.array(fc.integer({ min: -1, max: 3 }), { minLength: 4, maxLength: 4 }),
        (steps, takes) => {
          const own = new Abort();
          const real = new AbortController();
          expect(play(own, () => own.abort(), steps, takes)).toEqual(
            play(real.signal, () => real.abort(), steps, takes),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it("never calls a listener added after the abort, and no listener twice", () => {
    const called: string[] = [];
    const abort = new Abort();
    abort.addEventListener("abort", () => {
      called.push("in time");
      abort.addEventListener("abort", () => called.push("meanwhile"));
    });
    abort.abort();
    abort.addEventListener("abort", () => called.push("too late"));
    abort.abort();
    expect(called).toEqual(["in time"]);
  });

  it("has no reason before the abort, and a DOMException afterwards", () => {
    const abort = new Abort();
    expect(abort.reason).toBeUndefined();
    abort.abort();
    expect(abort.reason).toBeInstanceOf(DOMException);
    expect(abort.reason).toMatchObject({ name: "AbortError" });
    expect(abort.reason).toBe(abort.reason);
  });
});

describe("abortSignalOf", () => {
  it("aborts with the same reason, or returns an aborted signal", () => {
    const abort = new Abort();
    const before = abortSignalOf(abort);
    expect(before).toBeInstanceOf(AbortSignal);
    expect(before.aborted).toBe(false);
    abort.abort();
    const after = abortSignalOf(abort);
    expect([before.aborted, after.aborted]).toEqual([true, true]);
    expect([before.reason, after.reason]).toEqual([abort.reason, abort.reason]);
  });
});
