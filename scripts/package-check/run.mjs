// Checks the package before publishing: npm run package-check, which builds first. Publishes nothing.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  attempt,
  cacheFolder,
  finish,
  MANIFEST,
  outputOf,
  pack,
  ROOT,
  run,
} from "../lib/projects.mjs";
import { toolCommand } from "../lib/tools.mjs";

// Two thirds are source maps with sources; a much larger package would contain another package's code, or data.
const MOST_BYTES = 3_500_000;
// A file costs a user more than its bytes do: every install unpacks the file, every scanner opens the file.
const MOST_FILES = 59;
const MAY_BE_PACKED =
  /^(?:dist\/.*\.(?:js|js\.map|d\.ts)|dist\/THIRD-PARTY\.txt|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/;

// publint packs the package, which would build once more.
const UNBUILT = { ...process.env, npm_config_ignore_scripts: "true" };

const checker = (name) => toolCommand("scripts/package-check", name);

function promisedFiles() {
  const targets = Object.values(MANIFEST.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  const documents = MANIFEST.files.filter((file) => file !== "dist");
  return [...targets, ...Object.values(MANIFEST.bin), ...documents].map((path) =>
    path.replace(/^\.\//, ""),
  );
}

function checkContent() {
  const [{ files, unpackedSize }] = JSON.parse(
    outputOf("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT }),
  );
  const packed = files.map(({ path }) => path);
  const missing = promisedFiles().filter((path) => !packed.includes(path));
  const foreign = packed.filter((path) => !MAY_BE_PACKED.test(path));
  if (missing.length > 0) throw new Error(`not packed: ${missing.join(", ")}`);
  if (foreign.length > 0) throw new Error(`packed, but not meant to be: ${foreign.join(", ")}`);
  if (packed.length > MOST_FILES)
    throw new Error(`${packed.length} files, more than ${MOST_FILES}`);
  if (unpackedSize > MOST_BYTES) throw new Error(`${unpackedSize} bytes, more than ${MOST_BYTES}`);
  console.log(`${packed.length} files, ${unpackedSize} bytes unpacked`);
}

function checkCommand() {
  for (const path of Object.values(MANIFEST.bin)) {
    const file = join(ROOT, path);
    if (!existsSync(file)) throw new Error(`${path} is not there`);
    if (!readFileSync(file, "utf8").startsWith("#!/usr/bin/env node\n")) {
      throw new Error(`${path} does not begin with #!/usr/bin/env node`);
    }
  }
}

// attw reports a missing file only as a note in its table and by its exit status. CommonJS gets the ES modules,
// which every supported Node can `require`: see docs/adr/0020-the-package.md.
function checkTypes() {
  const tarball = pack(cacheFolder("pack"));
  const { status, stdout } = spawnSync(
    checker("attw"),
    [tarball, "--ignore-rules", "cjs-resolves-to-esm"],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`are the types wrong?\n${stdout}`);
}

finish([
  await attempt("content of the package", checkContent),
  await attempt("the command begins as one", checkCommand),
  await attempt("publint", () =>
    run(checker("publint"), ["--strict"], { cwd: ROOT, env: UNBUILT }),
  ),
  await attempt("attw", checkTypes),
]);
