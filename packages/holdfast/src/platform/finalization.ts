/** Tells that an object was garbage-collected. The runtime decides when, and may never do so. */
export interface Finalization {
  /** Calls `callback` after the collection of `target`. The callback must not refer to the target. */
  watch(target: object, callback: () => void): void;
  /** Ends the watch of `target`. */
  unwatch(target: object): void;
}

/** The finalization of this runtime. It keeps no process alive. */
export function systemFinalization(): Finalization {
  const registry = new FinalizationRegistry<() => void>((callback) => callback());
  return {
    watch: (target, callback) => registry.register(target, callback, target),
    unwatch: (target) => void registry.unregister(target),
  };
}

/** Tells nothing, so that tests in virtual time stay deterministic. */
export const NO_FINALIZATION: Finalization = Object.freeze({
  watch: () => undefined,
  unwatch: () => undefined,
});
