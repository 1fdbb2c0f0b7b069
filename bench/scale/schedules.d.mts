/** The leases of a table, and the seconds to count. */
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

/** Where so many keys lie in a space of 2^32, by a hash. */
export function placesOf(count: number, nameOf: (at: number) => string): Uint32Array;

/** How many of the keys the fullest of so many equal parts holds. */
export function fullestPart(places: Uint32Array, parts: number): number;

export function sumOf(bySecond: Uint32Array): number;
export function mostOf(bySecond: Uint32Array): number;
