// The benchmark: npm run bench [-- --case NAME --quick --json --repetitions N --output DIRECTORY --endpoint URL --write]
// One server for all subjects of a run, on the loopback; subjects are processes that take turns in short blocks.
// Figures go to .tmp/bench, one file a case, or with --write to bench/results; node bench/report.mjs --write
// makes the tables and plots of the documents from bench/results. No time fails a run. A crash of a subject
// fails the run, and so does a step with unexpected requests.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeFigures } from "../scripts/lib/figures.mjs";
import { installTools } from "../scripts/lib/tools.mjs";
import { watchMachine } from "./lib/machine.mjs";
import { startServers } from "./lib/servers.mjs";
import { textTable } from "./lib/text-table.mjs";
import { loadSubjects } from "./subjects/index.mjs";

// The SDKs' warnings about Node 20 and about their own age are noise; the workers inherit these settings.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = "true";
process.env.AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE = "1";

const HERE = fileURLToPath(new URL(".", import.meta.url));

const { values } = parseArgs({
  options: {
    case: { type: "string", multiple: true },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    repetitions: { type: "string" },
    output: { type: "string" },
    endpoint: { type: "string" },
    write: { type: "boolean", default: false },
    "without-peers": { type: "boolean", default: false },
  },
});

// The figures of a quick run are too rough for the documents.
if (values.quick && values.write) throw new Error("--quick measures too little for --write.");
const OUTPUT = values.output ?? join(HERE, values.write ? "results" : "../.tmp/bench");

// Servers and workers are killed when this process exits; a signal alone would end the process without this
// step.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));

const say = (text) => console.error(text);

async function casesAsked() {
  const names = readdirSync(join(HERE, "cases"))
    .filter((file) => file.endsWith(".mjs"))
    .map((file) => file.replace(/\.mjs$/, ""));
  const unknown = (values.case ?? []).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new Error(`There is no case ${unknown.join(", ")}; there are ${names.join(", ")}.`);
  }
  const wanted = values.case ?? names;
  const loaded = [];
  for (const name of names) {
    const found = await import(`./cases/${name}.mjs`);
    const isWanted = wanted.includes(name) && (!values.quick || values.case || found.isQuick);
    if (isWanted) loaded.push({ name, ...found });
  }
  return loaded;
}

/** Installs the peers, once; a quick run leaves them out. */
function installPeers() {
  if (values.quick || values["without-peers"]) return;
  try {
    installTools("bench/peers");
  } catch (error) {
    const advice = "The peers could not be installed; --without-peers does without.";
    throw new Error(advice, { cause: error });
  }
}

/** Runs one case, writes and shows its figures. Returns the problems found. */
async function runCase({ name, title, run, isRight }, context) {
  say(`${name}: ${title} …`);
  const machine = watchMachine();
  const found = await run(context);
  const told = {
    case: name,
    title,
    isQuick: values.quick,
    repetitions: context.repetitions,
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    ...found,
  };
  writeFigures(join(OUTPUT, `${name}.json`), `${JSON.stringify(told, null, 1)}\n`);
  if (values.json) console.log(JSON.stringify(told));
  else console.log(`\n${title}\n${textTable(told.rows)}\n`);
  return (isRight?.(told) ?? []).map((what) => `${name}: ${what}`);
}

async function main() {
  const cases = await casesAsked();
  installPeers();
  const withPeers = !values.quick && !values["without-peers"];
  const servers = await startServers({ withRedis: withPeers, endpoint: values.endpoint });
  if (withPeers && servers.redisPort === undefined) {
    say("No redis-server here (apt-get install redis-server): redlock is left out.");
  }
  const all = await loadSubjects({ withPeers, withRedis: servers.redisPort !== undefined });
  const context = {
    servers,
    quick: values.quick,
    repetitions: Number(values.repetitions ?? (values.quick ? 1 : 3)),
    subjects: (role) => all.filter(({ roles }) => roles.includes(role)),
    subject: (label) => all.find((subject) => subject.label === label),
    say,
  };
  mkdirSync(OUTPUT, { recursive: true });
  const wrong = [];
  try {
    for (const one of cases) {
      try {
        wrong.push(...(await runCase(one, context)));
      } catch (error) {
        // The figures of the other cases are still useful.
        wrong.push(`${one.name}: ${error.stack ?? error}`);
      }
    }
  } finally {
    await servers.stop();
  }
  for (const what of wrong) say(`WRONG  ${what}`);
  return wrong.length === 0 ? 0 : 1;
}

process.exit(await main());
