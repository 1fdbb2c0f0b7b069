// Elections of real processes that are killed, stopped, and partitioned: bench/failover.mjs with fewer runs.
// bench/failover.mjs fails for a broken bound; here the time is only a figure.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const title = "Election: from one leader to the next, at a twentieth of the default lengths";

const FAILOVER = fileURLToPath(new URL("../failover.mjs", import.meta.url));

export async function run(context) {
  const runs = context.quick ? 2 : 10;
  const child = spawn(process.execPath, [FAILOVER, "--runs", String(runs), "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await new Promise((resolve) => child.once("close", resolve));
  return { settings: { runs }, rows: JSON.parse(text) };
}
