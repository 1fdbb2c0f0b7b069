// Gives the checkout the Node.js of its development: npm runs this before each `npm run build`. On a machine with an
// older Node.js it installs the npm package with Node's own executable, and links node_modules/.bin/node, where npm's
// scripts look first. Nothing outside of the checkout changes.
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
if (isOlder(node, TOOLCHAIN)) {
  const advice = `Install Node.js ${TOOLCHAIN.split(".")[0]} or later, and run the command again.`;
  try {
    if (process.platform === "win32") throw new Error("it is not fetched on Windows");
    const fetching = () =>
      console.error(`This is Node.js ${node}; development needs ${TOOLCHAIN}. Fetching it …`);
    link(nodeOf(TOOLCHAIN, fetching));
  } catch (error) {
    console.error(`Node.js ${TOOLCHAIN} is missing: ${error.message}.\n${advice}`);
    process.exitCode = 1;
  }
}
