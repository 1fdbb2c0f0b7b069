import { platform, uptime } from "node:os";
import { performance } from "node:perf_hooks";
import { BootStep } from "./boot-step.js";

/**
 * The three clocks of a process. They are read together and compared only as elapsed times, because one clock can
 * stand still or jump while the others run.
 */
export interface Clock {
  /** Milliseconds from an arbitrary start. Never steps; stands still while a virtual machine is suspended. */
  monotonicMs(): number;
  /** Wall-clock time in milliseconds since 1970. May step in both directions. */
  wallMs(): number;
  /** Milliseconds since boot, including suspends, in steps of {@link Clock.bootStepMs}. */
  bootMs(): number;
  /** The step of `bootMs` in milliseconds; default 10. A deadline allows for one step. */
  readonly bootStepMs?: number;
}

/** One reading of all three clocks, in milliseconds. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly bootMs: number;
}

/**
 * Reads all three clocks. To read the boot clock takes microseconds, because Node.js opens a file for it: code reads an
 * instant once in a synchronous step, and passes it on.
 */
export function instantOf(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs(), bootMs: clock.bootMs() };
}

/**
 * Returns the milliseconds from `start` until `now`, by the clock that shows the longest time (R2). A suspended machine
 * stops the monotonic clock, and a frozen Lambda function stops timers. A step of the wall clock can only make the result
 * longer. So a holder may stop too early, never too late.
 *
 * `now` must be read in the same synchronous step as the result is used: between two steps, the process may be paused.
 */
export function elapsedMsUntil(now: Instant, start: Instant): number {
  return Math.max(
    now.monotonicMs - start.monotonicMs,
    now.wallMs - start.wallMs,
    now.bootMs - start.bootMs,
  );
}

/** Reads all three clocks, and returns the milliseconds since `start` as {@link elapsedMsUntil} does. */
export function elapsedMsSince(start: Instant, clock: Clock): number {
  return elapsedMsUntil(instantOf(clock), start);
}

/** Returns the instant `ms` milliseconds before the given instant, on every clock. */
export function earlierBy(ms: number, { monotonicMs, wallMs, bootMs }: Instant): Instant {
  return { monotonicMs: monotonicMs - ms, wallMs: wallMs - ms, bootMs: bootMs - ms };
}

/** The assumed step of a clock without `bootStepMs`: the step of Node.js on Linux. */
export const USUAL_BOOT_STEP_MS = 10;

/** Formats an instant of wall-clock time as ISO 8601. */
export function isoTimeOf(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** Returns an instant of wall-clock time as a `Date`, for interfaces that require one. */
export function dateAt(wallMs: number): Date {
  return new Date(wallMs);
}

/** Parses an instant into milliseconds since 1970. Returns undefined for text that is not a date. */
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

/**
 * The clocks of this machine for several threads. The monotonic clock of {@link systemClock} counts from the start of its
 * thread; this one has the same origin in every thread of the process.
 */
export const sharedClock: Clock = {
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  wallMs: () => systemClock.wallMs(),
  bootMs: () => systemClock.bootMs(),
  get bootStepMs() {
    return bootStep.ms;
  },
};
