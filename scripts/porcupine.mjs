// Porcupine judges histories of the simulation, of aphyr's updates and of real processes: node scripts/porcupine.mjs --help.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { bundled } from "./lib/bundle.mjs";
import { writeFigures } from "./lib/figures.mjs";
import { cacheFolder, ROOT } from "./lib/projects.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const SOURCES = join(ROOT, "verification/porcupine");
const NEEDS = "Porcupine needs Go 1.19 or newer (Debian: golang-go).";

const OPTIONS = {
  short: { type: "boolean", default: false },
  minutes: { type: "string", default: "2" },
  seed: { type: "string", default: `${Date.now() % 1e9}` },
  write: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};

const HELP = `node scripts/porcupine.mjs [options] [FILE ...]
  --short      judge 20 simulations in place of 200, and no real processes
  --minutes N  how long the real processes run (default 2); they need Java and libfaketime
  --seed N     the seed of their plan of faults (default: random)
  --write      also write the verdicts to verification/porcupine/results.md
  FILE         judge only these histories, which \`node scripts/chaos.mjs --export FILE\` wrote
${NEEDS}
Exit status: 0, every verdict is the expected one; 1, another verdict, or none; 64, an unknown option.`;

/** The options and files of the command line. Exits after `--help`, and after an unknown option. */
function optionsOf() {
  try {
    const options = parseArgs({ options: OPTIONS, allowPositionals: true });
    if (!options.values.help) return options;
    console.log(HELP);
    process.exit(0);
  } catch (error) {
    console.error(`${error.message}\n${HELP}`);
    process.exit(64);
  }
}

// The line of a verdict, as the program prints it.
const VERDICT =
  /^(?<word>accepted|REFUSED) +(?<operations>\d+) operations, .* s: (?<file>.+?)(?: by (?<by>[^/\\]+))?$/;

class Judging {
  isBad = false;
  lines = [];
  #run;
  #folder;
  #histories;
  #values;

  constructor(run, folder, histories, values) {
    this.#run = run;
    this.#folder = folder;
    this.#histories = histories;
    this.#values = values;
  }

  say(line) {
    console.log(line);
    this.lines.push(line);
  }

  #check(isGood, line) {
    this.say(`${isGood ? "ok     " : "FAILED "} ${line}`);
    this.isBad ||= !isGood;
  }

  /** Returns the verdict about each file. Without a word about a file, the file is neither accepted nor refused. */
  #judge(files) {
    const fromMs = performance.now();
    const output = this.#run(files).trim().split("\n");
    const seconds = ((performance.now() - fromMs) / 1000).toFixed(1);
    const found = output.map((line) => VERDICT.exec(line)?.groups).filter(Boolean);
    const verdicts = files.map((file) => {
      const { word, operations, by = "" } = found.find((one) => one.file === file) ?? {};
      // A model without a verdict, of which the program says why, refuses nothing.
      const refusedBy = by.split(", ").filter((model) => /^\w+$/.test(model));
      return { isAccepted: word === "accepted", refusedBy, operations: Number(operations ?? 0) };
    });
    const operations = verdicts.reduce((sum, verdict) => sum + verdict.operations, 0);
    return { verdicts, output, figures: `${operations} operations judged in ${seconds} s` };
  }

  judgeAll(files, title) {
    const { verdicts, output, figures } = this.#judge(files);
    for (const line of output.filter((one) => !one.startsWith("accepted"))) {
      this.say(`        ${line.replace(`${this.#folder}/`, "")}`);
    }
    this.#check(
      verdicts.every(({ isAccepted }) => isAccepted),
      `${title}: ${figures}`,
    );
  }

  judgeBroken() {
    const { sound, broken } = this.#histories.soundAndBroken(this.#folder);
    const { verdicts } = this.#judge([sound, ...broken.map(({ file }) => file)]);
    const [ofSound, ...ofBroken] = verdicts;
    const isRefused = broken.map(({ reason, refusedBy }, at) => {
      const by = ofBroken[at].refusedBy.join(" and ");
      const expected = refusedBy.join(" and ");
      const isExpected = by === expected;
      const other = by === "" ? "nothing" : `the ${by}`;
      const verdict = isExpected ? `the ${by}` : `${other}, and not by the ${expected}`;
      this.say(`        refused by ${verdict}: ${reason}`);
      return isExpected;
    });
    this.#check(
      ofSound.isAccepted && isRefused.length > 0 && isRefused.every(Boolean),
      `a sound history is accepted, and ${broken.length} broken histories are refused`,
    );
  }

  async judgeSimulations(seeds) {
    const files = await this.#histories.simulationHistories(this.#folder, seeds);
    this.judgeAll(files, `${seeds} simulations are accepted`);
  }

  async judgeUpdates(seeds, isGuarded) {
    const { sums, files } = await this.#histories.updatesHistories(this.#folder, seeds, isGuarded);
    const { verdicts, figures } = this.#judge(files);
    const accepted = verdicts.filter(({ isAccepted }) => isAccepted).length;
    const refused = verdicts.filter(({ refusedBy }) => refusedBy.includes("register")).length;
    // Without the condition updates are lost: if none is, the workload proves nothing.
    const isExpected = isGuarded
      ? sums.lost === 0 && accepted === files.length
      : sums.lost > 0 && refused > 0 && refused + accepted === files.length;
    this.#check(
      isExpected,
      `read, wait up to 2 s, write, ${isGuarded ? "with" : "without"} condition(), in virtual time: ` +
        `${sums.acknowledged} updates acknowledged, ${sums.lost} of them lost, ${sums.refused} refused; ` +
        `${sums.pauses} pauses; Porcupine refuses ${refused} of ${files.length} histories; ${figures}`,
    );
  }

  /** The history of a run of real processes; undefined if the run wrote none. */
  #chaos(name, options, stdio) {
    const file = join(this.#folder, `${name}.jsonl`);
    const { status } = spawnSync(
      process.execPath,
      [join(ROOT, "scripts/chaos.mjs"), ...options, "--export", file],
      { stdio },
    );
    return { status, file: existsSync(file) ? file : undefined };
  }

  judgeChaos() {
    const options = ["--minutes", this.#values.minutes, "--seed", this.#values.seed];
    const { status, file } = this.#chaos("chaos", options, "inherit");
    this.#check(status === 0 && file !== undefined, `node scripts/chaos.mjs ${options.join(" ")}`);
    if (file !== undefined) this.judgeAll([file], "this run of real processes is accepted");
  }

  /** Real processes with a broken rule: if they were accepted, the verdict about the others would prove nothing. */
  judgeBrokenChaos() {
    for (const rule of ["guard", "deadline"]) {
      const options = ["--minutes", "0.4", "--break", rule];
      const { file } = this.#chaos(`chaos-${rule}`, options, "ignore");
      const { verdicts, figures } = this.#judge(file === undefined ? [] : [file]);
      this.#check(
        verdicts.some(({ refusedBy }) => refusedBy.length > 0),
        `a run of real processes whose ${rule} is broken is refused: ${figures}`,
      );
    }
  }
}

/** Builds the program. Returns a function that runs it on files, and returns what it printed. */
function startOrExit(folder) {
  const program = join(folder, "porcupine");
  const build = ["build", "-buildvcs=false", "-o", program, "."];
  const { status, error } = spawnSync("go", build, { cwd: SOURCES, stdio: "inherit" });
  if (error !== undefined || status !== 0) {
    console.error(error === undefined ? "The Go program does not build." : NEEDS);
    process.exit(1);
  }
  return (files) => spawnSync(program, files, { encoding: "utf8", maxBuffer: 1 << 26 }).stdout;
}

const { values, positionals } = optionsOf();
const folder = mkdtempSync(join(cacheFolder(""), "porcupine-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const run = startOrExit(folder);
const histories = await import(pathToFileURL(await bundled("verification/histories/main.ts")));
const judging = new Judging(run, folder, histories, values);
const [, version] = /porcupine (v\S+)/.exec(readFileSync(join(SOURCES, "go.mod"), "utf8"));
judging.say(`Porcupine ${version}`);
if (positionals.length > 0) {
  judging.judgeAll(positionals, positionals.join(", "));
} else {
  judging.judgeBroken();
  await judging.judgeSimulations(values.short ? 20 : 200);
  for (const isGuarded of [true, false]) {
    await judging.judgeUpdates(values.short ? 5 : 50, isGuarded);
  }
  if (!values.short) {
    judging.judgeChaos();
    judging.judgeBrokenChaos();
  }
}
if (values.write) {
  const text = [
    "# Verdicts of Porcupine",
    "",
    "Written by `node scripts/porcupine.mjs --write`.",
    "",
  ];
  const page = [...text, "```", ...judging.lines, "```", ""].join("\n");
  writeFigures(join(ROOT, "verification/porcupine/results.md"), page);
}
process.exit(judging.isBad ? 1 : 0);
