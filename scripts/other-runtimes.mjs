// Runs the short form of the tests on Bun and on Deno, whose boot clocks count whole seconds: node
// scripts/other-runtimes.mjs. The npm packages `bun` and `deno` download their programs by a script, so the platform
// packages, which contain the programs, are installed instead.
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { attempt, cacheFolder, finish, install, outputOf, ROOT, run } from "./lib/projects.mjs";
import { built } from "./lib/ready.mjs";

await built();

const { platform, arch } = process;
const EXE = platform === "win32" ? ".exe" : "";
const DENO_OF = { linux: "-glibc", darwin: "", win32: "" };

/** Raised with the dependencies. */
const RUNTIMES = [
  {
    name: "Bun",
    version: "1.4.5",
    of: `@oven/bun-${platform === "win32" ? "windows" : platform}-${arch === "arm64" ? "aarch64" : arch}`,
    program: join("bin", `bun${EXE}`),
    args: ["run"],
  },
  {
    name: "Deno",
    version: "2.9.6",
    of: `@deno/${platform}-${arch}${DENO_OF[platform] ?? ""}`,
    program: `deno${EXE}`,
    // Deno finds packages as Node does; permissions are not under test.
    args: ["run", "--allow-all", "--no-lock", "--node-modules-dir=manual"],
  },
];

function programOf({ name, version, of, program }) {
  const folder = cacheFolder(`${name.toLowerCase()}-${version}`);
  const path = join(folder, "node_modules", of, program);
  if (!existsSync(path)) install(folder, [`${of}@${version}`]);
  chmodSync(path, 0o755);
  const found = outputOf(path, ["--version"]);
  if (!found.includes(version)) throw new Error(`${name} ${version} calls itself ${found.trim()}.`);
  return path;
}

const results = [];
for (const runtime of RUNTIMES) {
  for (const file of ["smoke.mjs", "whole-seconds.mjs"]) {
    results.push(
      await attempt(`${runtime.name} ${runtime.version}: ${file}`, () =>
        run(programOf(runtime), [...runtime.args, join(ROOT, "test", "package", file)], {
          cwd: ROOT,
        }),
      ),
    );
  }
}
finish(results);
