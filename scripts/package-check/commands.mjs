// Runs every command of the command line once, from the packed packages as installed, on a table in memory. Only what
// `@holdfast/cli` brings is installed: a command that needs another package fails here.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import S3rver from "s3rver";

const LIMIT_MS = 60_000;
const TOKEN = "a-token-for-the-check";
const FAST = { lease: "5s", renew: "200ms" };

/** Asks the page at the printed URL for its table. */
async function seePage(printed) {
  const url = /http:\S+token=\S+/.exec(printed)?.[0];
  if (url === undefined) return false;
  const headers = { authorization: `Bearer ${new URL(url).searchParams.get("token")}` };
  for (const path of ["/", "/page.js", "/page.css", "/api/table", "/metrics"]) {
    const answer = await fetch(new URL(path, url), { headers });
    if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`);
    const text = await answer.text();
    if (path === "/api/table" && !JSON.parse(text).view) throw new Error(`no view: ${text}`);
  }
  return true;
}

/** Whether the printed text has the name of the held lock. */
const seesOne = async (printed) => printed.includes("1");
const seesJob = async (printed) => printed.includes("job");

/**
 * The commands in order, while this process holds a fair lock and a leadership. `ends`: the exit status, 0 by default.
 * `until`: sees in the output that the command works; an interrupt then ends the command.
 */
const COMMANDS = [
  { words: "table create" },
  { words: "table check" },
  { words: "table policy --for lock,observe", prints: "dynamodb:UpdateItem" },
  { words: "lock one --history -- node -p process.env.HOLDFAST_LEASE_FENCE", prints: /^\d+$/m },
  { words: "lock one two -- node -p process.env.HOLDFAST_LEASE_NAMES", prints: "two" },
  { words: "semaphore pool --permits 2 -- node -p 1", prints: "1" },
  { words: "elect other --once -- node -p 1", prints: "1" },
  { words: "history one --json", prints: '"claim"' },
  { words: "hold", isOurs: true },
  { words: "leader pool", prints: "the-check" },
  { words: "ls", prints: "job" },
  { words: "inspect job", prints: "the-check" },
  { words: "queue job", prints: "the-check" },
  { words: "sessions" },
  { words: "assignment none" },
  { words: "watch job", until: seesJob },
  { words: "serve --refresh 500ms", until: seePage },
  { words: "resign pool" },
  { words: "coalesce sync -- node -p 1", prints: "1" },
  { words: "once task --occurrence a -- node -p 1", prints: "1" },
  { words: "schedule tick --every 1s -- node -p 1", until: seesOne },
  { words: "runs tick", prints: "every 1s" },
  { words: "interrupt job", prints: "the-check" },
  { words: "release job --force --reason check" },
  { words: "cost", prints: /\d/ },
  { words: "diagnose", prints: "ok" },
  { words: "complete bash", prints: "holdfast" },
  { words: "table create --table commits --format object-commit" },
  { words: "object put a package.json --if-absent", prints: '"a"' },
  { words: "object inspect a", prints: "etag" },
  { words: "object copy a b", prints: '"b"' },
  { words: "object mv a c", prints: '"c"' },
  { words: "demo --serve", until: seePage },
  { words: "dev --port 0 --data kept", until: seePage },
];

/** Fails unless the list has every command of the grammar. */
function checkList(programOf) {
  const leaves = ({ commands }, path) =>
    commands.flatMap((one) => {
      const words = [...path, one.name()];
      return one.commands.length === 0 ? [words.join(" ")] : leaves(one, words);
    });
  const run = COMMANDS.map(({ words }) => `${words} `);
  const missing = leaves(
    programOf([], () => undefined),
    [],
  ).filter((path) => !run.some((words) => words.startsWith(`${path} `)));
  if (missing.length > 0) throw new Error(`no run of ${missing.join(", ")} in commands.mjs`);
}

/** Runs one command to its end. Throws unless it ends, and prints, as it should. */
function checkCommand(
  { words, prints = "", until, ends = until === undefined ? 0 : 130 },
  file,
  options,
) {
  const child = spawn(process.execPath, [file, ...words.split(" ")], options);
  const told = { out: "", err: "" };
  let failure;
  let isSeen = false;
  let isInterrupted = false;
  const look = async () => {
    try {
      isSeen = isSeen || (await until(told.out));
    } catch (error) {
      failure = error;
    }
    // Once: a second interrupt ends a command at once.
    if (!isInterrupted && (isSeen || failure !== undefined)) {
      isInterrupted = true;
      child.kill("SIGINT");
    }
  };
  child.stdout.on("data", (chunk) => {
    told.out += String(chunk);
    if (until !== undefined && !isSeen) void look();
  });
  child.stderr.on("data", (chunk) => {
    told.err += String(chunk);
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  return new Promise((resolve, reject) => {
    child.once("close", (status, signal) => {
      clearTimeout(timer);
      const asked = typeof prints === "string" ? told.out.includes(prints) : prints.test(told.out);
      if (status === ends && asked && failure === undefined) return resolve();
      const why = failure?.message ?? `it ended with ${status ?? signal}`;
      reject(new Error(`holdfast ${words}: ${why}\n${told.out}${told.err}`));
    });
  });
}

/** Holds a lock and leads, and gives both up when an operator asks for it. */
async function hold({ election, fairLock, Holdfast }, { grantHistory }, client) {
  const locks = new Holdfast({
    client,
    table: "locks",
    owner: "the-check",
    history: grantHistory(),
  });
  const lease = await fairLock(locks, "job", FAST).acquire();
  const term = await election(locks, "pool", FAST).campaign();
  lease.signal.addEventListener("abort", () => void lease.release().catch(() => undefined));
  term.signal.addEventListener("abort", () => void term.release().catch(() => undefined));
  return locks;
}

/** Runs all commands of the packages that are installed in the folder. */
export async function checkCommands(folder) {
  const modules = join(folder, "node_modules");
  const load = (name, path = "index.js") =>
    import(pathToFileURL(join(modules, name, "dist", path)).href);
  const { programOf } = await load("@holdfast/cli", "program.js");
  checkList(programOf);
  const { startMemoryServer } = await load("@holdfast/testing");
  const server = await startMemoryServer();
  const directory = mkdtempSync(join(tmpdir(), "holdfast-objects-"));
  const store = new S3rver({
    ...{ address: "127.0.0.1", port: 0, silent: true, directory },
    configureBuckets: [{ name: "bucket" }],
  });
  const { port } = await store.run();
  const { DynamoDBClient } = createRequire(join(folder, "package.json"))(
    "@aws-sdk/client-dynamodb",
  );
  const credentials = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  const client = new DynamoDBClient({ region: "local", endpoint: server.endpoint, credentials });
  const env = {
    PATH: process.env.PATH,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    HOLDFAST_TABLE: "locks",
    HOLDFAST_REGION: "local",
    HOLDFAST_ENDPOINT: server.endpoint,
    HOLDFAST_SERVE_TOKEN: TOKEN,
    HOLDFAST_BUCKET: "bucket",
    HOLDFAST_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    HOLDFAST_COMMIT_TABLE: "commits",
    HOLDFAST_STRATEGY: "dynamo",
  };
  const file = join(modules, "@holdfast/cli/dist/main.js");
  let locks;
  try {
    for (const command of COMMANDS) {
      if (command.isOurs)
        locks = await hold(
          { ...(await load("holdfast")), ...(await load("holdfast", "election/index.js")) },
          await load("holdfast", "admin/index.js"),
          client,
        );
      else await checkCommand(command, file, { cwd: folder, env });
    }
  } finally {
    await locks?.close();
    client.destroy();
    await server.close();
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
