import { constants } from "node:os";
import { EXIT } from "../output/exit-codes.js";

const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/**
 * The signals that this process gets from now on: the first one ends a wait, and later ones, or all of
 * them while a command runs, go where {@link Interruptions.goTo} says.
 */
export class Interruptions {
  readonly #controller = new AbortController();
  readonly #handlers: (readonly [NodeJS.Signals, () => void])[] = [];
  #first: NodeJS.Signals | undefined;
  #target: ((signal: NodeJS.Signals) => void) | undefined;

  constructor() {
    for (const signal of PASSED_ON) {
      const handler = (): void => this.#got(signal);
      this.#handlers.push([signal, handler]);
      process.on(signal, handler);
    }
  }

  /** Aborts at the first signal that has nowhere to go. */
  get ending(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit status for the signal that ended the wait; undefined if none did. */
  get exitCode(): number | undefined {
    return this.#first === undefined ? undefined : exitCodeOf(this.#first);
  }

  goTo(target: ((signal: NodeJS.Signals) => void) | undefined): void {
    this.#target = target;
  }

  /** Signals do again what they do by default. */
  dispose(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #got(signal: NodeJS.Signals): void {
    if (this.#target !== undefined) {
      this.#target(signal);
      return;
    }
    this.#first ??= signal;
    this.#controller.abort(new Error(`Interrupted by ${signal}.`));
  }
}

/** The exit status of a process that died of a signal, as shells have it. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return EXIT.signalled + constants.signals[signal];
}
