import { constants } from "node:os";
import { sleep, systemTimers } from "holdfast/internal";
import type { Host } from "../host.js";
import { CliError, EXIT } from "../output/exit-codes.js";

const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

// A second Ctrl-C, or a supervisor's second signal, must not cut off a release that the table is about to acknowledge.
const LAST_REQUEST_MS = 1_000;

interface InterruptionOptions {
  readonly withReader?: boolean;
  readonly ignoreHup?: boolean;
}

/** The error of a release that a signal has cut off. */
export class ReleaseCutOff extends CliError {
  constructor(message: string) {
    super("outcome-unknown", EXIT.unavailable, message);
  }
}

/**
 * Handles the signals to this process. While {@link Interruptions.goTo} has set a target, such as a running command,
 * the target gets every signal. Otherwise the first signal ends the wait.
 */
export class Interruptions {
  readonly #signals: Host["signals"];
  readonly #controller = new AbortController();
  readonly #handlers: (readonly [NodeJS.Signals, () => void])[] = [];
  #first: NodeJS.Signals | undefined;
  #target: ((signal: NodeJS.Signals) => void) | undefined;
  #endReader: () => void = () => undefined;
  #isReaderGone = false;

  /**
   * `withReader`: the wait also ends when the reader of stdout has gone. `ignoreHup`: ignores SIGHUP, as under `nohup`.
   * Node.js resets an ignored SIGHUP when it starts, so the caller passes `ignoreHup` to ignore the signal again.
   */
  constructor(
    { signals, onReaderGone }: Pick<Host, "signals" | "onReaderGone">,
    { withReader = false, ignoreHup = false }: InterruptionOptions = {},
  ) {
    this.#signals = signals;
    if (withReader) this.#endReader = onReaderGone(() => this.#readerGone());
    for (const signal of PASSED_ON) {
      const isIgnored = signal === "SIGHUP" && ignoreHup;
      const handler = isIgnored ? (): void => undefined : (): void => this.#got(signal);
      this.#handlers.push([signal, handler]);
      signals.on(signal, handler);
    }
  }

  /** Aborts at the first signal without a target. */
  get ending(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit status for the signal that ended the wait; undefined without a signal. */
  get exitCode(): number | undefined {
    if (this.#isReaderGone) return exitCodeOf("SIGPIPE");
    return this.#first === undefined ? undefined : exitCodeOf(this.#first);
  }

  goTo(target: ((signal: NodeJS.Signals) => void) | undefined): void {
    this.#target = target;
  }

  /**
   * Waits for a release; the next signal that asks to end leaves it a second. Rejects as the release, or then with
   * {@link ReleaseCutOff}.
   */
  async whileReleasing(released: Promise<unknown>): Promise<void> {
    let cutOff: (message: string) => void = () => undefined;
    const signalled = new Promise<never>((_, reject) => {
      cutOff = (message) => reject(new ReleaseCutOff(message));
    });
    const target = async (signal: NodeJS.Signals): Promise<void> => {
      if (!asksToEnd(signal)) return;
      await sleep(systemTimers, LAST_REQUEST_MS, true);
      cutOff(
        `${signal} came before DynamoDB acknowledged the release. What this command held is free now, or when ` +
          "its lease expires. No action is needed.",
      );
    };
    this.goTo(target);
    // An error after the signal has no reader.
    released.catch(() => undefined);
    await Promise.race([released, signalled]).finally(() => {
      // The wait for the close of the client may have begun.
      if (this.#target === target) this.goTo(undefined);
    });
  }

  /** Restores the default handling of signals. */
  dispose(): void {
    for (const [signal, handler] of this.#handlers) this.#signals.off(signal, handler);
    this.#endReader();
  }

  #readerGone(): void {
    this.#isReaderGone = true;
    this.#controller.abort(new Error("The reader of the output has gone."));
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

/** Whether a signal asks a command to end. What SIGUSR1 and SIGUSR2 ask for is the command's own affair. */
export function asksToEnd(signal: NodeJS.Signals): boolean {
  return signal !== "SIGUSR1" && signal !== "SIGUSR2";
}

/** The exit status of a process that died of a signal, as in shells. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return EXIT.signalled + constants.signals[signal];
}

/** Resolves once the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
}
