import { type Lease, lossSignal } from "holdfast";
import { type CommandLine, GuardedCommand, type Outcome } from "../guard/guarded-command.js";
import {
  environmentOf,
  exitCodeOfOutcome,
  type Holding,
  interruptible,
  isGroupGone,
} from "../guard/guarded-outcome.js";
import { aborted, asksToEnd, type Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";

/** A run of a command that has ended. */
interface EndedRun {
  readonly outcome: Outcome;
  readonly held: Holding;
}

/** A run of a command that has failed, for the record of its occurrence or instant. */
export class CommandFailed extends Error {
  readonly run: EndedRun;

  constructor(outcome: Outcome, held: Holding) {
    super(textOf(outcome));
    this.name = "CommandFailed";
    this.run = { outcome, held };
  }
}

function textOf(outcome: Outcome): string {
  if (outcome.kind === "not started") return `the command was not started (${outcome.code})`;
  if (outcome.kind === "unguarded") return "its guard died";
  const { signal, exitCode } = outcome;
  if (signal === null && exitCode === null) return "its lease was ending before the command ran";
  return signal === null ? `exit status ${exitCode}` : `ended by ${signal}`;
}

/** Runs a command under its guard, once for each run of a task, or of what is owed. */
export class ScheduledCommand {
  /** Settles only if a process of a command may have survived its guard. */
  readonly survivor: Promise<Holding>;
  /** Rejects if a run was cut off, with `keepsCutOff`: only the end of the client ends it, so that no record has its end. */
  readonly cutOff: Promise<never>;
  /** Resolves once a run that counts has ended, with its failure. The write of its end follows. */
  readonly ended: Promise<CommandFailed | undefined>;
  readonly #keepsCutOff: boolean;
  readonly #line: Omit<CommandLine, "env">;
  readonly #interruptions: Interruptions;
  readonly #host: Host;
  #reportSurvivor: (held: Holding) => void = () => undefined;
  #reportCutOff: (failed: CommandFailed) => void = () => undefined;
  #reportEnded: (failed?: CommandFailed) => void = () => undefined;
  #onSignal: (signal: NodeJS.Signals) => void = () => undefined;

  /** With `keepsCutOff`, a run that the guard has ended, or a signal to this process, does not count, not as failed either. */
  constructor(
    line: Omit<CommandLine, "env">,
    interruptions: Interruptions,
    host: Host,
    keepsCutOff = false,
  ) {
    this.#line = line;
    this.#keepsCutOff = keepsCutOff;
    this.#interruptions = interruptions;
    this.#host = host;
    this.survivor = new Promise((resolve) => {
      this.#reportSurvivor = resolve;
    });
    this.cutOff = new Promise((_, reject) => {
      this.#reportCutOff = reject;
    });
    this.ended = new Promise((resolve) => {
      this.#reportEnded = resolve;
    });
  }

  /** Calls `listener` for each signal that is passed on to a command. */
  onSignal(listener: (signal: NodeJS.Signals) => void): void {
    this.#onSignal = listener;
  }

  /** Runs the command until its exit status 0, or throws {@link CommandFailed}. `stop` ends the command in order. */
  async run(
    lease: Lease,
    stop = lease.signal,
    env: Readonly<NodeJS.ProcessEnv> = {},
  ): Promise<EndedRun> {
    const held = interruptible(lease, undefined, stop);
    const outer = { ...environmentOf(held, this.#host.env), ...env };
    const guarded = new GuardedCommand(held, { ...this.#line, env: outer }, this.#host);
    let isSignalled = false;
    this.#interruptions.goTo((signal) => {
      if (asksToEnd(signal)) isSignalled = true;
      this.#onSignal(signal);
      guarded.forwardSignal(signal);
    });
    const outcome = await guarded.outcome;
    this.#interruptions.goTo(undefined);
    if (!isGroupGone(outcome)) {
      this.#reportSurvivor(held);
      // The end of the run would release the lock. The exit of this process ends this wait.
      await new Promise(() => undefined);
    }
    const isGood =
      outcome.kind === "ended" && outcome.exitCode === 0 && outcome.cause === undefined;
    if (isGood) {
      this.#reportEnded();
      return { outcome, held };
    }
    const failed = new CommandFailed(outcome, held);
    const isCutOff =
      outcome.kind === "unguarded" ||
      (outcome.kind === "ended" && (outcome.cause !== undefined || isSignalled));
    if (isCutOff && this.#keepsCutOff) {
      this.#reportCutOff(failed);
      await aborted(lossSignal(lease));
    } else this.#reportEnded(failed);
    throw failed;
  }
}

/** Returns the exit status for a failed run, or throws the error to report. */
export function exitCodeOfFailed({ run }: CommandFailed, program: string): number {
  return exitCodeOfOutcome(run.outcome, program, run.held);
}
