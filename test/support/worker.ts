import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { eventually } from "./sdk.js";

const WORKERS = new URL("../process/workers/", import.meta.url);
const BUILT = new URL("../../dist/index.js", import.meta.url);

/** Something that a worker said. */
export type Said = { readonly event: string; readonly atNs: string } & Readonly<
  Record<string, unknown>
>;

/** A Node.js process of its own, which uses the built package. */
export class Worker {
  readonly said: Said[] = [];
  /** What it wrote to its standard error, the SDK's notice about old versions of Node.js switched off. */
  errors = "";
  readonly #child: ChildProcess;
  readonly #exited: Promise<{ readonly code: number | null; readonly atMs: number }>;

  /** Its id; undefined where it could not be started. */
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

  /** Resolves with the first thing of this kind that it says; rejects if it ends without. */
  async says(event: string, limitMs = 20_000): Promise<Said> {
    const found = () => this.said.find((one) => one.event === event);
    let ended = false;
    void this.#exited.then(() => {
      ended = true;
    });
    await eventually(() => found() !== undefined || ended, limitMs);
    const said = found();
    if (said === undefined) throw new Error(`It ended without saying "${event}": ${this.errors}`);
    return said;
  }

  signal(name: "SIGSTOP" | "SIGCONT" | "SIGKILL" | "SIGUSR2"): void {
    this.#child.kill(name);
  }

  /** Resolves when it has ended by itself or by a signal, with its code and when that was. */
  exited(): Promise<{ readonly code: number | null; readonly atMs: number }> {
    return this.#exited;
  }

  /** Ends it, whatever it is doing. */
  async end(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
