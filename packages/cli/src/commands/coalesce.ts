import { type Holdfast, type Lease, lossSignal } from "holdfast";
import { type CoalesceResult, coalesce as call, runOwed } from "holdfast/coalesce";
import { shown } from "holdfast/internal";
import { locksOf } from "../connection.js";
import { commandLineOf, type GuardOptions } from "../guard/command-line.js";
import { type CommandLine, GuardedCommand, type Outcome } from "../guard/guarded-command.js";
import {
  environmentOf,
  exitCodeOfOutcome,
  type Holding,
  interruptible,
  isGroupGone,
  undead,
} from "../guard/guarded-outcome.js";
import { aborted, asksToEnd, Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import type { AnyLocks } from "../output/format.js";
import { jsonLine, type Output, tellFailure } from "../output/output.js";

/** The options of `holdfast coalesce`, as parsed by commander. */
interface CoalesceOptions extends CommonOptions, GuardOptions {
  readonly lease?: string;
  readonly owner?: string;
  readonly ifOwed?: boolean;
}

/** Runs a command now; or leaves it to the present run, after which it runs once more. Returns the exit status. */
export async function coalesce(
  name: string,
  command: readonly string[],
  options: CoalesceOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const line = commandLineOf(command, options, host, output);
  const interruptions = new Interruptions(host, options);
  const locks: Holdfast<AnyLocks> = await locksOf(options, output);
  const runs = new Runs(line, interruptions, host);
  const { lease, owner, ifOwed } = options;
  let mayRelease = true;
  try {
    const begin = ifOwed === true ? runOwed : call;
    const begun = begin(locks, name, { lease, owner }, (granted) => runs.run(granted));
    const over = Promise.race([runs.survivor, runs.givenUp]);
    const first = await Promise.race([begun, over, aborted(interruptions.ending)]);
    const isAnswer = first !== undefined && "ran" in first;
    // What came meanwhile is run, too, unless a signal has ended the command.
    const survivor = isAnswer ? await Promise.race([runs.ended(locks), over]) : first;
    mayRelease = survivor === undefined;
    if (survivor !== undefined) throw undead(survivor);
    if (isAnswer && !first.ran) return tellNotRun(name, first, ifOwed === true, output);
    const { last } = runs;
    // A signal before the command ran.
    if (last === undefined) return interruptions.exitCode ?? EXIT.internal;
    return exitCodeOfOutcome(last.outcome, command[0] ?? "", last.held);
  } finally {
    // While a process of the command may still act, the lock is not released.
    if (mayRelease) await locks.close().catch((error: unknown) => tellFailure(output, error));
    interruptions.dispose();
  }
}

function tellNotRun(
  name: string,
  { by: found }: Extract<CoalesceResult<void>, { readonly ran: false }>,
  isSweep: boolean,
  output: Output,
): number {
  const by = found === undefined ? undefined : shown(found);
  if (output.isJson) output.out(jsonLine({ ran: false, by: found ?? null }));
  else if (isSweep) {
    output.note(by === undefined ? `No run of "${name}" is owed.` : `"${name}" is held by ${by}.`);
  } else
    output.note(
      `"${name}" is held by ${by ?? "another process"}; a run that begins later follows.`,
    );
  return EXIT.ok;
}

/** Runs the command under its guard, once for each grant. */
class Runs {
  /** Settles only if a process of a command may have survived its guard. */
  readonly survivor: Promise<Holding>;
  /** Resolves when only the end of this process can give up a run, so that what is owed stays in the record. */
  readonly givenUp: Promise<undefined>;
  last: { readonly outcome: Outcome; readonly held: Holding } | undefined;
  readonly #line: Omit<CommandLine, "env">;
  readonly #interruptions: Interruptions;
  readonly #host: Host;
  #isSignalled = false;
  #reportSurvivor: (held: Holding) => void = () => undefined;
  #reportGivenUp: () => void = () => undefined;

  constructor(line: Omit<CommandLine, "env">, interruptions: Interruptions, host: Host) {
    this.#line = line;
    this.#interruptions = interruptions;
    this.#host = host;
    this.survivor = new Promise((resolve) => {
      this.#reportSurvivor = resolve;
    });
    this.givenUp = new Promise((resolve) => {
      this.#reportGivenUp = () => resolve(undefined);
    });
  }

  async run(lease: Lease): Promise<void> {
    if (this.#isSignalled || this.#interruptions.exitCode !== undefined) return this.#giveUp(lease);
    const held = interruptible(lease);
    const env = environmentOf(held, this.#host.env);
    const guarded = new GuardedCommand(held, { ...this.#line, env }, this.#host);
    this.#interruptions.goTo((signal) => {
      if (asksToEnd(signal)) this.#isSignalled = true;
      guarded.forwardSignal(signal);
    });
    const outcome = await guarded.outcome;
    if (!isGroupGone(outcome)) {
      this.#reportSurvivor(held);
      // The end of the run would release the lock.
      return aborted(lossSignal(lease));
    }
    this.last = { outcome, held };
    // A run that was stopped before its end does not count, as one that was cut off by its guard, or with it. An error, of an
    // interruption, would be told by the client, too.
    const isCutOff = outcome.kind === "unguarded" || ("cause" in outcome && outcome.cause);
    if (isCutOff) return this.#giveUp(lease);
  }

  #giveUp(lease: Lease): Promise<void> {
    this.#reportGivenUp();
    return aborted(lossSignal(lease));
  }

  /** Resolves when nothing is owed, or after a signal. */
  async ended(locks: Holdfast<AnyLocks>): Promise<undefined> {
    if (!this.#isSignalled) await locks.drain();
  }
}
