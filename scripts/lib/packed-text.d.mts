export declare function filesAt(manifest: {
  readonly version: string;
  readonly repository?: string | { readonly url: string };
}): string | undefined;

export declare function packedText(
  text: string,
  path: string,
  packed: readonly string[],
  host: string | undefined,
): string;
