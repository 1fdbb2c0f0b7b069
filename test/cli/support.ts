import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast } from "../../src/index.js";
import { createTable } from "../../src/table/index.js";
import { type MemoryServer, startMemoryServer } from "../../src/testing/dynamodb/server.js";

/** The built command: what users run. */
export const CLI_FILE = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

const CREDENTIALS = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };

/** The result of a run of the command. */
export interface Result {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of the command, possibly still in progress. */
export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly result: Promise<Result>;
  /** Resolves once stdout has the text. */
  printed(text: string): Promise<void>;
}

/** A table on the loopback interface, a directory, and runs of the built command. */
export class CliWorld {
  readonly server: MemoryServer;
  readonly directory = mkdtempSync(join(tmpdir(), "holdfast-cli-test-"));
  readonly client: DynamoDBClient;
  /** A rival in this process. */
  readonly locks: Holdfast;
  /** The number of requests that the table received. */
  requests = 0;
  readonly #running = new Set<Running>();

  private constructor(server: MemoryServer) {
    this.server = server;
    const { dynamodb } = server;
    const handle = dynamodb.handle.bind(dynamodb);
    dynamodb.handle = (operation, body) => {
      this.requests += 1;
      return handle(operation, body);
    };
    this.client = new DynamoDBClient({
      endpoint: server.endpoint,
      region: "us-east-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    });
    this.locks = new Holdfast({ client: this.client, table: "locks" });
  }

  static async start(): Promise<CliWorld> {
    const world = new CliWorld(await startMemoryServer());
    await createTable({ client: world.client, table: "locks" });
    return world;
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    return {
      PATH,
      HOME,
      TMPDIR: this.directory,
      ...CREDENTIALS,
      HOLDFAST_ENDPOINT: this.server.endpoint,
      HOLDFAST_TABLE: "locks",
    };
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  start(words: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const child = spawn(process.execPath, [CLI_FILE, ...words], {
      env: { ...this.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { stdout, stderr } = child;
    const text = { stdout: "", stderr: "" };
    stdout.on("data", (chunk) => {
      text.stdout += String(chunk);
    });
    stderr.on("data", (chunk) => {
      text.stderr += String(chunk);
    });
    const result = new Promise<Result>((resolve) => {
      // Not "close": a leaked child would hold the pipes open, and block the test without end.
      child.once("exit", (status, signal) =>
        setTimeout(() => resolve({ status, signal, ...text }), 50),
      );
    });
    const printed = (wanted: string): Promise<void> =>
      until(() => text.stdout.includes(wanted), `stdout has "${wanted}"`);
    const running = { child, pid: child.pid ?? 0, result, printed };
    this.#running.add(running);
    return running;
  }

  run(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> {
    return this.start(words, env).result;
  }

  async close(): Promise<void> {
    for (const { child } of this.#running) child.kill("SIGKILL");
    await this.locks.close();
    this.client.destroy();
    await this.server.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Runs a command line of documents or of the page, in a shell. */
export function shell({ env }: CliWorld, line: string, program = "sh"): Promise<Result> {
  const script = `holdfast() { "$NODE" "$CLI_FILE" "$@"; }; ${line}`;
  const options = { env: { ...env, NODE: process.execPath, CLI_FILE } };
  return new Promise((resolve) => {
    const child = execFile(program, ["-c", script], options, (_, stdout, stderr) => {
      resolve({ status: child.exitCode, signal: child.signalCode, stdout, stderr });
    });
  });
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until the condition is true; rejects after ten seconds. */
export async function until(isSo: () => boolean, what: string, withinMs = 10_000): Promise<void> {
  const startMs = performance.now();
  while (!isSo()) {
    if (performance.now() - startMs > withinMs) throw new Error(`It never came to this: ${what}.`);
    await pause(5);
  }
}
