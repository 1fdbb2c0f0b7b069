import type { Timers } from "../platform/timers.js";

// From so many pieces in one turn on, the others come later, in slices of this many.
const MOST_AT_ONCE = 256;
const SLICE = 64;

/** Returns undefined if a piece of work may begin now, or resolves when it may. `isBusy`: it may not begin now. */
export type Slices = (isBusy: boolean) => Promise<void> | undefined;

/**
 * Spreads work of one kind over the turns of the event loop, in the order of the calls. A program that acquires or
 * releases thousands of locks at once would otherwise block its event loop, and with it the renewals.
 */
export function slices(timers: Timers): Slices {
  /** The pieces that began in this turn of the event loop. */
  let begun = 0;
  const waiting: (() => void)[] = [];
  const forget = (): void => {
    begun = 0;
  };
  const beginLater = (): void => {
    timers.set(0, true, () => {
      for (const begin of waiting.splice(0, SLICE)) begin();
      if (waiting.length > 0) beginLater();
    });
  };
  return (isBusy) => {
    if (isBusy || begun >= MOST_AT_ONCE || waiting.length > 0) {
      return new Promise((resolve) => {
        if (waiting.push(resolve) === 1) beginLater();
      });
    }
    // Runs after the code that is running now, and after what that code has set off.
    if (begun === 0) queueMicrotask(forget);
    begun += 1;
    return undefined;
  };
}
