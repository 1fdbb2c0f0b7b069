// The time of failovers, with real processes that are killed, stopped, and cut from the table: node
// bench/failover.mjs, or with --runs 5 for a short form. Uses the default lengths of an election at a scale of one
// twentieth. The outage has a scale of one tenth, because a few milliseconds of requests would weigh too much
// in a shorter outage. Fails for a broken bound.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { built } from "../scripts/lib/ready.mjs";

await built();
const { createTable } = await import("../packages/holdfast/dist/table/index.js");
const { startFaultProxy, startMemoryServer } = await import("../packages/testing/dist/index.js");

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "50" },
    lanes: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
  },
});
const RUNS = Number(values.runs);
const LANES = Number(values.lanes);
const CANDIDATE = fileURLToPath(new URL("candidate.mjs", import.meta.url));
const TABLE = "failover";

/** The default lengths, divided. */
const lengths = (scale) => ({ lease: 52_000 / scale, renew: 10_000 / scale, poll: 5_000 / scale });
const boundMs = ({ lease, poll }) => lease * 1.02 + poll;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const server = await startMemoryServer();
const client = new DynamoDBClient({
  endpoint: server.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});
await createTable({ client, table: TABLE });

/** When each record was last written, on the same clock. */
const lastWriteMs = new Map();
const { dynamodb } = server;
const handle = dynamodb.handle.bind(dynamodb);
dynamodb.handle = (operation, body) => {
  const answer = handle(operation, body);
  const isApplied = operation === "UpdateItem" && answer.status === 200;
  if (isApplied) lastWriteMs.set(body.Key.pk.S, nowMs());
  return answer;
};

/** A candidate: a process, and its connection to the table. */
class Candidate {
  static async start(name, options) {
    const proxy = await startFaultProxy({ target: server.endpoint });
    return new Candidate(name, options, proxy);
  }

  constructor(name, { scale, skewMs = 0 }, proxy) {
    this.name = name;
    this.proxy = proxy;
    this.said = [];
    const { endpoint } = proxy;
    const task = { endpoint, table: TABLE, name, skewMs, lengths: lengths(scale), everyMs: 20 };
    this.child = spawn(process.execPath, [CANDIDATE, JSON.stringify(task)], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
    });
    this.exited = new Promise((resolve) => this.child.once("close", resolve));
    let rest = "";
    this.child.stdout.on("data", (chunk) => {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop();
      this.said.push(...lines.map((line) => JSON.parse(line)));
    });
  }

  /** The first event of this kind after an instant. */
  async says(event, afterMs = 0, limitMs = 60_000) {
    for (const untilMs = nowMs() + limitMs; nowMs() < untilMs; await pause(2)) {
      const found = this.said.find((one) => one.event === event && one.atMs > afterMs);
      if (found !== undefined) return found;
    }
    throw new Error(`A candidate for ${this.name} never reported "${event}".`);
  }

  count(event) {
    return this.said.filter((one) => one.event === event).length;
  }

  async end() {
    this.child.kill("SIGKILL");
    await this.exited;
    await this.proxy.close();
  }
}

/** Runs a function `runs` times, in lanes that do not wait for each other. */
async function inLanes(runs, title, run) {
  const found = [];
  let next = 0;
  const lane = async () => {
    while (next < runs) {
      const at = next;
      next += 1;
      found.push(await run(`${title} ${at}`, at));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return found;
}

/** A leader and a standby, once both are running. */
async function pair(name, options) {
  const leader = await Candidate.start(name, options(0));
  await leader.says("elected");
  const standby = await Candidate.start(name, options(1));
  await standby.says("started");
  const { renew } = lengths(options(0).scale);
  // Any phase of the renewals and of the reads.
  await pause(2 * renew + Math.random() * 2 * renew);
  return { leader, standby };
}

async function failover(name, stop) {
  const { leader, standby } = await pair(name, () => ({ scale: 20 }));
  try {
    return await stop(leader, standby);
  } finally {
    await Promise.all([leader.end(), standby.end()]);
  }
}

const killed = (name) =>
  failover(name, async (leader, standby) => {
    leader.child.kill("SIGKILL");
    const fromMs = lastWriteMs.get(`leader#${name}`);
    return (await standby.says("elected")).atMs - fromMs;
  });

const resigned = (name) =>
  failover(name, async (leader, standby) => {
    leader.child.stdin.write("resign\n");
    const { atMs } = await leader.says("resigned");
    return (await standby.says("elected")).atMs - atMs;
  });

const terminated = (name) =>
  failover(name, async (leader, standby) => {
    const askedMs = nowMs();
    leader.child.kill("SIGTERM");
    return (await standby.says("elected")).atMs - askedMs;
  });

/** From the old leader's last tick to the next leader's first tick; negative for an overlap. */
async function cut(name, at) {
  const skew = (which) => (which === 0 ? -1 : 1) * (1 + (at % 9)) * 60_000;
  const { leader, standby } = await pair(name, (which) => ({ scale: 20, skewMs: skew(which) }));
  try {
    leader.proxy.partition();
    const { atMs } = await standby.says("start");
    await leader.says("lost");
    await pause(200);
    const last = leader.said.filter(({ event }) => event === "start" || event === "end").at(-1);
    return last.event === "end" ? atMs - last.atMs : Number.NEGATIVE_INFINITY;
  } finally {
    await Promise.all([leader.end(), standby.end()]);
  }
}

/** How many transitions an outage of 40 s, at a tenth, costs. */
async function outage(name) {
  const { leader, standby } = await pair(name, () => ({ scale: 10 }));
  try {
    for (const { proxy } of [leader, standby]) proxy.partition();
    await pause(4_000);
    for (const { proxy } of [leader, standby]) proxy.heal();
    await pause(boundMs(lengths(10)));
    return leader.count("lost") + standby.count("elected");
  } finally {
    await Promise.all([leader.end(), standby.end()]);
  }
}

/** The delay of this process's timers: the share of a busy machine in every figure. */
let latestMs = 0;
let wokenMs = nowMs();
setInterval(() => {
  const lateMs = nowMs() - wokenMs - 10;
  wokenMs += lateMs + 10;
  latestMs = Math.max(latestMs, lateMs);
}, 10).unref();

const results = [];
function tell(title, figures, bound, isBroken) {
  const sorted = [...figures].sort((a, b) => a - b);
  const round = (ms) => Math.round(ms);
  const median = sorted[Math.floor(sorted.length / 2)];
  const broken = sorted.filter(isBroken).length;
  const found = { min: round(sorted[0]), median: round(median), max: round(sorted.at(-1)) };
  results.push({ step: title, found: { ...found, n: sorted.length }, bound, broken });
  if (values.json) return;
  console.log(
    `${title}: ${sorted.length} runs, least ${round(sorted[0])}, median ${round(median)}, ` +
      `most ${round(sorted.at(-1))}; bound ${bound}; broken ${broken}; timers up to ${round(latestMs)} ms late`,
  );
  latestMs = 0;
}

const most = boundMs(lengths(20));
const twoPolls = 2 * lengths(20).poll;
try {
  const short = Math.max(1, Math.round((RUNS * 2) / 5));
  tell(
    "last renewal to next leader after SIGKILL, ms",
    await inLanes(RUNS, "killed", killed),
    `at most ${most}`,
    (ms) => ms > most,
  );
  tell(
    "resigned to next leader, ms",
    await inLanes(short, "resigned", resigned),
    `below ${twoPolls}`,
    (ms) => ms >= twoPolls,
  );
  tell(
    "SIGTERM to next leader, ms",
    await inLanes(short, "terminated", terminated),
    `below ${twoPolls}`,
    (ms) => ms >= twoPolls,
  );
  tell(
    "cut off: last tick's end to next leader's first, ms",
    await inLanes(short, "cut", cut),
    "above 0",
    (ms) => !(ms > 0),
  );
  tell(
    "outage of 40 s at a tenth: transitions",
    await inLanes(Math.max(1, Math.round(RUNS / 5)), "outage", outage),
    "0",
    (count) => count !== 0,
  );
} finally {
  client.destroy();
  await server.close();
}
if (values.json) console.log(JSON.stringify(results));
process.exitCode = results.every(({ broken }) => broken === 0) ? 0 : 1;
