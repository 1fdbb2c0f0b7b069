import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { systemTimers } from "holdfast/internal";
import { CliError, EXIT } from "../output/exit-codes.js";
import type { FromWorker, ToWorker, WorkerEvent, WorkerSetup } from "./messages.js";

const WORKER_FILE = fileURLToPath(new URL("./worker.js", import.meta.url));

/** The processes of the demo, and their events. */
export class Crew {
  readonly #processes = new Map<string, ChildProcess>();
  readonly #listeners = new Set<(event: WorkerEvent) => void>();
  readonly #ending: AbortSignal;

  /** `ending` aborts every wait for the crew, with an error that says why. */
  constructor(ending: AbortSignal) {
    this.#ending = ending;
  }

  start(setup: WorkerSetup, env: NodeJS.ProcessEnv): void {
    const { worker } = setup;
    const child = fork(WORKER_FILE, [JSON.stringify(setup)], { env });
    this.#processes.set(worker, child);
    child.on("message", (message: FromWorker) => {
      const event = { ...message, worker, pid: child.pid ?? 0 };
      try {
        for (const listener of this.#listeners) listener(event);
      } catch (error) {
        // The output failed, which ends this process: a stopped worker would not notice that.
        this.kill();
        throw error;
      }
    });
  }

  get workers(): readonly string[] {
    return [...this.#processes.keys()];
  }

  on(listener: (event: WorkerEvent) => void): void {
    this.#listeners.add(listener);
  }

  tellAll(message: ToWorker): void {
    for (const child of this.#processes.values()) if (child.connected) child.send(message);
  }

  /** Sends a signal to a worker. */
  signal(worker: string, signal: NodeJS.Signals): void {
    this.#processes.get(worker)?.kill(signal);
  }

  /**
   * Waits for the first later event that is `wanted`. Resolves in the same turn of the event loop as the event,
   * so that the next step finds the worker in the same state.
   */
  next<E extends WorkerEvent>(
    what: string,
    withinMs: number,
    wanted: (event: WorkerEvent) => E | undefined,
    atOnce: (event: E) => void = () => undefined,
  ): Promise<E> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        timer.cancel();
        this.#listeners.delete(listener);
        this.#ending.removeEventListener("abort", onEnding);
        settle();
      };
      const fail = (why: string): void =>
        end(() => reject(new CliError("demo-failed", EXIT.failed, why)));
      const listener = (event: WorkerEvent): void => {
        if (event.kind === "failed") {
          fail(`Worker ${event.worker} failed: ${event.message}`);
          return;
        }
        const found = wanted(event);
        if (found === undefined) return;
        atOnce(found);
        end(() => resolve(found));
      };
      const timer = systemTimers.set(withinMs, true, () =>
        fail(`This did not happen within ${Math.round(withinMs / 1000)} s: ${what}.`),
      );
      const onEnding = (): void => fail((this.#ending.reason as Error).message);
      this.#ending.addEventListener("abort", onEnding, { once: true });
      this.#listeners.add(listener);
      // An abort before the listener was added does not call it.
      if (this.#ending.aborted) onEnding();
    });
  }

  /** Resolves when every process has ended; kills processes that do not end in time. */
  async ended(withinMs: number): Promise<void> {
    const timer = systemTimers.set(withinMs, true, () => this.kill());
    const endings = [...this.#processes.values()].map((child) =>
      child.exitCode === null && child.signalCode === null
        ? new Promise((resolve) => child.once("exit", resolve))
        : undefined,
    );
    await Promise.all(endings);
    timer.cancel();
  }

  /** Kills all remaining processes; SIGKILL ends a stopped process too. */
  kill(): void {
    for (const child of this.#processes.values()) child.kill("SIGKILL");
  }
}
