// What it costs a process to keep many locks: npm run bench:sessions, or with --periods 1 for a short form,
// --json for JSON. Each figure is of a process of its own, which does nothing but hold; an idle one runs beside
// them, and what its event loop is late by is the machine's. The table is in memory, in this process.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createTable } from "../dist/index.js";
import { startMemoryServer } from "../dist/testing/index.js";

const { values } = parseArgs({
  options: {
    periods: { type: "string", default: "3" },
    lease: { type: "string", default: "30s" },
    json: { type: "boolean", default: false },
  },
});
const PERIODS = Number(values.periods);
const HOLDER = fileURLToPath(new URL("session-holder.mjs", import.meta.url));
const TABLE = "sessions";

const SCENES = [
  { locks: 1_000, kind: "a lease each" },
  { locks: 1_000, kind: "a session" },
  { locks: 10_000, kind: "a session" },
];

const server = await startMemoryServer();
const client = new DynamoDBClient({
  endpoint: server.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});
await createTable({ client, table: TABLE });
client.destroy();

/** How many requests came, counted where they are carried out. */
let requests = 0;
const { dynamodb } = server;
const handle = dynamodb.handle.bind(dynamodb);
dynamodb.handle = (operation, body) => {
  requests += 1;
  return handle(operation, body);
};

/** A process that does as it is told line by line, and answers each with a line of JSON. */
class Process {
  constructor(task) {
    this.child = spawn(
      process.execPath,
      ["--expose-gc", HOLDER, JSON.stringify({ endpoint: server.endpoint, table: TABLE, ...task })],
      {
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
      },
    );
    this.wanted = [];
    let rest = "";
    this.child.stdout.on("data", (chunk) => {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop();
      for (const line of lines) this.wanted.shift()?.(JSON.parse(line));
    });
    this.exited = new Promise((resolve) => this.child.once("close", resolve));
  }

  ask(what) {
    const answer = new Promise((resolve, reject) => {
      this.wanted.push(resolve);
      this.exited.then(() => reject(new Error(`It ended before it answered "${what}".`)));
    });
    this.child.stdin.write(`${what}\n`);
    return answer;
  }
}

async function counted(work) {
  const before = requests;
  const result = await work();
  return { ...result, requests: requests - before };
}

/** One scene: acquire all, let every lock settle, hold for some periods, and let go. */
async function play({ locks, kind }) {
  const task = { locks, kind, lease: values.lease, name: `${kind} ${locks}` };
  const holder = new Process(task);
  const idle = new Process({ ...task, locks: 0 });
  const found = {};
  for (const step of ["acquire", "settle", "hold", "close"]) {
    const told = step === "hold" ? `hold ${PERIODS}` : step;
    const [busy, beside] = await Promise.all([counted(() => holder.ask(told)), idle.ask(told)]);
    found[step] = { ...busy, idleLateMs: beside.lateMs };
  }
  await Promise.all([holder.exited, idle.exited]);
  return { locks, kind, ...figuresOf(found) };
}

const round = (value, digits = 0) => Number(value.toFixed(digits));

function figuresOf({ settle, hold, close }) {
  return {
    held: hold.held,
    requestsAPeriod: round(hold.requests / PERIODS, 1),
    cpuMsAPeriod: round(hold.cpuMs / PERIODS),
    heapMb: round(hold.heapMb, 1),
    lateMs: round(hold.lateMs, 1),
    settleLateMs: round(settle.lateMs, 1),
    closeLateMs: round(close.lateMs, 1),
    idleLateMs: round(hold.idleLateMs, 1),
    requestsToClose: close.requests,
    closeMs: round(close.tookMs),
  };
}

const COLUMNS = {
  locks: "locks",
  kind: "kept by",
  requestsAPeriod: "requests a period",
  cpuMsAPeriod: "CPU ms a period",
  heapMb: "heap MB",
  lateMs: "event loop late, ms",
  idleLateMs: "of an idle process",
  settleLateMs: "late while moving",
  closeLateMs: "late while closing",
  requestsToClose: "requests to close",
  closeMs: "close, ms",
};

function table(rows) {
  const lines = rows.map((row) => Object.keys(COLUMNS).map((key) => row[key].toLocaleString("en")));
  const heads = Object.values(COLUMNS);
  return [heads, heads.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

const rows = [];
try {
  for (const scene of SCENES) rows.push(await play(scene));
} finally {
  await server.close();
}
const told = { periods: PERIODS, lease: values.lease, node: process.version, scenes: rows };
console.log(values.json ? JSON.stringify(told) : table(rows).join("\n"));
process.exitCode = rows.every(({ held, locks }) => held === locks) ? 0 : 1;
