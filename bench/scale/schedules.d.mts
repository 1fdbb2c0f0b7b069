/** Leases, and which seconds of them to count. */
export interface Schedules {
  readonly count: number;
  readonly renewMs: number;
  readonly grantedOverMs: number;
  readonly fromS: number;
  readonly toS: number;
  readonly fraction: () => number;
}

/** Writes a second, on average. */
export function writesASecond(count: number, renewMs: number): number;

/** Writes in each second. */
export function renewalsBySecond(schedules: Schedules): Uint32Array;

/** How many of the keys the fullest part holds. */
export function fullestPart(count: number, parts: number, nameOf: (at: number) => string): number;

export function sumOf(bySecond: Uint32Array): number;
export function mostOf(bySecond: Uint32Array): number;
