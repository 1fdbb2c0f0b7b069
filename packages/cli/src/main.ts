#!/usr/bin/env node
/** The command `holdfast`: runs the command line of this process, and exits. See docs/cli.md. */
import { processHost } from "./host.js";
import { tooOldNode } from "./node-version.js";
import { CliError, EXIT } from "./output/exit-codes.js";
import { tellFailure } from "./output/output.js";
import { outputFor, run } from "./run.js";

const words = process.argv.slice(2);
const host = processHost();

// Notices of dependencies, such as the SDK's about Node versions, are for developers of programs. Writing notices would
// also make the command's stderr non-blocking (see host.ts).
process.removeAllListeners("warning");
process.on("warning", () => undefined);

// Output in a callback: of a listener, or of a child's message.
process.on("uncaughtException", (error) => {
  if (!(error instanceof CliError)) throw error;
  process.exit(tellFailure(outputFor(words, host), error));
});

const tooOld = tooOldNode(process.versions);
process.exit(
  tooOld === undefined
    ? await run(words, host)
    : tellFailure(
        outputFor(words, host),
        new CliError("unsupported-node", EXIT.misconfigured, tooOld),
      ),
);
