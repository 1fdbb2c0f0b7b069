// Judges the engines of engines.mjs, one after the other: node scripts/engines/run.mjs. For each, `holdfast diagnose
// --engine`, the conformance tests, and the tests of real processes that take an endpoint. `--short` leaves the tests out, `--only NAME`
// the other engines; `--write` writes the table to verification/engines.md.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeFigures } from "../lib/figures.mjs";
import { MANIFEST, ROOT } from "../lib/projects.mjs";
import { built } from "../lib/ready.mjs";
import { outcomeOf, runSuite } from "../lib/suites.mjs";
import { ENGINES } from "./engines.mjs";
import { faultOf } from "./fault.mjs";
import { pageWith, summaryOf, tableOf } from "./table.mjs";

await built();

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    write: { type: "boolean", default: false },
  },
});
const PAGE = join(ROOT, "verification", "engines.md");
const TABLE = "engines";
const holdfast = (endpoint, ...words) =>
  outcomeOf(process.execPath, [join(ROOT, "packages", "cli", "dist", "main.js"), ...words], {
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    HOLDFAST_ENDPOINT: endpoint,
    HOLDFAST_TABLE: TABLE,
    HOLDFAST_REGION: "us-east-1",
  });

/** Creates a table and diagnoses the engine, both as users do. */
async function diagnose(endpoint) {
  const created = await holdfast(endpoint, "table", "create");
  const { stdout, stderr, status } = await holdfast(endpoint, "diagnose", "--engine", "--json");
  const lines =
    stdout.trim() === ""
      ? []
      : stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
  const verdict = lines.find(({ isFit }) => isFit !== undefined);
  if (verdict === undefined) throw new Error(`diagnose: exit status ${status}: ${stderr.trim()}`);
  return {
    ...verdict,
    isCreated: created.status === 0,
    findings: lines.filter(({ check }) => check !== undefined),
  };
}

async function judge(engine) {
  const installed = engine.install();
  const server = await engine.start(installed);
  try {
    const { endpoint } = server;
    const diagnosis = await diagnose(endpoint);
    const isTested = !values.short;
    return {
      version: installed.version,
      diagnosis,
      conformance: isTested ? await runSuite(endpoint, "conformance") : undefined,
      processes: isTested && diagnosis.isFit ? await runSuite(endpoint, "processes") : undefined,
    };
  } finally {
    await server.stop();
  }
}

const rows = [];
let isBad = false;
for (const engine of ENGINES) {
  if (values.only !== undefined && !values.only.includes(engine.name)) continue;
  if (values.only === undefined && values.short && engine.isHeavy) continue;
  const fromMs = performance.now();
  const result = await judge(engine).catch((error) => ({ missing: error.message.split("\n")[0] }));
  const seconds = Math.round((performance.now() - fromMs) / 1000);
  const row = { name: engine.name, seconds, ...result };
  const fault = faultOf(engine, row);
  isBad ||= fault !== undefined;
  console.log(`${fault === undefined ? "ok     " : "FAILED "} ${summaryOf(row)}`);
  if (fault !== undefined) console.log(`        ${fault}`);
  rows.push(row);
}
if (rows.length === 0) throw new Error("No engine has this name.");

if (values.write) {
  const made = `${new Date().toISOString().slice(0, 10)}, Holdfast ${MANIFEST.version}, Node ${process.versions.node}`;
  writeFigures(PAGE, pageWith(readFileSync(PAGE, "utf8"), made, tableOf(rows)));
}
if (isBad) process.exitCode = 1;
