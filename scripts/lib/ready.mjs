// What a command does first that is called by `node` and not by npm. npm gives its scripts the Node.js of the checkout; such
// a command looks for it here.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { ROOT } from "./entries.mjs";
import { isOlder, TOOLCHAIN } from "./nodes.mjs";
import { run } from "./processes.mjs";

const BIN = join(ROOT, "node_modules", ".bin");

/** Runs this command again, and exits with its status, if the checkout has a newer Node.js than this one. */
export async function onDevelopmentNode() {
  const node = join(BIN, "node");
  if (!isOlder(process.versions.node, TOOLCHAIN) || !existsSync(node)) return;
  const PATH = `${BIN}${delimiter}${process.env.PATH}`;
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: "inherit",
    env: { ...process.env, PATH },
  });
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  // A terminal sends these to the other process, too, and this one waits for its end.
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
  const [status, signal] = await once(child, "exit");
  process.exit(status ?? 128 + constants.signals[signal]);
}

/** Builds `dist`, unless it is up to date, for a command that uses it. `flags`: those of `scripts/build.mjs`. */
export async function built(...flags) {
  run("npm", ["run", "--silent", "build", "--", ...flags], { cwd: ROOT });
  await onDevelopmentNode();
}
