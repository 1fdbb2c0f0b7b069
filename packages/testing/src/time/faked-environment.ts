import { type Clock, systemClock, systemTimers, type Timers } from "holdfast/internal";

/**
 * The `environment` of a client under the fake timers of Vitest, Jest or `node:test`: all three clocks are the faked
 * `Date`. Fake timers move `Date`, and not the monotonic clock of the machine. So without this a client takes the jump
 * for a suspended machine, and loses its leases. Not for production: a step of the wall clock would end leases.
 * @example
 * vi.useFakeTimers();
 * const locks = new Holdfast({ client: new MemoryTable(), table: "locks", environment: fakedEnvironment });
 */
export const fakedEnvironment: { readonly clock: Clock; readonly timers: Timers } = Object.freeze({
  clock: Object.freeze({
    monotonicMs: () => systemClock.wallMs(),
    wallMs: () => systemClock.wallMs(),
    bootMs: () => systemClock.wallMs(),
    bootStepMs: 1,
  }),
  timers: systemTimers,
});
