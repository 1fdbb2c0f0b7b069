// The parent's end of a worker: each step is a promise.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

// One listener for all workers: a process that dies must not leave its workers behind.
const alive = new Set();
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

const WORKER = fileURLToPath(new URL("worker.mjs", import.meta.url));

export class Worker {
  #child;
  #asked = new Map();
  #ids = 0;
  #ready;
  #exited;

  /** Starts a subject in a separate process, and resolves when the client is open. */
  static async start(subject, servers, options = {}, { meter = false } = {}) {
    const worker = new Worker(subject, servers, options, meter);
    await worker.#ready;
    return worker;
  }

  constructor(subject, { endpoint, redisPort, etcdPort, zookeeperPort }, options, meter) {
    this.subject = subject;
    const servers = { endpoint, redisPort, etcdPort, zookeeperPort };
    const task = { label: subject.label, meter, options: { ...servers, ...options } };
    this.#child = fork(WORKER, [JSON.stringify(task)], {
      execArgv: ["--expose-gc"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    alive.add(this.#child);
    this.#exited = new Promise((resolve) =>
      this.#child.once("exit", () => {
        alive.delete(this.#child);
        for (const { reject } of this.#asked.values()) reject(new Error(`${subject.label} ended.`));
        resolve();
      }),
    );
    this.#ready = new Promise((resolve, reject) => {
      this.#exited.then(() => reject(new Error(`${subject.label} did not start.`)));
      this.#child.on("message", ({ id, ready, result, error }) => {
        if (ready) return resolve();
        const asked = this.#asked.get(id);
        this.#asked.delete(id);
        if (error === undefined) asked.resolve(result);
        else asked.reject(new Error(error));
      });
    });
  }

  /** Runs one step. */
  do(step, asked = {}) {
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#child.send({ id, step, ...asked }, (error) => error && reject(error));
    });
  }

  signal(name) {
    this.#child.kill(name);
  }

  async kill() {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** Kills the worker without a release: every case uses separate names. */
  end() {
    return this.kill();
  }
}
