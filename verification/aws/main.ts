/** Holdfast on an AWS account: `node scripts/aws.mjs`. verification/aws.md says what it does. */
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { diagnoseEngine } from "../../packages/cli/src/engine/diagnose-engine.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import type { Forward } from "./account.js";
import { EXPECTED, Meter, usdOf, usdText } from "./cost.js";
import { startGate } from "./gate.js";
import { HELP, type Part, type Settings, settingsOf, UsageError } from "./options.js";
import { type Leftover, Tables } from "./tables.js";

export { forwardTo } from "./account.js";

/** The dependencies of the command. */
export interface Command {
  readonly args: readonly string[];
  readonly forwardTo: (settings: Settings) => Forward;
  /** Runs the conformance tests on an endpoint. */
  readonly runSuite: (
    endpoint: string,
    signal: AbortSignal,
  ) => Promise<{
    readonly passed: number;
    readonly failed: readonly { readonly file: string; readonly title: string }[];
  }>;
  /** Runs the benchmark's case on an endpoint. Resolves with its figures. */
  readonly runBench: (endpoint: string, signal: AbortSignal) => Promise<string>;
  /** The lists of tables, by the ids of the runs. */
  readonly store: {
    readonly save: (run: string, tables: readonly string[]) => void;
    readonly load: (run: string) => readonly string[] | undefined;
  };
  /** Asks a question; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly note: (text: string) => void;
  readonly print: (text: string) => void;
  /** Registers a listener for interruptions. Returns a function that removes the listener. */
  readonly onInterrupt: (listener: () => void) => () => void;
  /** Ends the process at once. */
  readonly exit: () => void;
  /** The pause before the retry of a removal. Default 5 s. */
  readonly retryMs?: number;
}

const REMOVAL_LIMIT_MS = 30 * 60_000;

/** Runs the command. Returns its exit status. */
export async function main(command: Command): Promise<number> {
  try {
    const settings = settingsOf(command.args);
    if (settings === "help") {
      command.print(HELP);
      return 0;
    }
    return await (settings.removes === undefined
      ? start(settings, command)
      : remove(settings, settings.removes, command));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    command.note(`${error.message}\nSee node scripts/aws.mjs --help.`);
    return 2;
  }
}

function planText({ parts, region, endpoint, ceilingUsd }: Settings, usd: number): string {
  const lines = parts.map((part) => `  ${part}: ${usdText(usdOf(EXPECTED[part], region))}`);
  return [
    `Holdfast on ${endpoint ?? `DynamoDB, region ${region}`}:`,
    ...lines,
    "It creates up to 40 tables, with names that begin with holdfast-aws, and removes all of them.",
    `Expected cost: at most ${usdText(usd)}. At ${usdText(ceilingUsd)} it stops.`,
    "Storage, data transfer, logs and taxes are extra.",
  ].join("\n");
}

async function start(settings: Settings, command: Command): Promise<number> {
  const { note, ask } = command;
  const usd = settings.parts.reduce((sum, part) => sum + usdOf(EXPECTED[part], settings.region), 0);
  note(planText(settings, usd));
  if (settings.isDryRun) return 0;
  if (usd > settings.ceilingUsd) {
    throw new UsageError("The expected cost is above the ceiling: raise --ceiling, or use --only.");
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
  return conduct(settings, command);
}

/** Runs the parts through the gate, and removes every table, also after a failure. */
async function conduct(settings: Settings, command: Command): Promise<number> {
  const { note, print } = command;
  const run = randomBytes(4).toString("hex");
  note(`Run ${run}. After a kill: node scripts/aws.mjs --remove ${run}, with the same account.`);
  const ending = new AbortController();
  const { ceilingUsd, region } = settings;
  const meter = new Meter(ceilingUsd, region, (reason) => ending.abort(reason));
  const forward = command.forwardTo(settings);
  const tables = tablesOf(forward, run, command);
  const forget = onInterrupts(settings, command, tables, ending);
  const gate = await startGate({ forward, meter, tables, run });
  let isGood = true;
  try {
    for (const part of settings.parts) {
      ending.signal.throwIfAborted();
      note(`${part} …`);
      const { isFine, lines } = await play(part, gate.url, command, ending.signal);
      isGood &&= isFine;
      for (const line of lines) print(`${part}: ${line}`);
    }
    ending.signal.throwIfAborted();
  } catch (error) {
    isGood = false;
    note(`NOT COMPLETE: ${(error as Error).message}`);
  } finally {
    await gate.close();
  }
  note(`Removing the tables of the run: ${tables.names.length}.`);
  const leftovers = await tables.removeAll();
  forget();
  note(`${meter.requests} requests, about ${usdText(meter.usd)}.`);
  note(leftoverText(leftovers, settings));
  return isGood && leftovers.length === 0 ? 0 : 1;
}

interface Played {
  readonly isFine: boolean;
  readonly lines: readonly string[];
}

/** Plays a part. A failure of the part is a line, and the next part starts. Rejects after an abort of the run. */
async function play(
  part: Part,
  endpoint: string,
  command: Command,
  signal: AbortSignal,
): Promise<Played> {
  try {
    const played = await PLAYS[part](endpoint, command, signal);
    signal.throwIfAborted();
    return played;
  } catch (error) {
    signal.throwIfAborted();
    return { isFine: false, lines: [`PROBLEM  ${(error as Error).message}`] };
  }
}

const PLAYS: Readonly<
  Record<Part, (endpoint: string, command: Command, signal: AbortSignal) => Promise<Played>>
> = {
  engine: async (endpoint, _, signal) => {
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    const client = new DynamoDBClient({ endpoint, region: "local", credentials });
    try {
      await createTable({ client, table: "engine", wait: "5m" });
      const { findings } = await diagnoseEngine({ client, table: "engine", signal });
      return {
        isFine: findings.every(({ level }) => level === "ok"),
        lines: findings.map(
          ({ check, level, message }) =>
            `${level === "ok" ? "ok     " : "PROBLEM"}  ${check}: ${message}`,
        ),
      };
    } finally {
      client.destroy();
    }
  },

  conformance: async (endpoint, { runSuite }, signal) => {
    const { passed, failed } = await runSuite(endpoint, signal);
    const lines = failed.map(({ file, title }) => `PROBLEM  ${file}: ${title}`);
    const isFine = failed.length === 0;
    return { isFine, lines: [...lines, `${passed} passed, ${failed.length} failed.`] };
  },

  bench: async (endpoint, { runBench }, signal) => ({
    isFine: true,
    lines: (await runBench(endpoint, signal)).trim().split("\n"),
  }),
};

/** The first interruption aborts the run and starts the removal. The second ends the process. */
function onInterrupts(
  settings: Settings,
  { onInterrupt, note, exit }: Command,
  tables: Tables,
  ending: AbortController,
): () => void {
  return onInterrupt(() => {
    if (!ending.signal.aborted) {
      note("Interrupted. The removal starts; a second interruption skips it.");
      return ending.abort(new Error("Interrupted."));
    }
    const left = tables.names.map((table) => ({ table, reason: "interrupted" }));
    note(leftoverText(left, settings));
    exit();
  });
}

async function remove(settings: Settings, run: string, command: Command): Promise<number> {
  const names = command.store.load(run);
  if (names === undefined)
    throw new UsageError(`This checkout has no list of the tables of a run ${run}.`);
  const leftovers = await tablesOf(command.forwardTo(settings), run, command, names).removeAll();
  command.note(leftoverText(leftovers, settings));
  return leftovers.length === 0 ? 0 : 1;
}

function tablesOf(
  forward: Forward,
  run: string,
  { store, retryMs = 5_000 }: Command,
  names?: readonly string[],
): Tables {
  const save = (left: readonly string[]): void => store.save(run, left);
  return new Tables({ forward, save, patienceMs: REMOVAL_LIMIT_MS, retryMs }, names);
}

/** The remaining tables, with the commands of a removal by hand. */
function leftoverText(leftovers: readonly Leftover[], { profile, region }: Settings): string {
  if (leftovers.length === 0) return "All tables of the run are removed.";
  const where = `${profile === undefined ? "" : ` --profile ${profile}`} --region ${region}`;
  return [
    `NOT REMOVED: ${leftovers.length}. Commands for the removal by hand:`,
    ...leftovers.flatMap(({ table, reason }) => [
      `  # ${table}: ${reason.split("\n")[0]}`,
      `  aws dynamodb delete-table --table-name ${table}${where}`,
    ]),
  ].join("\n");
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
