import { describe, expect, it } from "vitest";
import { LossSignal } from "../../src/lease/loss-signal.js";

/** A signal whose deadline passes when told to; nothing else ever tells it. */
function setUp() {
  const reason = new Error("lost");
  const state = { isOver: false, checks: 0 };
  const loss: LossSignal = new LossSignal(() => {
    state.checks += 1;
    if (state.isOver) loss.abort(reason);
  });
  let aborts = 0;
  loss.signal.addEventListener("abort", () => {
    aborts += 1;
  });
  return { loss, signal: loss.signal, reason, state, aborts: () => aborts };
}

describe("a signal that asks the clocks when it is asked", () => {
  it("is aborted with the first reason, if it is first wanted after the loss", () => {
    const loss = new LossSignal(() => undefined);
    const reason = new Error("first");
    loss.abort(reason);
    loss.abort(new Error("second"));
    expect(loss.signal.aborted).toBe(true);
    expect(loss.signal.reason).toBe(reason);
    expect(loss.signal).toBe(loss.signal);
  });

  it("says no until the deadline, and is an AbortSignal", () => {
    const { signal, aborts } = setUp();
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted).toBe(false);
    expect(signal.reason).toBeUndefined();
    expect(() => signal.throwIfAborted()).not.toThrow();
    expect(AbortSignal.any([signal]).aborted).toBe(false);
    expect(aborts()).toBe(0);
  });

  const QUESTIONS: Readonly<Record<string, (signal: AbortSignal, reason: Error) => void>> = {
    aborted: (signal) => expect(signal.aborted).toBe(true),
    reason: (signal, reason) => expect(signal.reason).toBe(reason),
    throwIfAborted: (signal, reason) => expect(() => signal.throwIfAborted()).toThrow(reason),
    "AbortSignal.any": (signal, reason) => {
      const composed = AbortSignal.any([new AbortController().signal, signal]);
      expect(composed.aborted).toBe(true);
      expect(composed.reason).toBe(reason);
    },
    Reflect: (signal) => expect(Reflect.get(signal, "aborted")).toBe(true),
    destructuring: ({ aborted }) => expect(aborted).toBe(true),
  };

  // rule: R2
  it.each(Object.entries(QUESTIONS))("aborts by itself when asked after it: %s", (_title, ask) => {
    const { signal, reason, state, aborts } = setUp();
    const composedBefore = AbortSignal.any([signal]);
    state.isOver = true;
    ask(signal, reason);
    expect(aborts()).toBe(1);
    expect(composedBefore.aborted).toBe(true);
    expect(composedBefore.reason).toBe(reason);
  });

  it("hands an aborted signal to whatever is started with it", async () => {
    const { signal, reason, state } = setUp();
    state.isOver = true;
    const target = new EventTarget();
    let called = false;
    const listener = (): void => {
      called = true;
    };
    // An aborted signal: the listener is never added.
    if (!signal.aborted) target.addEventListener("event", listener, { signal });
    target.dispatchEvent(new Event("event"));
    expect(called).toBe(false);
    expect(signal.reason).toBe(reason);
  });

  it("keeps its first reason, and tells once", () => {
    const { loss, signal, reason, state, aborts } = setUp();
    loss.abort(reason);
    loss.abort(new Error("another"));
    state.isOver = true;
    expect(signal.reason).toBe(reason);
    expect(signal.aborted).toBe(true);
    expect(aborts()).toBe(1);
  });

  it("lets a listener ask it again", () => {
    const { signal, state } = setUp();
    const seen: boolean[] = [];
    signal.addEventListener("abort", () => seen.push(signal.aborted));
    state.isOver = true;
    expect(signal.aborted).toBe(true);
    expect(seen).toEqual([true]);
  });
});
