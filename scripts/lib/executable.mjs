// Follows packages/cli/README.md to make a single executable of the command line, and runs it on a table in memory.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { outputOf, packages, ROOT } from "./projects.mjs";

const SECTION = "\n## A single executable\n";

/** The commands of the section, without the one that installs packages. */
function recipe() {
  const text = readFileSync(join(ROOT, "packages", "cli", "README.md"), "utf8");
  const section = text.slice(text.indexOf(SECTION) + SECTION.length).split("\n## ")[0];
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block);
  const found = blocks.find((block) => block.includes("--build-sea"));
  if (found === undefined) throw new Error("packages/cli/README.md has no recipe.");
  return found;
}

function linkModules(folder) {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  mkdirSync(join(modules, "@holdfast"));
  for (const one of packages) {
    symlinkSync(join(ROOT, one.folder), join(modules, one.manifest.name), "dir");
  }
  symlinkSync(join(ROOT, "node_modules", "@aws-sdk"), join(modules, "@aws-sdk"), "dir");
  symlinkSync(join(ROOT, "node_modules", ".bin", "esbuild"), join(modules, ".bin", "esbuild"));
}

/** Builds the executable with this Node, and runs a command under a lock with it. */
export async function checkExecutable(node) {
  const { startMemoryServer } = await import(join(ROOT, "packages/testing/dist/index.js"));
  const folder = mkdtempSync(join(tmpdir(), "holdfast-executable-"));
  const server = await startMemoryServer();
  try {
    linkModules(folder);
    const PATH = [dirname(node), process.env.PATH].join(delimiter);
    outputOf("sh", ["-ec", recipe()], { cwd: folder, env: { ...process.env, PATH } });
    const env = {
      PATH: process.env.PATH,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      HOLDFAST_TABLE: "locks",
      HOLDFAST_REGION: "local",
      HOLDFAST_ENDPOINT: server.endpoint,
    };
    const run = (...args) => promisify(execFile)(join(folder, "holdfast"), args, { env });
    await run("table", "create");
    const { stdout } = await run("lock", "a", "--", "sh", "-c", "echo $HOLDFAST_LEASE_FENCE");
    if (!/^\d+\n$/.test(stdout)) throw new Error(`The command printed ${stdout}`);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
