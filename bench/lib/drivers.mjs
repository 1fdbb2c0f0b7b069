// Lock clients in separate processes, in any language, over the line protocol of test/interop/README.md.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const alive = new Set();
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

export class Driver {
  #child;
  #errors = "";
  #exited;
  #asked;

  /**
   * Starts a subject's driver without opening a client. Rejects for a missing driver, or a driver that ends
   * early.
   */
  static async start(subject) {
    const driver = new Driver(subject);
    driver.what = await driver.#next();
    return driver;
  }

  constructor(subject) {
    this.subject = subject;
    const { program, args } = subject.command();
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    alive.add(this.#child);
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(line));
    this.#child.stderr.on("data", (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-2_000);
    });
    // Writing to a dead process fails silently here: its "exit" event informs the waiting caller.
    this.#child.stdin.on("error", () => undefined);
    this.#child.once("error", ({ message }) => {
      this.#errors += message;
    });
    this.#exited = new Promise((resolve) =>
      this.#child.once("close", () => {
        alive.delete(this.#child);
        this.#asked.reject(this.#gone());
        resolve();
      }),
    );
  }

  /** Runs one step; the next step must wait for the answer. */
  async do(step, fields) {
    if (!alive.has(this.#child)) throw this.#gone();
    const answer = this.#next();
    this.#child.stdin.write(`${JSON.stringify({ id: 1, step, ...fields })}\n`);
    const { ok, ...found } = await answer;
    if (!ok) throw new Error(`${this.subject.label}, ${step}: ${JSON.stringify(found)}`);
    return found;
  }

  async end() {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #gone() {
    return new Error(`${this.subject.label} ended. ${this.#errors}`.trim());
  }

  #next() {
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
    });
  }

  #take(line) {
    const { id, event, ...said } = JSON.parse(line);
    if (event === undefined) this.#asked.resolve(said);
    else if (event === "ready") this.#asked.resolve(`${said.client} ${said.version}`);
  }
}
