// The cost of `import "holdfast"` beyond the SDK's import, which every program with Holdfast pays anyway: node
// bench/import.mjs. Processes that import the SDK alone, and both, take turns, so that a busy machine slows
// both. Prints medians and [quartiles], in ms, of elapsed time and of processor time; writes nothing.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { built } from "../scripts/lib/ready.mjs";
import { textTable } from "./lib/text-table.mjs";

await built();

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const RUNS = 20;
const SDK = "@aws-sdk/client-dynamodb";

/** Imports these packages in order in a fresh process. Returns the time of each import. */
function measure(...packages) {
  const script = `
    for (const name of ${JSON.stringify(packages)}) {
      const from = performance.now();
      const cpu = process.cpuUsage();
      await import(name);
      const { user, system } = process.cpuUsage(cpu);
      const wall = performance.now() - from;
      console.log(JSON.stringify({ wall, user: user / 1000, system: system / 1000 }));
    }`;
  const args = ["--input-type=module", "--eval", script];
  const options = { cwd: ROOT, encoding: "utf8" };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  if (status !== 0) throw new Error(stderr);
  return stdout.trim().split("\n").map(JSON.parse);
}

function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part) => sorted[Math.round((sorted.length - 1) * part)].toFixed(1);
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}

// The first import fills the file system's cache.
measure(SDK, "holdfast");
const times = { "SDK alone": [], "holdfast, with the SDK": [], "holdfast, after the SDK": [] };
for (let run = 0; run < RUNS; run += 1) {
  times["SDK alone"].push(...measure(SDK));
  times["holdfast, with the SDK"].push(...measure("holdfast"));
  times["holdfast, after the SDK"].push(measure(SDK, "holdfast")[1]);
}
const rows = Object.entries(times).map(([imported, taken]) => ({
  imported,
  wall: spread(taken.map(({ wall }) => wall)),
  user: spread(taken.map(({ user }) => user)),
  system: spread(taken.map(({ system }) => system)),
}));
console.log(textTable(rows));
