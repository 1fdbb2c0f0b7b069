import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { changedFiles, type Variant } from "./variant.js";

/** The folder of the bundles: below the checkout, so that packages resolve. */
export function bundlesIn(root: string): string {
  return join(root, "node_modules/.cache/holdfast/variants");
}

/** Applies a variant's edits, if any, while the files are bundled; the files on disk stay unchanged. */
function withError(root: string, variant: Variant | undefined): Plugin {
  const changed = variant === undefined ? new Map<string, string>() : changedFiles(root, variant);
  return {
    name: "holdfast-known-bad",
    setup({ onLoad, onEnd }) {
      const unused = new Set(changed.keys());
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(root, path);
        unused.delete(file);
        const text = changed.get(file) ?? (await readFile(path, "utf8"));
        // Files beside a source file are resolved relative to the source file, not to the bundle.
        const own = JSON.stringify(pathToFileURL(path).href);
        return { contents: text.replaceAll("import.meta.url", own), loader: "ts" };
      });
      onEnd(() => {
        if (unused.size > 0) throw new Error(`Nothing imports ${[...unused].join(", ")}.`);
      });
    },
  };
}

/** Bundles the entry points in `options`, with a variant's edits or without. */
export async function bundle(
  root: string,
  variant: Variant | undefined,
  outfile: string,
  options: BuildOptions,
): Promise<void> {
  await mkdir(dirname(outfile), { recursive: true });
  await build({
    ...options,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
    outfile,
    plugins: [withError(root, variant)],
  });
}
