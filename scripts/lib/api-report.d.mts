/** One subpath of the package that has types. */
export interface Subpath {
  /** As package.json's `exports` has it. */
  readonly subpath: string;
  /** The name of its report in `api/`. */
  readonly report: string;
  /** Where the build puts its declarations. */
  readonly declarations: string;
}

/** The subpaths that have types. */
export function subpaths(): Subpath[];

/** The report of one subpath, from the declarations of the last build. */
export function apiReport(one: Subpath): string;
