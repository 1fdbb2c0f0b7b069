import { vi } from "vitest";
import { Abort, type SignalLike } from "../../packages/holdfast/src/platform/abort.js";

/**
 * Counts the listeners of each signal from now on, for real signals and the library's own. Ends with
 * `vi.restoreAllMocks()`.
 */
export function countListeners(): () => Map<SignalLike, number> {
  const listeners = new Map<SignalLike, Set<unknown>>();
  const of = (signal: SignalLike): Set<unknown> => {
    const known = listeners.get(signal) ?? new Set();
    listeners.set(signal, known);
    return known;
  };
  for (const { prototype } of [EventTarget, Abort]) {
    const { addEventListener: add, removeEventListener: remove } = prototype;
    vi.spyOn(prototype, "addEventListener").mockImplementation(function (
      this: object,
      ...given: readonly unknown[]
    ) {
      const [type, listener] = given;
      if (type === "abort") of(this as SignalLike).add(listener);
      Reflect.apply(add, this, given);
    });
    vi.spyOn(prototype, "removeEventListener").mockImplementation(function (
      this: object,
      ...given: readonly unknown[]
    ) {
      const [type, listener] = given;
      if (type === "abort") of(this as SignalLike).delete(listener);
      Reflect.apply(remove, this, given);
    });
  }
  // An aborted signal has called all its listeners, and keeps no listener.
  return () =>
    new Map([...listeners].map(([signal, { size }]) => [signal, signal.aborted ? 0 : size]));
}
