// Checks the models of the protocol, verification/model/*.pml, with Spin: node scripts/model.mjs [--short] [--only NAME].
// For each model the script first searches the protocol exhaustively within bounds, and then each mutant, which
// must break its invariant. --only shows the steps of a mutant's counter-example, and also accepts a model's
// name. --list prints every search with its bounds and every mutant with its error, and runs nothing.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MODELS, NOTHING } from "./lib/models.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const FOLDER = fileURLToPath(new URL("../verification/model", import.meta.url));

// No run is endless; these limits end a run on a machine that is too small or too busy.
const MOST_MEGABYTES = 4_000;
const LONGEST_RUN_MS = 300_000;
const DEEPEST = 1_000_000;

/** With these flags the total time to compile and search a model is shortest. */
const SHORT_OPTIMISATION = {
  lease: "-O1",
  session: "-O0",
  queue: "-O0",
  several: "-O0",
  interrupting: "-O0",
  coalesced: "-O0",
  scheduled: "-O0",
  "first-sight": "-O0",
  permits: "-O1",
  threads: "-O1",
  keep: "-O0",
  rings: "-O0",
};

function runOrThrow(program, args, folder) {
  const done = spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  if (done.error !== undefined) throw done.error;
  if (done.status === 0) return;
  throw new Error(`${[program, ...args].join(" ")}\n${done.stdout}${done.stderr}`);
}

function checkTools() {
  for (const [program, flag] of [
    ["spin", "-V"],
    ["gcc", "--version"],
  ]) {
    if (spawnSync(program, [flag], { stdio: "ignore" }).status === 0) continue;
    throw new Error(
      `The model needs \`${program}\`, which does not run here: on Debian or Ubuntu \`apt-get install spin gcc\`.`,
    );
  }
}

function definitions(bounds, mutant) {
  const set = Object.entries({ ...NOTHING, ...bounds }).map(
    ([name, value]) => `-D${name}=${value}`,
  );
  return mutant === undefined ? set : [...set, `-DDROP_${mutant}`];
}

/** Runs one search in a temporary folder. */
function search(model, defined, compilerFlags) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-model-"));
  const started = performance.now();
  try {
    copyFileSync(join(FOLDER, `${model}.pml`), join(folder, "model.pml"));
    runOrThrow("spin", ["-a", ...defined, "model.pml"], folder);
    const flags = ["-DSAFETY", "-DCOLLAPSE", `-DMEMLIM=${MOST_MEGABYTES}`, ...compilerFlags];
    runOrThrow("gcc", [...flags, "-w", "-o", "pan", "pan.c"], folder);
    const { stdout, signal } = spawnSync(join(folder, "pan"), [`-m${DEEPEST}`, "-w22"], {
      cwd: folder,
      encoding: "utf8",
      timeout: LONGEST_RUN_MS,
    });
    const result = resultIn(stdout);
    return {
      ...result,
      isExhausted: result.isExhausted && signal === null,
      story: result.fell === undefined ? "" : storyIn(folder, defined),
      seconds: (performance.now() - started) / 1_000,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function resultIn(output) {
  const numberIn = (pattern) => Number(pattern.exec(output)?.[1] ?? Number.NaN);
  const failure = /pan:\s*\d+: (?:assertion violated (?:now\.)?(\w+)|(.+?) \(at depth)/.exec(
    output,
  );
  const isCut = /not completed|depth too small|out of memory|memory limit/i.test(output);
  return {
    states: numberIn(/([\d.e+]+) states, stored/),
    depth: numberIn(/depth reached (\d+)/),
    fell: failure?.[1] ?? failure?.[2],
    isExhausted: /errors: \d+/.test(output) && !isCut,
  };
}

/** The steps of the counter-example that a search left in its folder. */
function storyIn(folder, defined) {
  const { stdout } = spawnSync("spin", ["-t", "-T", ...defined, "model.pml"], {
    cwd: folder,
    encoding: "utf8",
  });
  return stdout.replace(/^(?:spin:|#processes)[\s\S]*/m, "").replace(/^(?=.)/gm, "       ");
}

function figures({ states, depth, seconds }) {
  return `${states.toLocaleString("en")} states, depth ${depth}, ${seconds.toFixed(1)} s`;
}

function tell(isGood, text, result, isStoryWanted) {
  console.log(`${isGood ? "ok  " : "FAIL"} ${text}; ${figures(result)}`);
  if (isStoryWanted && result.story !== "") console.log(result.story);
  return isGood;
}

function checkProtocol(model, { name, bounds }) {
  const result = search(model, definitions(bounds), [
    options.short ? SHORT_OPTIMISATION[model] : "-O2",
  ]);
  const isGood = result.fell === undefined && result.isExhausted;
  const verdict = isGood ? "holds" : (result.fell ?? "not exhausted");
  return tell(isGood, `${name}: ${verdict}`, result, true);
}

function checkMutant(model, { name, breaks, what, bounds }) {
  const result = search(model, definitions(bounds, name), ["-O0", "-DBFS"]);
  const isGood = result.fell === breaks;
  const verdict = isGood ? breaks : `${result.fell ?? "nothing"}, and not ${breaks}`;
  const isStoryWanted = !isGood || ![undefined, model].includes(options.only);
  return tell(isGood, `${name} (${what}): breaks ${verdict}`, result, isStoryWanted);
}

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    list: { type: "boolean", default: false },
  },
});

const shownBounds = (bounds = {}) => Object.entries(bounds).flat().join(" ");

/** Prints every search with its bounds, and every mutant with its error. */
function list() {
  for (const { name: model, searches, mutants } of MODELS) {
    console.log(`\n${model}.pml: ${searches.length} searches`);
    for (const { name, bounds } of searches) console.log(`  ${name} (${shownBounds(bounds)})`);
    console.log(`${model}.pml: ${mutants.length} mutants`);
    for (const { name, breaks, what, bounds } of mutants) {
      const only = bounds?.EXCLUSION_ALONE === 1 ? ", searched for Exclusion alone" : "";
      console.log(`  ${name}: ${what}; breaks ${breaks}${only}`);
    }
  }
  return 0;
}

/** Whether each selected search of a model has the expected result. */
function checkModel({ name: model, searches, shortSearches, mutants }) {
  const only = options.only ?? "";
  const isWanted = ({ name }) =>
    only === "" || only === model || name === only || name.startsWith(`${only}_`);
  const wantedSearches = (options.short ? shortSearches : searches).filter(isWanted);
  const wantedMutants = mutants.filter(
    (mutant) => isWanted(mutant) && !(options.short && mutant.isLong),
  );
  if (wantedSearches.length > 0) console.log(`The protocol, ${model}.pml:`);
  const good = wantedSearches.map((wanted) => checkProtocol(model, wanted));
  if (wantedMutants.length > 0) console.log(`The mutants of ${model}.pml:`);
  return [...good, ...wantedMutants.map((wanted) => checkMutant(model, wanted))];
}

function main() {
  if (options.list) return list();
  checkTools();
  const started = performance.now();
  const good = MODELS.flatMap(checkModel);
  if (good.length === 0) throw new Error(`Nothing is called "${options.only}".`);
  const failed = good.filter((isGood) => !isGood).length;
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(`${good.length} searches in ${seconds} s, ${failed} of them not as they must be.`);
  return failed === 0 ? 0 : 1;
}

try {
  process.exitCode = main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
