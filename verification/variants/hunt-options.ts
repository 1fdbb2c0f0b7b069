/** The name of any invariant. */
export const ANY_INVARIANT = "any invariant";

/** The name of the world of each kind in turn. */
export const ANY_WORLD = "any world";

/** The result of a hunt in one range. */
export interface Found {
  readonly from: number;
  /** The number of seeds; null if the invariant held in all seeds. */
  readonly seeds: number | null;
  /** Further violations and errors, each with the number of seeds. */
  readonly besides: Readonly<Record<string, number>>;
}
