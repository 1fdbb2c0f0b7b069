// Drives this library in the format of a different client, by lines of JSON: see ../README.md. Uses the built
// package: npm run build.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { MANIFEST } from "../../../scripts/lib/projects.mjs";
import { Steps, Unsupported } from "./steps.mjs";

/** Written at once: a kill loses no part of a line. */
function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const steps = new Steps(say);

async function answer(request) {
  try {
    say({ id: request.id, ok: true, ...(await steps.run(request)) });
  } catch (error) {
    if (error instanceof Unsupported) {
      say({ id: request.id, unsupported: true, why: error.message });
    } else {
      say({ id: request.id, error: { kind: error.code ?? error.name, message: error.message } });
    }
  }
  if (request.step === "quit") process.exit(0);
}

say({ event: "ready", client: MANIFEST.name, version: MANIFEST.version });
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => void answer(JSON.parse(line)));
// The driving process has gone: die at once, without a release.
lines.on("close", () => process.exit(0));
