/** Holdfast on an AWS account: `npm run aws`. verification/aws.md says what it does. */
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { POLICY_FEATURES, type PolicyFeature } from "../../src/table/index.js";
import { conduct, removeLeft, type Surroundings } from "./conduct.js";
import type { Resource } from "./ledger.js";
import { HELP, type Settings, settingsOf, UsageError } from "./options.js";
import { planOf, planText } from "./plan.js";
import { isGood, jsonLinesOf, leftoverLines, lineOf, summaryOf } from "./report.js";
import type { Aws, RunSuite } from "./scene.js";

export { awsOf } from "./clients.js";

/** The dependencies of the command. */
export interface Command {
  readonly args: readonly string[];
  /** Makes the clients, with those of IAM and STS. */
  readonly aws: (settings: Settings) => Promise<Aws>;
  readonly runSuite: RunSuite;
  /** The lists of resources, by the ids of the runs. */
  readonly store: {
    readonly save: (run: string, resources: readonly Resource[]) => void;
    readonly load: (run: string) => readonly Resource[] | undefined;
  };
  readonly versions: Readonly<Record<string, string>>;
  /** Asks a question; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly note: (text: string) => void;
  readonly print: (text: string) => void;
  readonly onInterrupt: Surroundings["onInterrupt"];
  readonly exit: () => void;
  /** The pause before the retry of a removal. Default 5 s. */
  readonly retryMs?: number;
  /** The features of the policies. Default: all. */
  readonly features?: readonly PolicyFeature[];
}

const RETRY_MS = 5_000;

/** Runs the command. Returns its exit status. */
export async function main(command: Command): Promise<number> {
  try {
    const settings = settingsOf(command.args);
    if (settings === "help") {
      command.print(HELP);
      return 0;
    }
    if (settings.removes !== undefined) return await remove(settings, settings.removes, command);
    return await start(settings, command);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    command.note(`${error.message}\nSee npm run aws -- --help.`);
    return 2;
  }
}

async function start(settings: Settings, command: Command): Promise<number> {
  const { note, print, ask } = command;
  const plan = planOf(settings);
  note(planText(plan, settings));
  if (settings.isDryRun) return 0;
  if (plan.usd > settings.ceilingUsd) {
    throw new UsageError(
      "The expected cost is above the ceiling: raise --ceiling, or shorten --hours.",
    );
  }
  if (!settings.isConfirmed) {
    if (ask === undefined) {
      throw new UsageError(
        "There is no terminal for the question: add --yes, if you agree to the cost.",
      );
    }
    if ((await ask('Type "yes" to start: ')).trim().toLowerCase() !== "yes") {
      note("Nothing was sent.");
      return 1;
    }
  }
  const run = randomBytes(4).toString("hex");
  note(
    `Run ${run}. After a kill: npm run aws -- --remove ${run}, with the same profile and region.`,
  );
  const result = await conduct(settings, await surroundingsOf(settings, run, command));
  const lines = result.findings.map(lineOf).join("\n");
  if (settings.isJson) print(jsonLinesOf(result, command.versions));
  else print(lines);
  note(summaryOf(result, settings.profile));
  return isGood(result) ? 0 : 1;
}

async function remove(settings: Settings, run: string, command: Command): Promise<number> {
  const resources = command.store.load(run);
  if (resources === undefined)
    throw new UsageError(`This checkout has no list of resources of a run ${run}.`);
  command.note(`Removing the resources of run ${run}: ${resources.length}.`);
  const around = await surroundingsOf(settings, run, command);
  const leftovers = await removeLeft(resources, around);
  command.note(leftoverLines(leftovers, settings.profile).join("\n"));
  return leftovers.length === 0 ? 0 : 1;
}

async function surroundingsOf(
  settings: Settings,
  run: string,
  { aws, runSuite, store, note, onInterrupt, exit, retryMs, features }: Command,
): Promise<Surroundings> {
  return {
    aws: await aws(settings),
    runSuite,
    run,
    save: (resources) => store.save(run, resources),
    retryMs: retryMs ?? RETRY_MS,
    features: features ?? POLICY_FEATURES,
    note,
    onInterrupt,
    exit,
  };
}

/** Asks on a terminal. Ctrl-C, or the end of the input, is an empty answer. */
export async function askOnTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  terminal.once("SIGINT", () => terminal.close());
  try {
    return await Promise.race([terminal.question(question).catch(() => ""), closed]);
  } finally {
    terminal.close();
  }
}
