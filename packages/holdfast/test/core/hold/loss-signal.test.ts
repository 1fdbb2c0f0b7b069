import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { expectThrown } from "../../../../../test/support/errors.js";
import { inWorld } from "../../../../../test/support/world.js";
import { MemoryDynamoDB, memoryClient } from "../../../../testing/src/index.js";
import { anySignal, LossSignal } from "../../../src/core/hold/loss-signal.js";
import { election } from "../../../src/election/index.js";
import { all, Holdfast, mutex, openSession } from "../../../src/index.js";
import { createTable } from "../../../src/table/index.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A signal with a deadline under the test's control. */
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

describe("a loss signal", () => {
  it("is aborted with the first reason when the first read follows the loss", () => {
    const loss = new LossSignal(() => undefined);
    const reason = new Error("first");
    loss.abort(reason);
    loss.abort(new Error("second"));
    expect(loss.signal.aborted).toBe(true);
    expect(loss.signal.reason).toBe(reason);
    expect(loss.signal).toBe(loss.signal);
  });

  it("is an AbortSignal, and not aborted until the deadline", () => {
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
  it.each(Object.entries(QUESTIONS))(
    "aborts at the first read after the deadline: %s",
    (_title, ask) => {
      const { signal, reason, state, aborts } = setUp();
      const composedBefore = AbortSignal.any([signal]);
      state.isOver = true;
      ask(signal, reason);
      expect(aborts()).toBe(1);
      expect(composedBefore.aborted).toBe(true);
      expect(composedBefore.reason).toBe(reason);
    },
  );

  it("gives an aborted signal to new operations after the deadline", async () => {
    const { signal, reason, state } = setUp();
    state.isOver = true;
    const target = new EventTarget();
    let called = false;
    const listener = (): void => {
      called = true;
    };
    // The operation never adds a listener to an aborted signal.
    if (!signal.aborted) target.addEventListener("event", listener, { signal });
    target.dispatchEvent(new Event("event"));
    expect(called).toBe(false);
    expect(signal.reason).toBe(reason);
  });

  it("keeps the first reason, and aborts once", () => {
    const { loss, signal, reason, state, aborts } = setUp();
    loss.abort(reason);
    loss.abort(new Error("another"));
    state.isOver = true;
    expect(signal.reason).toBe(reason);
    expect(signal.aborted).toBe(true);
    expect(aborts()).toBe(1);
  });

  it("lets a listener read the signal again", () => {
    const { signal, state } = setUp();
    const seen: boolean[] = [];
    signal.addEventListener("abort", () => seen.push(signal.aborted));
    state.isOver = true;
    expect(signal.aborted).toBe(true);
    expect(seen).toEqual([true]);
  });
});

/** `AbortSignal.any` of Node.js 22, the reason for anySignal: it never reads `aborted`. Node.js 24 reads it. */
function anyOfNode22(signals: Iterable<AbortSignal>): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  }
  return controller.signal;
}

describe("a signal of anySignal", () => {
  const QUESTIONS: Readonly<Record<string, (signal: AbortSignal, reason: unknown) => void>> = {
    aborted: (signal) => expect(signal.aborted).toBe(true),
    reason: (signal, reason) => expect(signal.reason).toBe(reason),
    throwIfAborted: (signal, reason) =>
      expect(() => signal.throwIfAborted()).toThrow(reason as Error),
  };

  it.each(Object.entries(QUESTIONS))(
    "aborts at the first read after the deadline: %s",
    (_title, ask) => {
      const { signal, reason, state } = setUp();
      const composed = anySignal([new AbortController().signal, signal]);
      // Also for a signal composed earlier.
      const twice = anySignal([composed, new AbortController().signal]);
      let aborts = 0;
      composed.addEventListener("abort", () => {
        aborts += 1;
      });
      expect([composed.aborted, twice.aborted]).toEqual([false, false]);
      state.isOver = true;
      ask(twice, reason);
      ask(composed, reason);
      expect(aborts).toBe(1);
    },
  );

  it("aborts with any source without a read, and starts aborted with an aborted source", () => {
    const { signal } = setUp();
    const other = new AbortController();
    const composed = anySignal([signal, other.signal]);
    const cause = new Error("the caller hung up");
    let heard: unknown;
    composed.addEventListener("abort", () => {
      heard = composed.reason;
    });
    other.abort(cause);
    expect(heard).toBe(cause);
    expect(anySignal([other.signal, signal]).reason).toBe(cause);
    expect(composed).toBeInstanceOf(AbortSignal);
    expect(anySignal([]).aborted).toBe(false);
  });

  it.each([[undefined], [null], [[5]], [[undefined]], [{}]])("refuses %j", (wrong) => {
    const refused = { code: "invalid-argument", mentions: ["anySignal()"] } as const;
    expectThrown(() => anySignal(wrong as never), refused);
  });

  /** Ends after turns of the event loop: only between them does Node.js learn what was collected. */
  const collected = async (): Promise<void> => {
    for (let turns = 0; turns < 10; turns += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      collect();
    }
  };

  it("does not stay in memory when its sources have gone, even with a listener", async () => {
    const made: WeakRef<AbortSignal>[] = [];
    const compose = (): void => {
      const { signal } = setUp();
      const composed = anySignal([signal, new AbortController().signal]);
      const twice = anySignal([composed, new AbortController().signal]);
      for (const one of [composed, twice]) {
        one.addEventListener("abort", () => undefined);
        made.push(new WeakRef(one));
      }
    };
    for (let at = 0; at < 50; at += 1) compose();
    await collected();
    expect(made.filter((one) => one.deref() !== undefined).length).toBeLessThan(5);
  });

  it("aborts with a timeout that nothing else refers to", async () => {
    let aborts = 0;
    const listen = (): void =>
      anySignal([new AbortController().signal, AbortSignal.timeout(2_000)]).addEventListener(
        "abort",
        () => {
          aborts += 1;
        },
      );
    for (let at = 0; at < 20; at += 1) listen();
    // On a busy machine this takes longer than the timeout.
    await collected();
    await vi.waitFor(() => expect(aborts).toBe(20), { timeout: 5_000 });
  });

  it("keeps no source that a caller has composed of a signal that lives longer", async () => {
    const lives = new AbortController();
    const sources: WeakRef<AbortSignal>[] = [];
    const compose = (): void => {
      const both = AbortSignal.any([lives.signal, new AbortController().signal]);
      const { signal } = setUp();
      // Twice: the first that goes must not take it from the other.
      anySignal([anySignal([both]), signal]);
      sources.push(new WeakRef(both));
    };
    for (let at = 0; at < 50; at += 1) compose();
    await collected();
    expect(sources.filter((one) => one.deref() !== undefined).length).toBeLessThan(5);
    expect(lives.signal.aborted).toBe(false);
  });

  it("asks the clocks of a lease through a composed signal that was collected", async () => {
    const { signal, state } = setUp();
    const twice = (() => anySignal([anySignal([signal]), new AbortController().signal]))();
    await collected();
    state.isOver = true;
    expect(twice.aborted).toBe(true);
  });

  // rule: R2
  it("aborts after the deadline of a lease without a timer, of which nothing else is left", async () => {
    const compose = async (names: readonly string[]): Promise<AbortSignal> => {
      const client = memoryClient(new MemoryDynamoDB({ nowMs: Date.now }));
      await createTable({ client, table: "locks" });
      const locks = new Holdfast({ client, table: "locks" });
      const asked = { lease: "1s", renew: "manual" } as const;
      const [name = "", ...more] = names;
      const lock = more.length === 0 ? mutex(locks, name) : all(locks, names);
      const { signal } = await lock.acquire(asked);
      return anySignal([signal, new AbortController().signal]);
    };
    const composed = await Promise.all([compose(["a"]), compose(["a", "b"])]);
    expect(composed.map(({ aborted }) => aborted)).toEqual([false, false]);
    await collected();
    // Real time: virtual clocks would keep what must be collected.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(composed.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("aborts after a pause and before any timer for a lease, a session or a term", async () => {
    const { world, locks, process } = inWorld();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s" }));
    const session = await world.until(openSession(locks, { lease: "10s" }));
    const term = await world.until(election(locks, "b", { lease: "10s" }).campaign());
    const signals = [lease.signal, session.signal, term.signal];
    const other = new AbortController().signal;
    const any = vi.spyOn(AbortSignal, "any").mockImplementation(anyOfNode22);
    const composed = signals.map((signal) => anySignal([signal, other]));
    const plain = signals.map((signal) => AbortSignal.any([signal, other]));
    any.mockRestore();
    process.pause();
    await world.time.advance(20_000);
    process.resume({ first: "io" });
    expect(plain.map(({ aborted }) => aborted)).toEqual([false, false, false]);
    expect(composed.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });
});
