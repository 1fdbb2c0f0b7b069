import { randomUUID } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMemoryServer } from "@holdfast/testing";
import type { Holdfast } from "holdfast";
import { systemTimers } from "holdfast/internal";
import { createTable } from "holdfast/table";
import { locksOf, tableOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { CliError, EXIT } from "../output/exit-codes.js";
import type { Output } from "../output/output.js";
import { Crew } from "./crew.js";
import { checkLedgerFile } from "./ledger.js";
import type { WorkerSetup } from "./messages.js";
import { Narrator } from "./narrator.js";
import { play } from "./scenario.js";

/** The options of `holdfast demo`, in commander's form. */
interface DemoOptions extends Pick<CommonOptions, "table" | "region" | "endpoint" | "json"> {
  readonly break?: boolean;
  readonly serve?: boolean;
}

const WORKERS = 4;
const LEASE_MS = 2_000;
const LONGEST_MS = 28_000;
const TABLE = "holdfast-demo";
// The server in memory checks no signature, but the SDK does not send without credentials.
const MADE_UP_CREDENTIALS = { AWS_ACCESS_KEY_ID: "demo", AWS_SECRET_ACCESS_KEY: "demo" };

/** Shows several processes that contend for one lock. Returns the exit status. */
export async function demo(options: DemoOptions, output: Output, host: Host): Promise<number> {
  const interruptions = new Interruptions(host);
  const isOwnTable = options.endpoint === undefined && options.table === undefined;
  const server = isOwnTable ? await startMemoryServer() : undefined;
  if (isOwnTable) {
    Object.assign(host.env, MADE_UP_CREDENTIALS);
    // A profile counts more than these variables, and may have no credentials.
    delete host.env["AWS_PROFILE"];
  }
  const place = {
    table: options.table ?? TABLE,
    endpoint: server?.endpoint ?? options.endpoint,
    region: options.region ?? (isOwnTable ? "us-east-1" : undefined),
  };
  const narrator = new Narrator(output);
  let page: AsyncDisposable | undefined;
  try {
    const table = await tableOf(given(place), output);
    await createTable(table);
    if (options.serve === true) page = await openPage(given(place), output, narrator);
    return await perform(given(place), options.break === true, narrator, interruptions, host.env);
  } catch (error) {
    if (interruptions.exitCode !== undefined) return interruptions.exitCode;
    throw error;
  } finally {
    await page?.[Symbol.asyncDispose]();
    await server?.close();
    interruptions.dispose();
  }
}

/** Serves the demo's table in the page of `holdfast serve`. */
async function openPage(
  place: Place,
  output: Output,
  narrator: Narrator,
): Promise<AsyncDisposable> {
  const locks = await locksOf(place, output);
  const { startServing } = await import("../serve/serve.js");
  const options = { ...place, refresh: "500ms" };
  const server = await startServing(locks as unknown as Holdfast, options);
  narrator.page(server.url);
  return {
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await locks.close();
    },
  };
}

type Place = Pick<WorkerSetup, "table" | "region" | "endpoint">;

async function perform(
  place: Place,
  isBroken: boolean,
  narrator: Narrator,
  interruptions: Interruptions,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  // A signal while the table was created.
  interruptions.ending.throwIfAborted();
  const ledger = join(mkdtempSync(join(tmpdir(), "holdfast-demo-")), "ledger.jsonl");
  writeFileSync(ledger, "");
  const lock = `demo/${randomUUID().slice(0, 8)}`;
  const where = place.endpoint === undefined ? "on DynamoDB" : `at ${place.endpoint}`;
  narrator.opening({ workers: WORKERS, lease: "2 s", lock, table: place.table, where, ledger });

  const timeUp = new AbortController();
  const slow = new Error(`The demo did not end within ${LONGEST_MS / 1_000} s: the table is slow.`);
  const timer = systemTimers.set(LONGEST_MS, false, () => timeUp.abort(slow));
  const crew = new Crew(AbortSignal.any([interruptions.ending, timeUp.signal]));
  crew.on((event) => narrator.worker(event));
  try {
    for (let number = 1; number <= WORKERS; number += 1) {
      const worker = `w${number}`;
      crew.start({ ...place, worker, lock, ledger, leaseMs: LEASE_MS, isBroken }, env);
    }
    await play(crew, narrator);
  } finally {
    timer.cancel();
    crew.kill();
  }
  const report = checkLedgerFile(ledger);
  narrator.check(report, ledger);
  if (report.problems.length === 0) return EXIT.ok;
  throw new CliError(
    "demo-failed",
    EXIT.failed,
    `The ledger is not in order: ${report.problems[0]}${isBroken ? " A lock without a deadline has this effect." : ""}`,
  );
}

/** Drops undefined options. */
function given(place: {
  readonly table: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
}): Place {
  const { table, region, endpoint } = place;
  return {
    table,
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}
