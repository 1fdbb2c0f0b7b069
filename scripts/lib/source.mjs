// Loads modules of the packages that no subpath exports, for scripts that need internals. The modules are compiled
// together, so that they share code as in the library, and apart from dist, which holds only code for users.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { ROOT } from "./entries.mjs";
import { FOR_NODE } from "./for-node.mjs";

/** The exports of these modules as one object. Modules are relative to packages/, without file endings. */
export async function loadSource(...modules) {
  const folder = join(ROOT, "node_modules", ".cache", "holdfast");
  const outfile = join(folder, `source-${process.pid}.mjs`);
  mkdirSync(folder, { recursive: true });
  await build({
    ...FOR_NODE,
    stdin: {
      contents: modules.map((path) => `export * from "./${path}.ts";`).join("\n"),
      resolveDir: join(ROOT, "packages"),
    },
    outfile,
  });
  return import(pathToFileURL(outfile).href);
}
