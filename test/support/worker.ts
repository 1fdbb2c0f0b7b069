import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { eventually } from "./sdk.js";

const WORKERS = new URL("../process/workers/", import.meta.url);
const BUILT = new URL("../../packages/holdfast/dist/index.js", import.meta.url);

/** An event reported by a worker. */
export type Said = { readonly event: string; readonly atNs: string } & Readonly<
  Record<string, unknown>
>;

/** A separate Node.js process, which uses the built package. */
export class Worker {
  readonly said: Said[] = [];
  /** The standard error, with the SDK's notice about old versions of Node.js switched off. */
  errors = "";
  readonly #child: ChildProcess;
  readonly #exited: Promise<{ readonly code: number | null; readonly atMs: number }>;

  /** The process id; undefined if the process could not start. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  constructor(file: string, task: object) {
    if (!existsSync(fileURLToPath(BUILT))) throw new Error("Build first: npm run build.");
    const path = fileURLToPath(new URL(`${file}.mjs`, WORKERS));
    this.#child = spawn(process.execPath, [path, JSON.stringify(task)], {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        NODE_OPTIONS: "",
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
      },
    });
    let unfinished = "";
    this.#child.stdout?.on("data", (chunk) => {
      const lines = `${unfinished}${chunk}`.split("\n");
      unfinished = lines.pop() ?? "";
      this.said.push(...lines.map((line) => JSON.parse(line) as Said));
    });
    this.#child.stderr?.on("data", (chunk) => {
      this.errors += chunk;
    });
    this.#exited = new Promise((resolve) => {
      this.#child.once("close", (code) => resolve({ code, atMs: performance.now() }));
    });
  }

  /** The standard error without warnings of outages: the table of a test may be slow on a busy machine. */
  get otherErrors(): string {
    const lines = this.errors.split("\n");
    return lines.filter((line) => !/\[unreachable\]|--trace-warnings/.test(line)).join("\n");
  }

  /** Resolves with the first event of this kind; rejects if the process ends without such an event. */
  async says(event: string, limitMs = 55_000): Promise<Said> {
    const found = () => this.said.find((one) => one.event === event);
    let ended = false;
    void this.#exited.then(() => {
      ended = true;
    });
    await eventually(() => found() !== undefined || ended, limitMs);
    const said = found();
    if (said === undefined)
      throw new Error(`The process ended without reporting "${event}": ${this.errors}`);
    return said;
  }

  signal(name: "SIGSTOP" | "SIGCONT" | "SIGKILL" | "SIGUSR2"): void {
    this.#child.kill(name);
  }

  /** Resolves when the process has ended, with the exit code and the time. */
  exited(): Promise<{ readonly code: number | null; readonly atMs: number }> {
    return this.#exited;
  }

  /** Kills the process. */
  async end(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
