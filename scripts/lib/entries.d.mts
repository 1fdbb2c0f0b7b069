/** A subpath of the package for users. */
export interface Subpath {
  /** The subpath in package.json's `exports`. */
  readonly subpath: string;
  /** The source of the subpath, relative to the checkout. */
  readonly source: string;
  /** The built code, as in package.json. */
  readonly built: string;
  /** The built declarations, as in package.json. */
  readonly declarations: string;
  /** The name of the report in `api/`. */
  readonly report: string;
}

/** What is used of package.json. */
export const MANIFEST: {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};

/** The subpaths for users. */
export const subpaths: readonly Subpath[];

/** The sources of the programs, relative to the checkout. */
export const programs: readonly string[];
