import { platform, uptime } from "node:os";
import { performance } from "node:perf_hooks";
import { BootStep } from "./boot-step.js";

/**
 * The three clocks of a process. They are read together and never mixed: what counts is how far each
 * has moved since an earlier reading, because each can stand still, or jump, where another does not.
 */
export interface Clock {
  /** Never steps; stands still while a virtual machine is suspended. Milliseconds from an arbitrary start. */
  monotonicMs(): number;
  /** Civil time; can be stepped in both directions. Milliseconds since 1970. */
  wallMs(): number;
  /** Time since boot, suspends included, in steps of {@link Clock.bootStepMs}. */
  bootMs(): number;
  /** The step in which `bootMs` counts, in milliseconds. A deadline allows for it. Left out: 10. */
  readonly bootStepMs?: number;
}

/** One reading of all three clocks, in milliseconds. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly bootMs: number;
}

/** Reads all three clocks. */
export function instantOf(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs(), bootMs: clock.bootMs() };
}

/**
 * How long ago `start` was, in milliseconds, by whichever clock says longest (R2). A suspended machine
 * stops the monotonic clock, a frozen function stops timers, and a stepped wall clock only ever adds:
 * taking the largest means that a holder can stop too early, never too late.
 */
export function elapsedMsSince(start: Instant, clock: Clock): number {
  return Math.max(
    clock.monotonicMs() - start.monotonicMs,
    clock.wallMs() - start.wallMs,
    clock.bootMs() - start.bootMs,
  );
}

/** The step of a clock that does not tell it: that of Node.js on Linux. */
export const USUAL_BOOT_STEP_MS = 10;

/** An instant of civil time as people write it. */
export function isoTimeOf(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** An instant as people or servers write it, in milliseconds since 1970; undefined for what is none. */
export function epochMsOf(text: string | undefined): number | undefined {
  const epochMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}

const bootStep = new BootStep({
  uptimeS: uptime,
  monotonicMs: () => performance.now(),
  isWindows: platform() === "win32",
});

/** The clocks of this machine. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  bootMs: () => uptime() * 1000,
  get bootStepMs() {
    return bootStep.ms;
  },
};
