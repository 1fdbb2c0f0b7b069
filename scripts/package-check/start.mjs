// Follows the first section of docs/start.md by the clock, as a stranger would: installs the packed packages in an empty
// folder, runs what the section and then `holdfast dev` say, in terminals of their own, and kills the holder.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, TOOLS } from "../lib/projects.mjs";

const LIMIT_MS = 120_000;
// A killed holder renewed a third of its lease ago at most. A lock that was released instead is free at once.
const LEAST_TAKEOVER_MS = 5_000;
const SDK = "@aws-sdk/client-dynamodb";

// What the user of this machine has set for npm counts; the settings of a table come from `holdfast dev`.
const ENV = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(AWS|HOLDFAST)_/.test(name)),
  ),
  npm_config_prefer_offline: "true",
};

/** The commands of the section: an installation, and `holdfast dev`. */
function commandsOfSection() {
  const text = readFileSync(join(ROOT, "docs/start.md"), "utf8");
  const section = text.split(/^## /m)[1] ?? "";
  const commands = /^```sh\n([\s\S]*?)^```$/m.exec(section)?.[1].trim().split("\n") ?? [];
  if (commands.length !== 2) throw new Error("docs/start.md begins with other than two commands");
  return commands;
}

/** A shell that runs the lines, in a process group of its own. */
function terminal(lines, folder) {
  const child = spawn("sh", ["-c", lines], { cwd: folder, env: ENV, detached: true });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      printed += String(chunk);
    });
  }
  const ended = new Promise((resolve) => child.once("close", resolve));
  return {
    ended,
    printed: () => printed,
    /** Waits until the terminal shows what is expected. Returns the match. */
    sees: (expected, timeout) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = expected.exec(printed);
          if (found !== null) resolve(found);
          else if (child.exitCode !== null && child.stdout.closed) fail("it ended");
        };
        const fail = (why) => reject(new Error(`no ${expected}: ${why}\n${lines}\n${printed}`));
        if (timeout.aborted) fail("time is up");
        timeout.addEventListener("abort", () => fail("time is up"));
        for (const stream of [child.stdout, child.stderr]) stream.on("data", look);
        child.once("close", look);
        look();
      }),
    kill: () => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    },
  };
}

/** Installs the packages of the command from their tarballs: no registry has this version yet. */
async function install(command, tarballs, open, timeout) {
  const [program, verb, ...names] = command.split(" ");
  const others = names.filter((name) => name !== "holdfast" && !name.startsWith("@holdfast/"));
  if (`${program} ${verb} ${others}` !== `npm install ${SDK}`) {
    throw new Error(`docs/start.md installs by ${command}`);
  }
  const line = [program, verb, ...tarballs, `${SDK}@${TOOLS[SDK]}`].join(" ");
  const installing = open(line);
  const status = await Promise.race([
    installing.ended,
    new Promise((resolve) => timeout.addEventListener("abort", () => resolve("time is up"))),
  ]);
  if (status !== 0) throw new Error(`${command} ended with ${status}\n${installing.printed()}`);
}

/** Goes from the installation to the takeover. Prints the times; throws if it takes more than two minutes. */
export async function checkStart(tarballs) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-start-"));
  const terminals = [];
  const open = (lines) => {
    const one = terminal(lines, folder);
    terminals.push(one);
    return one;
  };
  const timeout = AbortSignal.timeout(LIMIT_MS);
  const from = performance.now();
  const sinceS = (start) => ((performance.now() - start) / 1_000).toFixed(1);
  try {
    const [installation, dev] = commandsOfSection();
    await install(installation, tarballs, open, timeout);
    const installedS = sinceS(from);
    const said = await open(dev).sees(/^ {2}export [\s\S]* -- echo .*\n/m, timeout);
    const lines = said[0].split("\n").map((line) => line.trim());
    const settings = lines.filter((line) => line.startsWith("export ")).join("\n");
    const [hold, wait] = lines.filter((line) => line.startsWith("npx "));
    open(`${settings}\n${hold}`);
    // A person opens the second terminal later.
    const look = `until npx @holdfast/cli inspect demo | grep -q held; do sleep 0.2; done; echo held`;
    await open(`${settings}\n${look}`).sees(/held/, timeout);
    const second = open(`${settings}\n${wait}`);
    const [, pid] = await second.sees(/:(\d+) holds "demo"/, timeout);
    const killed = performance.now();
    process.kill(Number(pid), "SIGKILL");
    await second.sees(/^The lock is mine\.$/m, timeout);
    const tookMs = performance.now() - killed;
    if (tookMs < LEAST_TAKEOVER_MS) throw new Error(`the lock was free after ${tookMs} ms`);
    console.log(
      `docs/start.md: installed after ${installedS} s, the holder killed after ` +
        `${((killed - from) / 1_000).toFixed(1)} s, the takeover ${sinceS(killed)} s later: ${sinceS(from)} s in all`,
    );
  } finally {
    for (const one of terminals) one.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
