import { type Holdfast, inspect as inspectName, once as onceOf } from "holdfast";
import { isHoldfastError, systemClock, systemTimers } from "holdfast/internal";
import {
  lateMs,
  type ScheduleOptions,
  type ScheduleState,
  schedule as scheduleOf,
  scheduleState,
} from "holdfast/schedule";
import { locksOf } from "../connection.js";
import { commandLineOf, type GuardOptions } from "../guard/command-line.js";
import { undead } from "../guard/guarded-outcome.js";
import { closeClient, isWritten } from "../guard/hold-while.js";
import { aborted, asksToEnd, exitCodeOf, Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { EXIT, usageError } from "../output/exit-codes.js";
import { type AnyLocks, assertNative } from "../output/format.js";
import { isPassing, jsonLine, type Output, printable, seconds } from "../output/output.js";
import { noteWait } from "../waiting.js";
import { failureIn, outcomeIn } from "./occurrence.js";
import { CommandFailed, exitCodeOfFailed, ScheduledCommand } from "./scheduled-command.js";

/** The options of `holdfast once`, as parsed by commander. */
interface OnceCommandOptions extends CommonOptions, GuardOptions {
  readonly occurrence?: string;
  readonly every?: string;
  readonly atMostFor?: string;
  readonly ifInterrupted?: "skip" | "rerun";
  readonly owner?: string;
}

/** Runs a command for one occurrence of a task, unless it has run. Returns the exit status. */
export async function once(
  name: string,
  command: readonly string[],
  options: OnceCommandOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const { occurrence, every, atMostFor, ifInterrupted, owner } = options;
  if ((occurrence === undefined) === (every === undefined)) {
    throw usageError("once needs either --occurrence or --every.");
  }
  const line = commandLineOf(command, options, host, output);
  assertNative(options, "once");
  const interruptions = new Interruptions(host, options);
  const locks = await locksOf(options, output);
  const runs = new ScheduledCommand(line, interruptions, host, ifInterrupted === "rerun");
  const which = every === undefined ? (occurrence ?? "") : { every };
  const asked = {
    occurrence: which,
    atMostFor,
    ifInterrupted,
    owner,
    signal: interruptions.ending,
  };
  const text = `Waiting: the present run of "${printable(name)}", or its lease, has not ended.`;
  const note = ifInterrupted === "rerun" ? noteWait(output, "found", text) : undefined;
  let mayRelease = true;
  try {
    const done = onceOf(locks, name, asked, (lease) => {
      note?.end();
      return runs.run(lease);
    });
    const written = runs.ended.then(async (failed) => {
      if (await isWritten(done, locks, interruptions, output)) return done;
      mayRelease = false;
      if (failed !== undefined) throw failed;
      return { ran: true } as const;
    });
    const ended = await Promise.race([done, runs.survivor, runs.cutOff, written]);
    if (!("ran" in ended)) {
      mayRelease = false;
      throw undead(ended);
    }
    if (ended.ran) return EXIT.ok;
    if (output.isJson) output.out(jsonLine(ended));
    else output.note(`"${name}" was not run: ${NOT_RUN[ended.why]}.`);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommandFailed) return exitCodeOfFailed(error, command[0] ?? "");
    if (interruptions.exitCode !== undefined && !isHoldfastError(error))
      return interruptions.exitCode;
    throw error;
  } finally {
    note?.end();
    if (mayRelease) await closeClient(locks, interruptions, output);
    interruptions.dispose();
  }
}

const NOT_RUN = Object.freeze({
  already: "this occurrence, or a later one, has been begun",
  running: "another process runs it, or an earlier occurrence",
});

/** The options of `holdfast schedule`, as parsed by commander. */
interface ScheduleCommandOptions
  extends CommonOptions,
    GuardOptions,
    Omit<ScheduleOptions, "retries" | "at"> {
  readonly retries?: string;
  readonly every?: string;
}

/** Runs a command at each instant of a schedule, until a signal. Returns the exit status. */
export async function schedule(
  name: string,
  command: readonly string[],
  options: ScheduleCommandOptions,
  output: Output,
  host: Host,
): Promise<number> {
  if ((options.cron === undefined) === (options.every === undefined)) {
    throw usageError("schedule needs either --cron or --every.");
  }
  const line = commandLineOf(command, options, host, output);
  assertNative(options, "schedule");
  const interruptions = new Interruptions(host, options);
  const locks: Holdfast = (await locksOf(options, output)) as never;
  const runs = new ScheduledCommand(line, interruptions, host);
  const stopping = new AbortController();
  let exitCode: number | undefined;
  // A command ends first, and then the schedule: until then the command needs its lease.
  runs.onSignal((signal) => {
    if (asksToEnd(signal)) exitCode ??= exitCodeOf(signal);
  });
  const { cron, timeZone, every, offset, catchUp, retryAfter, overlap, atMostFor, owner } = options;
  // Without a number, as with an unset variable, the library refuses it.
  const retries =
    options.retries === undefined ? undefined : Number(options.retries.trim() || Number.NaN);
  const rule = { cron, timeZone, every, offset, catchUp, retries, retryAfter, overlap };
  let mayRelease = true;
  try {
    const job = scheduleOf(locks, name, { ...rule, atMostFor, owner }, async (run) => {
      const told = {
        HOLDFAST_DUE: run.due.toISOString(),
        HOLDFAST_ATTEMPT: String(run.attempt),
        HOLDFAST_LAST_SUCCESS: run.lastSuccess?.toISOString(),
      };
      const stop = (): void => {
        if (exitCode === undefined) return;
        stopping.abort();
        void job.stop();
      };
      await runs.run(run.lease, run.signal, told).catch((failed: unknown) => {
        // Before the run has ended: another machine then repeats it at once.
        stop();
        throw failed;
      });
      // After it: a command that ends with status 0 at a signal has done its work.
      systemTimers.set(0, true, stop);
    });
    await Promise.race([aborted(interruptions.ending), assertServed(locks, name)]);
    if (!interruptions.ending.aborted) job.start();
    const ended = Promise.race([aborted(interruptions.ending), aborted(stopping.signal)]);
    const survivor = await Promise.race([ended, runs.survivor]);
    mayRelease = survivor === undefined;
    if (survivor !== undefined) throw undead(survivor);
    mayRelease = await isWritten(job.stop(), locks, interruptions, output);
    return exitCode ?? interruptions.exitCode ?? EXIT.ok;
  } finally {
    if (mayRelease) await closeClient(locks, interruptions, output);
    interruptions.dispose();
  }
}

/**
 * Throws if the table is missing or refuses this command: the schedule itself would wait for an operator without end. An
 * outage passes, so the schedule outlasts it.
 */
async function assertServed(locks: Holdfast, name: string): Promise<void> {
  await inspectName(locks, name, { kind: "once" }).catch((error: unknown) => {
    if (!isPassing(error)) throw error;
  });
}

/** Shows the runs that the record of a schedule, or of a task of `once`, remembers. Returns the exit status. */
export async function runs(name: string, options: CommonOptions, output: Output): Promise<number> {
  assertNative(options, "runs");
  await using locks: Holdfast<AnyLocks> = await locksOf(options, output);
  const found = await inspectName(locks, name, { kind: "once" });
  const state = scheduleState(found.data);
  if (state === undefined) {
    tellOccurrence(name, found, output);
    return EXIT.ok;
  }
  const last = lastOf(found, state);
  const late = lateMs(state, systemClock.wallMs(), last === "running");
  if (output.isJson)
    output.out(jsonLine({ name, state: found.state, ...state, last, lateMs: late }));
  else output.out(described(name, state, last, late));
  return EXIT.ok;
}

type Found = Awaited<ReturnType<typeof inspectName>>;

function lastOf(
  found: Found,
  { isOpen, outcome }: { readonly isOpen: boolean; readonly outcome?: string | undefined },
): string {
  if (!isOpen) return outcome ?? "none";
  return found.state === "held" && !found.appearsExpired ? "running" : "interrupted";
}

/** Tells the last occurrence of a task of `once` whose occurrences are no instants, such as `v1.2.0`. */
function tellOccurrence(name: string, found: Found, output: Output): void {
  const { state, data } = found;
  const { occurrence, ended } = (data ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof occurrence !== "string") {
    if (output.isJson) output.out(jsonLine({ name, state }));
    else output.note(`No run of "${name}" is remembered.`);
    return;
  }
  const isOpen = ended === false;
  const outcome = outcomeIn(data);
  const error = failureIn(data);
  const last = lastOf(found, { isOpen, outcome });
  if (output.isJson)
    output.out(jsonLine({ name, state, occurrence, isOpen, outcome, error, last }));
  else
    output.out(
      aligned([
        ["name", name],
        ["last run", `${occurrence}: ${last}`],
        ["error", error],
      ]),
    );
}

function described(name: string, state: ScheduleState, last: string, late: number): string {
  const { lastSuccess, lastFailure, attempt } = state;
  const iso = (at: Date | undefined): string | undefined => at?.toISOString();
  const failure =
    lastFailure &&
    `${iso(lastFailure.due)}, attempt ${lastFailure.attempt} at ${iso(lastFailure.at)} by ${lastFailure.by}: ${lastFailure.error}`;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ["name", name],
    ["rule", state.rule],
    ["last run", attempt === 0 ? "none" : `${iso(state.due)}, attempt ${attempt}: ${last}`],
    ["by", state.by],
    ["begun", attempt === 0 ? undefined : iso(state.begun)],
    ["ended", iso(state.ended)],
    ["retry at", iso(state.retryAt)],
    ["next", iso(state.next)],
    ["late by", late > 0 ? seconds(late) : undefined],
    ["last success", lastSuccess && `${iso(lastSuccess.due)}, ended ${iso(lastSuccess.at)}`],
    ["last failure", failure],
  ];
  return aligned(lines);
}

function aligned(lines: readonly (readonly [string, string | undefined])[]): string {
  return lines
    .filter(([, value]) => value !== undefined)
    .map(([label, value]) => `${label.padEnd(14)}${printable(value ?? "")}`)
    .join("\n");
}
