// Drives the npm package dynamodb-lock-client, by lines of JSON: see ../README.md. The argument selects one of the
// package's two kinds of lock: fail-open or fail-closed.
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { Steps, Unsupported } from "./steps.mjs";

const PACKAGE = "dynamodb-lock-client";
const { version } = createRequire(import.meta.url)(`${PACKAGE}/package.json`);

/** Written at once: a kill loses no part of a line. */
function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const steps = new Steps(process.argv[2], say);

async function answer(request) {
  try {
    say({ id: request.id, ok: true, ...(await steps.run(request)) });
  } catch (error) {
    if (error instanceof Unsupported) {
      say({ id: request.id, unsupported: true, why: error.message });
    } else {
      const { code, name, message } = error;
      say({ id: request.id, error: { kind: code ?? name, message } });
    }
  }
  if (request.step === "quit") process.exit(0);
}

say({ event: "ready", client: PACKAGE, version });
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => void answer(JSON.parse(line)));
// The driving process has gone: die at once, without a release.
lines.on("close", () => process.exit(0));
