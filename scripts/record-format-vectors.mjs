// Records spec/vectors/<format>.json from the original clients, whose drivers must be built: node
// scripts/interop-build.mjs && node scripts/record-format-vectors.mjs [format ...] Ids and times come from the run, so
// every recording differs; any other difference is a change of a client.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundled } from "./lib/bundle.mjs";
import { ROOT, run } from "./lib/projects.mjs";

const outfile = await bundled("test/interop/record/main.ts", {
  // Only modules in scripts/lib use their own path, and resolve from there.
  define: { "import.meta.url": JSON.stringify(`${pathToFileURL(ROOT)}/scripts/lib/main.mjs`) },
});
run(process.execPath, [outfile, join(ROOT, "spec", "vectors"), ...process.argv.slice(2)]);
