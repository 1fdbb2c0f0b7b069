import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast } from "../../holdfast/src/index.js";
import { createTable } from "../../holdfast/src/table/index.js";
import { type MemoryServer, startMemoryServer } from "../../testing/src/dynamodb/server.js";
import { inProcess } from "./in-process.js";
import { collected, printedIn, type Text } from "./text.js";

export { pause, until } from "./text.js";

/** The built command: what users run. */
export const CLI_FILE = fileURLToPath(new URL("../dist/main.js", import.meta.url));

// The SDK reads its variables from the process, also for the runs in this process.
const OF_DEVELOPERS = ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"];

/** The result of a run of the command. */
export interface Result {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of the command, possibly still in progress. */
export interface Running {
  readonly result: Promise<Result>;
  /** What the run has written until now. */
  readonly text: Readonly<Text>;
  /** Resolves once stdout, or the given stream, has the text. */
  printed(text: string, stream?: keyof Text): Promise<void>;
  /** Sends a signal to the command. */
  kill(signal: NodeJS.Signals): void;
}

/** A run of the built command in a process of its own. */
export interface Spawned extends Running {
  readonly child: ChildProcess;
  readonly pid: number;
}

/**
 * A table on the loopback interface, a directory, and runs of the command: in this process, or, where the process is
 * what is tested, as the built command in a process of its own.
 */
export class CliWorld {
  readonly server: MemoryServer;
  readonly directory = mkdtempSync(join(tmpdir(), "holdfast-cli-test-"));
  readonly client: DynamoDBClient;
  /** A rival in this process. */
  readonly locks: Holdfast;
  /** The number of requests that the table received. */
  requests = 0;
  readonly #credentials: NodeJS.ProcessEnv;
  readonly #isSpawning: boolean;
  readonly #running = new Set<Running>();

  private constructor(server: MemoryServer, { credentials = "test", spawning = false }) {
    this.server = server;
    this.#isSpawning = spawning;
    this.#credentials = { AWS_ACCESS_KEY_ID: credentials, AWS_SECRET_ACCESS_KEY: credentials };
    Object.assign(process.env, this.#credentials);
    for (const name of OF_DEVELOPERS) delete process.env[name];
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

  /** With `spawning`, `start` and `run` start processes, too. */
  static async start(
    options: { credentials?: string; spawning?: boolean } = {},
  ): Promise<CliWorld> {
    let world: CliWorld | undefined;
    // The `Date` moves with every answer: `diagnose` waits for two seconds to see a `Date` move.
    const wallMs = (): number => Date.now() + ((world?.requests ?? 0) % 2) * 1_000;
    world = new CliWorld(await startMemoryServer({ clock: { wallMs } }), options);
    await createTable({ client: world.client, table: "locks" });
    return world;
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    return {
      PATH,
      HOME,
      TMPDIR: this.directory,
      ...this.#credentials,
      HOLDFAST_ENDPOINT: this.server.endpoint,
      HOLDFAST_TABLE: "locks",
    };
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  start(words: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    if (this.#isSpawning) return this.spawn(words, env);
    return this.#noted(inProcess(words, { ...this.env, ...env }));
  }

  run(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> {
    return this.start(words, env).result;
  }

  /** Starts the built command in a process of its own. */
  spawn(words: readonly string[], env: NodeJS.ProcessEnv = {}): Spawned {
    const child = spawn(process.execPath, [CLI_FILE, ...words], {
      env: { ...this.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const text = collected(child);
    const result = new Promise<Result>((resolve) => {
      // Not "close": a leaked child would hold the pipes open, and block the test without end.
      child.once("exit", (status, signal) =>
        setTimeout(() => resolve({ status, signal, ...text }), 50),
      );
    });
    const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
    return this.#noted({
      child,
      pid: child.pid ?? 0,
      result,
      text,
      printed: printedIn(text),
      kill,
    });
  }

  #noted<R extends Running>(running: R): R {
    this.#running.add(running);
    void running.result.finally(() => this.#running.delete(running)).catch(() => undefined);
    return running;
  }

  async close(): Promise<void> {
    for (const running of this.#running) running.kill("child" in running ? "SIGKILL" : "SIGTERM");
    await this.locks.close();
    this.client.destroy();
    await this.server.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Runs a command line of documents or of the page, which a shell has split into words. */
export async function shell(world: CliWorld, line: string, program = "sh"): Promise<Result> {
  const script = `holdfast() { printf '%s\\0' "$@"; }; ${line}`;
  // Without this user's `.bashrc`: bash reads it where stdin is a socket, as in a child of Node.js.
  const env = { ...world.env, HOME: world.directory };
  const { stdout } = await promisify(execFile)(program, ["-c", script], { env });
  return world.run(stdout.split("\0").slice(0, -1));
}
