// Runs the short form of the tests on the other supported versions of Node, and compares the simulation's
// histories across versions, time zones and languages: npm run test:nodes. The npm package `node` is only a
// script that starts a platform package, so the platform package is used directly.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { attempt, cacheFolder, finish, install, outputOf, ROOT, run } from "./lib/projects.mjs";
import { bundleSimulation } from "./lib/sim-bundle.mjs";

// One version of each supported line except the toolchain's. Raised together with the dependencies.
const VERSIONS = ["22.23.3", "24.21.0"];

// A time zone with half an hour; a language with a decimal comma, and a language with two letters i.
const PLACES = [
  { TZ: "Asia/Kolkata", LANG: "de_DE.UTF-8", LC_ALL: "de_DE.UTF-8" },
  { TZ: "America/St_Johns", LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8" },
];

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

const simulation = await bundleSimulation();
const compareHistories = (node, place) =>
  run(node, [simulation, "--check-hashes", join(ROOT, "verification", "sim", "hashes.json")], {
    cwd: ROOT,
    env: { ...process.env, ...place },
  });
for (const [index, version] of VERSIONS.entries()) {
  const title = `histories on Node ${version}, ${PLACES[index % PLACES.length].TZ}`;
  results.push(
    await attempt(title, () => compareHistories(nodeOf(version), PLACES[index % PLACES.length])),
  );
}
for (const place of PLACES) {
  const title = `histories on this Node, ${place.TZ}, ${place.LC_ALL}`;
  results.push(await attempt(title, () => compareHistories(process.execPath, place)));
}
finish(results);
