import {
  MemoryDynamoDB,
  type MemoryServer,
  memoryClient,
  startMemoryServer,
} from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { systemClock } from "holdfast/internal";
import { createTable } from "holdfast/table";
import { aborted, Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CliError } from "../output/exit-codes.js";
import { EXIT, usageError } from "../output/exit-codes.js";
import { jsonLine, type Output } from "../output/output.js";
import { portError, portOf } from "../port.js";
import { KeptDynamoDB } from "./kept-dynamodb.js";

/** The options of `holdfast dev`, in commander's form. */
interface DevOptions {
  readonly table: string;
  readonly port?: string;
  readonly data?: string;
}

/** What runs, and the variables with which other programs find it. */
interface Started {
  readonly endpoint: string;
  readonly table: string;
  /** The page. */
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly data?: string | undefined;
}

// The port of DynamoDB Local, which the documents use.
const USUAL_PORT = 8_000;
const REFRESH = "1s";

/** Serves a table in memory, and its page, until a signal ends the command. Returns the exit status. */
export async function dev(options: DevOptions, output: Output, host: Host): Promise<number> {
  if (options.data === "") {
    throw usageError("--data is empty. Give a directory, or leave it out; is a variable unset?");
  }
  const interruptions = new Interruptions(host);
  try {
    await serveUntil(interruptions.ending, options, output, host);
    return interruptions.exitCode ?? EXIT.ok;
  } finally {
    interruptions.dispose();
  }
}

/** Serves until the signal aborts. Throws if the data can no longer be kept. */
async function serveUntil(
  ending: AbortSignal,
  { table, port, data }: DevOptions,
  output: Output,
  host: Host,
): Promise<void> {
  const broken = new AbortController();
  const engine = { nowMs: () => systemClock.wallMs() };
  const onFailure = (error: CliError): void => broken.abort(error);
  const kept = data === undefined ? undefined : new KeptDynamoDB(data, engine, onFailure);
  const dynamodb = kept ?? new MemoryDynamoDB(engine);
  const client = memoryClient(dynamodb);
  let server: MemoryServer | undefined;
  try {
    await createTable({ client, table });
    server = await startOn(port, dynamodb);
    await using locks = new Holdfast({ client, table });
    // Later, as in the demo: the built module then keeps its place beside the files of the page.
    const { startServing } = await import("../serve/serve.js");
    const page = await startServing(locks, { table, refresh: REFRESH });
    const { endpoint } = server;
    tell({ endpoint, table, url: page.url, env: variables(endpoint, table, host), data }, output);
    await aborted(AbortSignal.any([ending, broken.signal]));
    await page.close();
    broken.signal.throwIfAborted();
  } finally {
    await server?.close();
    kept?.close();
  }
}

/** Starts the server on the port of the option, or without one on the usual port if it is free. */
async function startOn(
  option: string | undefined,
  dynamodb: MemoryDynamoDB,
): Promise<MemoryServer> {
  const port = option === undefined ? USUAL_PORT : portOf(option);
  try {
    return await startMemoryServer({ port, dynamodb });
  } catch (error) {
    if (option === undefined) return startMemoryServer({ dynamodb });
    throw portError(port, error as NodeJS.ErrnoException);
  }
}

// Set, they count more than the variables that lead to the table.
const IN_THE_WAY = ["AWS_PROFILE", "HOLDFAST_ENDPOINT", "HOLDFAST_REGION"];

function variables(endpoint: string, table: string, { env }: Host): Started["env"] {
  const emptied = IN_THE_WAY.filter((name) => env[name]).map((name) => [name, ""] as const);
  return {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_REGION: "local",
    // The server checks no signature, but the SDK does not send without credentials.
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    HOLDFAST_TABLE: table,
    ...Object.fromEntries(emptied),
  };
}

function tell(started: Started, output: Output): void {
  output.out(output.isJson ? jsonLine(started) : textOf(started));
  output.note("Ctrl-C ends the server.");
}

function textOf({ endpoint, table, url, env, data }: Started): string {
  const settings = Object.entries(env).map(([name, value]) => `  export ${name}=${value}`);
  return [
    `Table "${table}" at ${endpoint}, ${data === undefined ? "in memory alone" : `kept in ${data}`}.`,
    `Page: ${url}`,
    "",
    "Set in two other terminals:",
    ...settings,
    "The first holds a lock, and the second waits for it:",
    "  npx @holdfast/cli lock demo --lease 10s -- sleep 600",
    '  npx @holdfast/cli lock demo -- echo "The lock is mine."',
  ].join("\n");
}
