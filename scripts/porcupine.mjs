// Porcupine judges histories of the simulation, of aphyr's updates and of real processes: npm run porcupine.
// `--short` makes fewer and leaves the real processes out, `--minutes N` is the length of their run, `--write` writes
// the verdicts to verification/porcupine/results.md.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { writeFigures } from "./lib/figures.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    minutes: { type: "string", default: "2" },
    seed: { type: "string", default: `${Date.now() % 1e9}` },
    write: { type: "boolean", default: false },
  },
});
const SEEDS = values.short ? 20 : 200;
const lines = [];
let isBad = false;

function say(line) {
  console.log(line);
  lines.push(line);
}

function check(isGood, line) {
  say(`${isGood ? "ok     " : "FAILED "} ${line}`);
  isBad ||= !isGood;
}

const cache = `${root}/node_modules/.cache/holdfast`;
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(`${cache}/porcupine-`);
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

function buildProgram() {
  const program = `${folder}/porcupine`;
  const { status, error } = spawnSync("go", ["build", "-buildvcs=false", "-o", program, "."], {
    cwd: `${root}/verification/porcupine`,
    stdio: "inherit",
  });
  if (status === 0) return program;
  console.error(
    error === undefined ? "The Go program does not build." : "Go 1.19 or newer is needed.",
  );
  process.exit(1);
}

const program = buildProgram();

function judge(...args) {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 26 });
  return { isAccepted: status === 0, output: stdout.trim().split("\n") };
}

function operationsIn(output) {
  return output.reduce((sum, line) => sum + Number(/ (\d+) operations/.exec(line)?.[1] ?? 0), 0);
}

async function bundled() {
  const outfile = `${folder}/main.mjs`;
  await build({
    entryPoints: [`${root}/verification/porcupine/main.ts`],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
    outfile,
  });
  return import(pathToFileURL(outfile));
}

function judgeBroken() {
  const { isAccepted, output } = judge("--broken");
  for (const line of output) say(`        ${line}`);
  check(
    isAccepted,
    `a sound history is accepted, and ${output.length} broken histories are refused`,
  );
}

function judgeAll(files, title) {
  const fromMs = performance.now();
  const { isAccepted, output } = judge(...files);
  const seconds = ((performance.now() - fromMs) / 1000).toFixed(1);
  for (const line of output.filter((one) => !one.startsWith("accepted"))) say(`        ${line}`);
  check(isAccepted, `${title}: ${operationsIn(output)} operations judged in ${seconds} s`);
}

async function judgeUpdates({ updatesHistories }) {
  for (const isGuarded of [true, false]) {
    const { sums, files } = await updatesHistories(folder, SEEDS / 4, isGuarded);
    const refused = files.filter((file) => !judge(file).isAccepted).length;
    // Without the condition updates are lost: if none is, the workload proves nothing.
    const isExpected = isGuarded ? sums.lost === 0 && refused === 0 : sums.lost > 0 && refused > 0;
    check(
      isExpected,
      `read, wait up to 2 s, write, ${isGuarded ? "with" : "without"} condition(), in virtual time: ` +
        `${sums.acknowledged} updates acknowledged, ${sums.lost} of them lost, ${sums.refused} refused; ` +
        `${sums.pauses} pauses; Porcupine refuses ${refused} of ${files.length} histories`,
    );
  }
}

function judgeChaos() {
  const file = `${folder}/chaos.jsonl`;
  const options = ["--minutes", values.minutes, "--seed", values.seed, "--export", file];
  const { status } = spawnSync(process.execPath, [`${root}/scripts/chaos.mjs`, ...options], {
    stdio: "inherit",
  });
  check(status === 0, `npm run chaos -- --minutes ${values.minutes} --seed ${values.seed}`);
  judgeAll([file], "this run of real processes is accepted");
}

/** Real processes with a broken rule: if Porcupine accepted them, its verdict about the others would prove nothing. */
function judgeBrokenChaos() {
  for (const rule of ["guard", "deadline"]) {
    const file = `${folder}/chaos-${rule}.jsonl`;
    const options = ["--minutes", "0.4", "--break", rule, "--export", file];
    spawnSync(process.execPath, [`${root}/scripts/chaos.mjs`, ...options], { stdio: "ignore" });
    const { isAccepted, output } = judge(file);
    check(
      existsSync(file) && !isAccepted,
      `a run of real processes whose ${rule} is broken is refused: ${operationsIn(output)} operations`,
    );
  }
}

judgeBroken();
const histories = await bundled();
judgeAll(await histories.simulationHistories(folder, SEEDS), `${SEEDS} simulations are accepted`);
await judgeUpdates(histories);
if (!values.short) {
  judgeChaos();
  judgeBrokenChaos();
}
if (values.write) {
  const text = ["# Verdicts of Porcupine", "", "Written by `npm run porcupine -- --write`.", ""];
  const page = [...text, "```", ...lines, "```", ""].join("\n");
  writeFigures(`${root}/verification/porcupine/results.md`, page);
}
process.exit(isBad ? 1 : 0);
