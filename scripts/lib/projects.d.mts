/** Packs all packages as for publishing. Returns the paths of the tarballs, in their order. Needs a build. */
export function packAll(folder: string, root?: string): string[];
