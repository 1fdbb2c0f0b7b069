import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { changedText, filesOf, type Variant } from "./variant.js";

/** Where the bundles are kept: below the checkout, so that packages are found. */
export function bundlesIn(root: string): string {
  return join(root, "node_modules/.cache/holdfast/variants");
}

/** Puts a variant's error, if any, into the files it is in, while they are bundled; the files stay as they are. */
function withError(root: string, variant: Variant | undefined): Plugin {
  const files = new Set(variant === undefined ? [] : filesOf(variant));
  return {
    name: "holdfast-known-bad",
    setup({ onLoad, onEnd }) {
      const unused = new Set(files);
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(root, path);
        const text = await readFile(path, "utf8");
        unused.delete(file);
        const changed = variant && files.has(file) ? changedText(variant, file, text) : text;
        // What stands beside a file is looked for where the file is, and not beside the bundle.
        const own = JSON.stringify(pathToFileURL(path).href);
        return { contents: changed.replaceAll("import.meta.url", own), loader: "ts" };
      });
      onEnd(() => {
        if (unused.size > 0) throw new Error(`Nothing imports ${[...unused].join(", ")}.`);
      });
    },
  };
}

/** Bundles what `options` enter by, with the variant's error in it, or as it is. */
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
