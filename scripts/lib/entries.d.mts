/** One subpath of the package that users import. */
export interface Subpath {
  /** As package.json's `exports` has it. */
  readonly subpath: string;
  /** The source that it is built from, relative to the checkout. */
  readonly source: string;
  /** Where the build puts its code, as package.json has it. */
  readonly built: string;
  /** Where the build puts its declarations, as package.json has it. */
  readonly declarations: string;
  /** The name of its report in `api/`. */
  readonly report: string;
}

/** The subpaths that users import. */
export const subpaths: readonly Subpath[];

/** The sources of the programs, relative to the checkout. */
export const programs: readonly string[];
