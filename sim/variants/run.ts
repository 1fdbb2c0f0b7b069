import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { build, type Plugin } from "esbuild";
import type { Found } from "./hunt.js";
import { changedText, filesOf, type InSimulation, type Variant } from "./variant.js";

/** Puts a variant's error into the files it is in, while they are bundled; the files stay as they are. */
function withError(root: string, variant: Variant): Plugin {
  const files = new Set(filesOf(variant));
  return {
    name: "holdfast-known-bad",
    setup({ onLoad, onEnd }) {
      const unused = new Set(files);
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(root, path);
        if (!files.has(file)) return undefined;
        unused.delete(file);
        return { contents: changedText(variant, file, await readFile(path, "utf8")), loader: "ts" };
      });
      onEnd(() => {
        if (unused.size > 0) throw new Error(`Nothing imports ${[...unused].join(", ")}.`);
      });
    },
  };
}

/** Bundles the hunt with the variant's error in it; answers with the bundle's path. */
async function bundled(root: string, variant: Variant): Promise<string> {
  const folder = join(root, "node_modules/.cache/holdfast/variants");
  await mkdir(folder, { recursive: true });
  const outfile = join(folder, `bad-${variant.name}.mjs`);
  await build({
    entryPoints: [join(root, "sim/variants/hunt.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
    outfile,
    plugins: [withError(root, variant)],
  });
  return outfile;
}

/** Some errors make a run go on for ever; no hunt in one range takes this long, in milliseconds. */
const LONGEST_HUNT_MS = 600_000;

/** Hunts for a variant in ranges that begin at these seeds, each as long as the variant allows. */
export async function huntFor(
  root: string,
  variant: Variant & { readonly caughtBy: InSimulation },
  from: readonly number[],
): Promise<Found[]> {
  const { invariant, within, of } = variant.caughtBy;
  const bundle = await bundled(root, variant);
  const args = [
    bundle,
    "--invariant",
    invariant,
    "--within",
    String(within),
    ...(of === undefined ? [] : ["--of", of]),
  ];
  const ranges = from.flatMap((seed) => ["--from", String(seed)]);
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [...args, ...ranges],
      { timeout: LONGEST_HUNT_MS * from.length },
      (error, stdout) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`Variant "${variant.name}": ${error.message}\n${stdout}`));
      },
    );
  });
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Found);
}
