// Lets another process use this library in the format of another client, by lines of JSON: see ../README.md.
// It is the built package that is used: npm run build.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { MANIFEST } from "../../../scripts/lib/projects.mjs";
import { Steps, Unsupported } from "./steps.mjs";

/** Written at once: nothing of it is lost when the process is killed. */
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
// Nobody is left to drive it: it dies as it is, without releasing anything.
lines.on("close", () => process.exit(0));
