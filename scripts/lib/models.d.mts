/** What a model's definitions are set to, beside no fault at all. */
export type Bounds = Readonly<Record<string, number>>;

/** One exhaustive search in which every invariant holds. */
export interface Search {
  readonly name: string;
  readonly bounds: Bounds;
}

/** One error, and the invariant that it must break first. */
export interface Mutant {
  readonly name: string;
  readonly breaks: string;
  readonly what: string;
  readonly bounds?: Bounds;
  /** Left out of the short form. */
  readonly isLong?: boolean;
}

export interface Model {
  readonly name: string;
  readonly searches: readonly Search[];
  readonly shortSearches: readonly Search[];
  readonly mutants: readonly Mutant[];
}

export const NOTHING: Bounds;
export const MODELS: readonly Model[];
