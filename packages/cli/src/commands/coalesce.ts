import { type Holdfast, type Lease, lossSignal } from "holdfast";
import { type CoalesceResult, coalesce as call, runOwed } from "holdfast/coalesce";
import { shown } from "holdfast/internal";
import { locksOf } from "../connection.js";
import { commandLineOf, type GuardOptions } from "../guard/command-line.js";
import { exitCodeOfOutcome, undead } from "../guard/guarded-outcome.js";
import { closeClient } from "../guard/hold-while.js";
import { aborted, asksToEnd, Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import type { AnyLocks } from "../output/format.js";
import { jsonLine, type Output } from "../output/output.js";
import { CommandFailed, exitCodeOfFailed, ScheduledCommand } from "./scheduled-command.js";

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
  const runs = new ScheduledCommand(line, interruptions, host, true);
  const { lease, owner, ifOwed } = options;
  const program = command[0] ?? "";
  const leaving = new AbortController();
  let isSignalled = false;
  runs.onSignal((signal) => {
    if (asksToEnd(signal)) isSignalled = true;
  });
  let last: CommandFailed["run"] | undefined;
  const run = async (granted: Lease): Promise<void> => {
    if (isSignalled || interruptions.ending.aborted) {
      leaving.abort();
      // Only the end of the client ends this run, so that what is owed stays in the record.
      return aborted(lossSignal(granted));
    }
    last = await runs.run(granted).catch((failed: unknown) => {
      // The exit status tells of it. The client would tell of it, too.
      if (failed instanceof CommandFailed) return failed.run;
      throw failed;
    });
  };
  let mayRelease = true;
  try {
    const begin = ifOwed === true ? runOwed : call;
    const begun = begin(locks, name, { lease, owner }, run);
    const signalled = Promise.race([aborted(interruptions.ending), aborted(leaving.signal)]);
    const over = Promise.race([runs.survivor, runs.cutOff, signalled]);
    const first = await Promise.race([begun, over]);
    const isAnswer = first !== undefined && "ran" in first;
    // What came meanwhile is run, too, unless a signal has ended the command.
    const ended = isAnswer && !isSignalled ? locks.drain() : undefined;
    const survivor = isAnswer ? await Promise.race([ended, over]) : first;
    mayRelease = survivor === undefined;
    if (survivor !== undefined) throw undead(survivor);
    if (isAnswer && !first.ran) return tellNotRun(name, first, ifOwed === true, output);
    // A signal before the command ran.
    if (last === undefined) return interruptions.exitCode ?? EXIT.internal;
    return exitCodeOfOutcome(last.outcome, program, last.held);
  } catch (error) {
    if (error instanceof CommandFailed) return exitCodeOfFailed(error, program);
    throw error;
  } finally {
    // While a process of the command may still act, the lock is not released.
    if (mayRelease) await closeClient(locks, interruptions, output);
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
