// Servers with DynamoDB's API, as child processes on this machine.
import { spawn } from "node:child_process";
import { createServer } from "node:net";

const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 5_000;
const POLL_MS = 50;

/** Binds the port briefly on every interface, as the server may. Port 0 requests a free port. */
export function claimPort(port = 0) {
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
    // Dynalite checks signatures, and refuses this one.
    return response.status < 500;
  } catch {
    return false;
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const hasEnded = (server) => server.exitCode !== null || server.signalCode !== null;

async function waitUntilItAnswers(title, endpoint, server, output) {
  const deadlineMs = performance.now() + START_DEADLINE_MS;
  while (performance.now() < deadlineMs) {
    if (hasEnded(server)) throw new Error(`${title} ended before the first answer:\n${output()}`);
    if (await answers(endpoint)) return;
    await pause(POLL_MS);
  }
  throw new Error(`${title} did not answer within ${START_DEADLINE_MS} ms:\n${output()}`);
}

async function stopServer(server, signal = "SIGTERM") {
  if (hasEnded(server)) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill(signal);
  const forced = setTimeout(() => server.kill("SIGKILL"), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(forced);
}

/**
 * Starts a server on a port of this machine, and resolves when the server answers. `title` names it in errors; `options`
 * are those of `spawn`.
 */
export async function startServer(title, port, command, args, options = {}) {
  const server = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
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

  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await waitUntilItAnswers(title, endpoint, server, () => lines.join(""));
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
