/**
 * Runs real processes against a real table server with faults of all kinds: `node scripts/chaos.mjs`. See `order.ts` for what
 * a run proves, and verification/README.md for past runs.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { jsonLinesOf, operationsOf } from "../histories/operations.js";
import { lineOf } from "../sim/history.js";
import { faketimeLibrary, HOW_TO_GET_FAKETIME } from "./fake-clock.js";
import { inOrder } from "./order.js";
import { Run, type Tools } from "./run.js";
import { linesOf, missingIn, planOptionsOf, type RunOptions, type Summary } from "./summary.js";

const HELP = `node scripts/chaos.mjs [options]
  --minutes N    how long to inject faults (default 1); longer until every kind has happened
  --seed N       the seed of the plan of faults (default: random; the run prints it)
  --processes N  the number of concurrent workers (default 4)
  --endpoint U   use this table server, and do not kill it (default: a DynamoDB Local of its own)
  --permits      contend for permits of one semaphore, and not for locks (then 50 workers by default)
  --no-clocks    leave the clocks alone, on machines without libfaketime
  --export FILE  write the operations as JSON lines, for \`node scripts/porcupine.mjs\`
  --json         the summary as JSON on standard output
  --break NAME   run the core with this rule broken: the run must fail
Exit status: 0, nothing wrong; 1, an invariant is broken, or a kind of fault did not happen.`;

const DEFAULTS = { minutes: "1", processes: "4", processesWithPermits: "50" };

class UsageError extends Error {}

function optionsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: DEFAULTS.minutes },
      seed: { type: "string" },
      processes: { type: "string" },
      permits: { type: "boolean", default: false },
      endpoint: { type: "string" },
      "no-clocks": { type: "boolean", default: false },
      export: { type: "string" },
      json: { type: "boolean", default: false },
      break: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const number = (name: "minutes" | "seed" | "processes", text: string, least: number): number => {
    const value = Number(text);
    if (Number.isFinite(value) && value >= least) return value;
    throw new UsageError(`--${name} takes a number from ${least}; got "${text}".`);
  };
  const workers = values.permits ? DEFAULTS.processesWithPermits : DEFAULTS.processes;
  const run: RunOptions = {
    seed: Math.floor(number("seed", values.seed ?? `${Math.floor(Math.random() * 1e9)}`, 0)),
    minutes: number("minutes", values.minutes, 0.1),
    processes: Math.floor(number("processes", values.processes ?? workers, 3)),
    hasPermits: values.permits,
    endpoint: values.endpoint,
    hasClocks: !values["no-clocks"],
  };
  return { run, exportFile: values.export, isJson: values.json, isHelp: values.help };
}

/** Runs the command line, and returns the exit status. */
export async function main(
  args: readonly string[],
  tools: Omit<Tools, "faketime">,
): Promise<number> {
  try {
    const { run: options, exportFile, isJson, isHelp } = optionsOf(args);
    if (isHelp) {
      console.log(HELP);
      return 0;
    }
    const faketime = faketimeLibrary();
    if (options.hasClocks && faketime === undefined) throw new UsageError(HOW_TO_GET_FAKETIME);
    console.error(`seed ${options.seed}`);
    const run = new Run(options, { ...tools, faketime }, (line) => console.error(line));
    const status = await conduct(run, options, isJson);
    if (exportFile !== undefined) exportTo(exportFile, run);
    return status;
  } catch (error) {
    const isUsage = error instanceof UsageError || "ERR_PARSE_ARGS" in Object(error);
    console.error(isUsage ? `${(error as Error).message}\n${HELP}` : error);
    return isUsage ? 64 : 70;
  }
}

async function conduct(run: Run, options: RunOptions, isJson: boolean): Promise<number> {
  const interrupt = (): void => run.interrupt();
  const atExit = (): void => run.killAtExit();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupt);
  process.on("exit", atExit);
  const summary = withMissing(await run.run(), options, run.isInterrupted);
  process.off("exit", atExit);
  const isBad = summary.violations.length > 0;
  const shown: Summary = isBad ? { ...summary, historyFile: keep(run) } : summary;
  console.log(isJson ? JSON.stringify(shown) : linesOf(shown).join("\n"));
  if (isBad) return 1;
  return run.isInterrupted ? 130 : 0;
}

/** Adds a violation for each kind of fault which did not happen: only faults which happened were survived. */
function withMissing(summary: Summary, options: RunOptions, isInterrupted: boolean): Summary {
  if (summary.violations.length > 0 || isInterrupted) return summary;
  const violations = missingIn(summary, planOptionsOf(options)).map((kind) => ({
    invariant: "everything happened",
    atMs: 0,
    what: `there was no "${kind}"`,
  }));
  return { ...summary, violations };
}

function exportTo(file: string, { referee: { spans, attempts }, ledgers }: Run): void {
  writeFileSync(file, jsonLinesOf(operationsOf({ spans, attempts, ledgers })));
}

function keep(run: Run): string {
  const file = join(mkdtempSync(join(tmpdir(), "holdfast-chaos-")), "history.txt");
  const lines = inOrder(run.referee.spans).map(lineOf);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}
