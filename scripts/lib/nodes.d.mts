export const TOOLCHAIN: string;
export const OTHERS: readonly string[];

/** The package of a version for a platform, with its hash. Throws for a package without a recorded hash. */
export function packageOf(
  version: string,
  platform?: { readonly platform: string; readonly arch: string },
): { readonly name: string; readonly version: string; readonly integrity: string };
