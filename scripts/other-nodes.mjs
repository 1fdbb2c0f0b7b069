// Runs the short form of the tests on the other supported versions of Node: npm run test:nodes.
// The npm package `node` only starts another one for the platform, from a script; that one is taken itself.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { attempt, cacheFolder, finish, install, outputOf, ROOT, run } from "./lib/projects.mjs";

// One of each line that is supported and is not the one of the toolchain. Raised with the dependencies.
const VERSIONS = ["22.23.3", "24.21.0"];

function packageName() {
  const { platform, arch } = process;
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return [prefix, platform === "win32" ? "win" : platform, arch].join("-");
}

function nodeOf(version) {
  const folder = cacheFolder(`node-${version}`);
  const executable = process.platform === "win32" ? "node.exe" : "node";
  const path = join(folder, "node_modules", packageName(), "bin", executable);
  if (!existsSync(path)) install(folder, [`${packageName()}@${version}`]);
  const found = outputOf(path, ["--version"]).trim();
  if (found !== `v${version}`) throw new Error(`Node ${version} calls itself ${found}.`);
  return path;
}

const results = [];
for (const version of VERSIONS) {
  results.push(
    await attempt(`Node ${version}`, () =>
      run(nodeOf(version), [join(ROOT, "test", "package", "smoke.mjs")], { cwd: ROOT }),
    ),
  );
}
finish(results);
