// Gives the checkout the Node.js of its development, and then runs a script on it: `npm run build`. On a machine with an
// older Node.js it installs the npm package with Node's own executable, and links node_modules/.bin/node, where npm's
// scripts look first. Nothing outside of the checkout changes.
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./lib/entries.mjs";
import { isOlder, nodeOf, TOOLCHAIN } from "./lib/nodes.mjs";

function link(path) {
  const bin = join(ROOT, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  // Renamed into place: two builds may begin at once.
  const aside = join(bin, `node.${process.pid}`);
  symlinkSync(relative(bin, path), aside);
  renameSync(aside, join(bin, "node"));
}

const { node } = process.versions;
let executable = process.execPath;
if (isOlder(node, TOOLCHAIN)) {
  const advice = `Install Node.js ${TOOLCHAIN.split(".")[0]} or later, and run the command again.`;
  try {
    if (process.platform === "win32") throw new Error("it is not fetched on Windows");
    const fetching = () =>
      console.error(`This is Node.js ${node}; development needs ${TOOLCHAIN}. Fetching it …`);
    executable = nodeOf(TOOLCHAIN, fetching);
    link(executable);
  } catch (error) {
    console.error(`Node.js ${TOOLCHAIN} is missing: ${error.message}.\n${advice}`);
    process.exitCode = 1;
  }
}

// Not `&& node scripts/build.mjs` in package.json: the shell has looked up `node` before it was linked.
const script = process.argv.slice(2);
if (script.length > 0 && process.exitCode === undefined) {
  const { status } = spawnSync(executable, script, { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
