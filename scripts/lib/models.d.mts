/** The values of a model's definitions, in addition to "no fault". */
export type Bounds = Readonly<Record<string, number>>;

/** An exhaustive search in which every invariant is true. */
export interface Search {
  readonly name: string;
  readonly bounds: Bounds;
}

/** An error, and the first invariant that the error must break. */
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
