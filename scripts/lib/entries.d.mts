/** An entry of a package. Paths are relative to the checkout. */
export interface Subpath {
  /** The folder of its package. */
  readonly folder: string;
  /** The subpath in package.json's `exports`. */
  readonly subpath: string;
  /** What a program imports. */
  readonly name: string;
  /** The source of the subpath. */
  readonly source: string;
  /** The built code. */
  readonly built: string;
  /** The built declarations. */
  readonly declarations: string;
  /** The API report. */
  readonly report: string;
}

/** What is used of a package.json. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly main?: string;
  readonly types?: string;
  readonly typesVersions?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** package.json of the checkout. */
export const WORKSPACE: Manifest;

/** package.json of `holdfast`. */
export const MANIFEST: Manifest;

/** The packages, each after those that it uses. */
export const packages: readonly { readonly folder: string; readonly manifest: Manifest }[];

/** All entries of all packages, that for the packages of Holdfast alone included. */
export const entries: readonly Subpath[];

/** The entries for users. */
export const subpaths: readonly Subpath[];

/** The sources of the programs, relative to the checkout. */
export const programs: readonly string[];
