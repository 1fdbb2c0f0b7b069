// Gives histories to the checker of another author, and compares its verdicts with the expected ones: the part that
// `npm run porcupine` and `npm run knossos` share.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { bundled } from "./bundle.mjs";
import { writeFigures } from "./figures.mjs";
import { cacheFolder, ROOT } from "./projects.mjs";

const OPTIONS = {
  short: { type: "boolean", default: false },
  minutes: { type: "string", default: "2" },
  seed: { type: "string", default: `${Date.now() % 1e9}` },
  write: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};

const helpOf = ({ name, checker, needs }) => `npm run ${name} -- [options] [FILE ...]
  --short      judge 20 simulations in place of 200, and no real processes
  --minutes N  how long the real processes run (default 2); they need Java and libfaketime
  --seed N     the seed of their plan of faults (default: random)
  --write      also write the verdicts to verification/${name}/results.md
  FILE         judge only these histories, which \`npm run chaos -- --export FILE\` wrote
${checker} needs ${needs}.
Exit status: 0, every verdict is the expected one; 1, another verdict, or none; 64, an unknown option.`;

/** The options and files of the command line. Exits after `--help`, and after an unknown option. */
function optionsOf(help) {
  try {
    const options = parseArgs({ options: OPTIONS, allowPositionals: true });
    if (!options.values.help) return options;
    console.log(help);
    process.exit(0);
  } catch (error) {
    console.error(`${error.message}\n${help}`);
    process.exit(64);
  }
}

// The line of a verdict, which the programs of all checkers print in one form.
const VERDICT =
  /^(?<word>accepted|REFUSED) +(?<operations>\d+) operations, .* s: (?<file>.+?)(?: by (?<by>[^/\\]+))?$/;

class Judging {
  isBad = false;
  lines = [];
  #run;
  #checker;
  #place;
  #histories;
  #values;

  constructor(run, checker, place, histories, values) {
    this.#run = run;
    this.#checker = checker;
    this.#place = place;
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
      this.say(`        ${line.replace(`${this.#place.folder}/`, "")}`);
    }
    this.#check(
      verdicts.every(({ isAccepted }) => isAccepted),
      `${title}: ${figures}`,
    );
  }

  judgeBroken() {
    const { sound, broken } = this.#histories.soundAndBroken(this.#place);
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
    const files = await this.#histories.simulationHistories(this.#place, seeds);
    this.judgeAll(files, `${seeds} simulations are accepted`);
  }

  async judgeUpdates(seeds, isGuarded) {
    const { sums, files } = await this.#histories.updatesHistories(this.#place, seeds, isGuarded);
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
        `${sums.pauses} pauses; ${this.#checker} refuses ${refused} of ${files.length} histories; ${figures}`,
    );
  }

  /** The history of a run of real processes; undefined if the run wrote none. */
  #chaos(name, options, stdio) {
    const file = join(this.#place.folder, `exported-${name}.jsonl`);
    const { status } = spawnSync(
      process.execPath,
      [join(ROOT, "scripts/chaos.mjs"), ...options, "--export", file],
      { stdio },
    );
    const isThere = existsSync(file);
    return { status, file: isThere ? this.converted(name, file) : undefined };
  }

  converted(name, file) {
    return this.#histories.converted(this.#place, name, file);
  }

  judgeChaos() {
    const options = ["--minutes", this.#values.minutes, "--seed", this.#values.seed];
    const { status, file } = this.#chaos("chaos", options, "inherit");
    this.#check(status === 0 && file !== undefined, `npm run chaos -- ${options.join(" ")}`);
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

/**
 * Runs the command of a checker, and exits. `start(folder)` prepares the checker, and returns a function that runs the
 * checker's program on files and returns what the program printed; `start` throws an Error whose message says what is
 * missing. `format` is the form of the files.
 */
export async function judgeHistories({ name, checker, needs, format, start }) {
  const { values, positionals } = optionsOf(helpOf({ name, checker, needs }));
  const folder = mkdtempSync(join(cacheFolder(""), `${name}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const { run, about } = startOrExit(start, folder);
  const file = await bundled("verification/histories/main.ts");
  const histories = await import(pathToFileURL(file));
  const judging = new Judging(run, checker, { folder, format }, histories, values);
  judging.say(about);
  if (positionals.length > 0) {
    const files = positionals.map((file, at) =>
      judging.converted(`${at + 1}-${basename(file)}`, file),
    );
    judging.judgeAll(files, positionals.join(", "));
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
    const text = [`# Verdicts of ${checker}`, "", `Written by \`npm run ${name} -- --write\`.`, ""];
    const page = [...text, "```", ...judging.lines, "```", ""].join("\n");
    writeFigures(join(ROOT, `verification/${name}/results.md`), page);
  }
  process.exit(judging.isBad ? 1 : 0);
}

function startOrExit(start, folder) {
  try {
    return start(folder);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
