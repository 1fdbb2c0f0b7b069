// Other versions of Node.js, from npm. The npm package `node` is only a script that installs a platform package, so
// the platform package is used directly.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, install, outputOf } from "./projects.mjs";

/** The version for development, tests and CI. */
export const TOOLCHAIN = "24.21.0";

/** The oldest version of `engines` in package.json, and the newest. Raised together with the dependencies. */
export const OTHERS = ["22.12.0", "26.10.0"];

/** Whether a version is of an older line than another, for example 22.12.0 than 24.21.0. */
export function isOlder(version, other) {
  return Number.parseInt(version, 10) < Number.parseInt(other, 10);
}

function packageName() {
  const { platform, arch } = process;
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return [prefix, platform === "win32" ? "win" : platform, arch].join("-");
}

/** The path of this version's executable. If it is not there, calls `onInstall` and installs it. */
export function nodeOf(version, onInstall) {
  const folder = cacheFolder(`node-${version}`);
  const executable = process.platform === "win32" ? "node.exe" : "node";
  const path = join(folder, "node_modules", packageName(), "bin", executable);
  if (!existsSync(path)) {
    onInstall?.();
    install(folder, [`${packageName()}@${version}`]);
  }
  const found = outputOf(path, ["--version"]).trim();
  if (found !== `v${version}`) throw new Error(`Node ${version} calls itself ${found}.`);
  return path;
}
