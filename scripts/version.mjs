// Gives all packages a version, and has them depend on exactly this version of each other: node scripts/version.mjs 1.2.3
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packages, ROOT, run } from "./lib/projects.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const [version] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version ?? "")) {
  console.error("Usage: node scripts/version.mjs 1.2.3");
  process.exit(64);
}
const names = packages.map(({ manifest }) => manifest.name);
for (const folder of [".", ...packages.map((one) => one.folder)]) {
  const path = join(ROOT, folder, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  manifest.version = version;
  for (const uses of [manifest.dependencies ?? {}, manifest.peerDependencies ?? {}]) {
    for (const name of names.filter((one) => one in uses)) uses[name] = version;
  }
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}
const flags = ["--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
run("npm", ["install", ...flags], { cwd: ROOT });
