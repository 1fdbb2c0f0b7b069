// Records spec/vectors/<format>.json from the original clients, whose drivers must be built: npm run
// interop:build && node scripts/record-format-vectors.mjs [format ...] Ids and times come from the run, so
// every recording differs; any other difference is a change of a client.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { cacheFolder, ROOT, run } from "./lib/projects.mjs";

const outfile = join(cacheFolder("record"), "main.mjs");
await build({
  entryPoints: [join(ROOT, "test", "interop", "record", "main.ts")],
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "warning",
  // Only modules in scripts/lib use their own path, and resolve from there.
  define: { "import.meta.url": JSON.stringify(`${pathToFileURL(ROOT)}/scripts/lib/main.mjs`) },
  outfile,
});
run(process.execPath, [outfile, join(ROOT, "spec", "vectors"), ...process.argv.slice(2)]);
