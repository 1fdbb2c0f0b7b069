// Porcupine judges histories of the simulation, of aphyr's updates and of real processes: npm run porcupine -- --help.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeHistories } from "./lib/histories.mjs";
import { ROOT } from "./lib/projects.mjs";

const SOURCES = join(ROOT, "verification/porcupine");
const needs = "Go 1.19 or newer (Debian: golang-go)";

function start(folder) {
  const program = join(folder, "porcupine");
  const build = ["build", "-buildvcs=false", "-o", program, "."];
  const { status, error } = spawnSync("go", build, { cwd: SOURCES, stdio: "inherit" });
  if (error !== undefined) throw new Error(`Porcupine needs ${needs}.`);
  if (status !== 0) throw new Error("The Go program does not build.");
  const [, version] = /porcupine (v\S+)/.exec(readFileSync(join(SOURCES, "go.mod"), "utf8"));
  const run = (files) => spawnSync(program, files, { encoding: "utf8", maxBuffer: 1 << 26 }).stdout;
  return { run, about: `Porcupine ${version}` };
}

await judgeHistories({ name: "porcupine", checker: "Porcupine", needs, format: "jsonl", start });
