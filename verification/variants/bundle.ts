import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { FOR_NODE } from "../../scripts/lib/for-node.mjs";
import { literally, remembered } from "./patch.js";
import { changedFiles, type Variant } from "./variant.js";

/** The folder of the bundles: below the checkout, so that packages resolve. */
export function bundlesIn(root: string): string {
  return join(root, "node_modules/.cache/holdfast/variants");
}

/** No bundled file imports a file that the variant changes: no run of the program can show the defect. */
export class UnusedEdits extends Error {}

/** The files that find others beside themselves, relative to the checkout. */
const locatedFiles = remembered((root: string): readonly string[] =>
  ["packages", "test", "verification"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((path) => `${folder}/${String(path).replaceAll("\\", "/")}`)
      .filter((path) => path.endsWith(".ts") && !path.includes("/node_modules/"))
      .filter((path) => readFileSync(join(root, path), "utf8").includes("import.meta.url")),
  ),
);

/** Applies edits while the files are bundled, not on the disk. Removes each used file from `unused`. */
function withEdits(
  root: string,
  changed: ReadonlyMap<string, string>,
  unused: Set<string>,
): Plugin {
  return {
    name: "holdfast-known-bad",
    setup({ onLoad }) {
      // The bundler itself reads all other files, which takes a tenth of the time.
      const handled = [...changed.keys(), ...locatedFiles(root)].map((file) => join(root, file));
      const filter = new RegExp(`^(?:${handled.map(literally).join("|")})$`);
      onLoad({ filter }, async ({ path }) => {
        const file = relative(root, path);
        unused.delete(file);
        const text = changed.get(file) ?? (await readFile(path, "utf8"));
        // Files beside a source file are resolved relative to the source file, not to the bundle.
        const own = JSON.stringify(pathToFileURL(path).href);
        return { contents: text.replaceAll("import.meta.url", own), loader: "ts" };
      });
    },
  };
}

/** Bundles the entry points in `options`, with a variant's edits or without. Rejects with {@link UnusedEdits}. */
export async function bundle(
  root: string,
  variant: Pick<Variant, "name" | "edits"> | undefined,
  outfile: string,
  options: BuildOptions,
): Promise<void> {
  const changed = variant === undefined ? new Map<string, string>() : changedFiles(root, variant);
  const unused = new Set(changed.keys());
  await mkdir(dirname(outfile), { recursive: true });
  await build({
    ...FOR_NODE,
    ...options,
    outfile,
    plugins: [withEdits(root, changed, unused)],
  });
  if (unused.size > 0) throw new UnusedEdits(`Nothing imports ${[...unused].join(", ")}.`);
}
