import { type Command, Option } from "commander";
import { tableCommand } from "../options.js";
import { EXIT_CODES_HELP } from "../output/exit-codes.js";
import type { OnRun } from "../output/output.js";

/** Adds `holdfast serve` to the command line's grammar. */
export function addServe(program: Command, onRun: OnRun): void {
  tableCommand(
    program,
    "serve",
    "Serves a page about the table, on this machine only, until interrupted.",
  )
    .option("--port <number>", "the port of 127.0.0.1; default: any free port")
    .option("--prefix <prefix>", "only names with this prefix; the scan costs the same")
    .option("--refresh <duration>", "the shortest time between two scans of the table; default 5s")
    .option("--allow-release", "let viewers release locks by force, with a reason")
    .addOption(
      new Option(
        "--token <text>",
        "the token of the URL, better set by the variable; default: random",
      ).env("HOLDFAST_SERVE_TOKEN"),
    )
    .addHelpText("after", SERVE_HELP)
    .action((options) =>
      onRun(async (output, host) =>
        (await import("../serve/serve.js")).serve(options, output, host),
      ),
    );
}

const SERVE_HELP = `
Prints the URL of the page, with a random token. Without the token the server answers no data, also at
/metrics. HOLDFAST_SERVE_TOKEN sets a token of at least 16 characters, for a scraper of /metrics.
/healthz needs no token.

One scan of the whole table for each --refresh period serves all viewers. Without viewers and without
requests for /metrics, holdfast reads nothing. The page shows the cost.
${EXIT_CODES_HELP}
and 128+n when interrupted by signal n, the usual end of a server.`;
