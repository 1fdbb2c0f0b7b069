import { setMaxListeners } from "node:events";
import { type Lease, lossSignal } from "holdfast";
import { durationMs, election, sleep, systemTimers } from "holdfast/internal";
import { locksOf } from "../../connection.js";
import { commandLineOf, type GuardOptions } from "../../guard/command-line.js";
import { type CommandLine, GUARD_PART, GuardedCommand } from "../../guard/guarded-command.js";
import {
  environmentOf,
  exitCodeOfOutcome,
  guardedMs,
  type Holding,
  isGroupGone,
  undead,
} from "../../guard/guarded-outcome.js";
import { closeClient, isWritten } from "../../guard/hold-while.js";
import { aborted, asksToEnd, Interruptions } from "../../guard/interruptions.js";
import type { Host } from "../../host.js";
import type { CommonOptions } from "../../options.js";
import { EXIT, failureOf } from "../../output/exit-codes.js";
import { type AnyLocks, nameOf, type SortOptions } from "../../output/format.js";
import { jsonLine, type Output, tellFailure } from "../../output/output.js";
import { monotonicMs } from "../clocks.js";

/** The options of `holdfast elect`, as parsed by commander. */
interface ElectOptions extends CommonOptions, SortOptions, GuardOptions {
  readonly lease?: string;
  readonly renew?: string;
  readonly ring?: string;
  readonly maxHold?: string;
  readonly poll?: string;
  readonly failover?: string;
  readonly owner?: string;
  readonly every?: string;
  readonly preferred?: boolean;
  readonly once?: boolean;
}

const EVERY_RANGE = { leastMs: 1, mostMs: 365 * 24 * 3_600_000 };
// How long the command of a resigning leader may tidy up, as a part of the lease: a client that asks for a resignation
// waits one lease.
const TIDY_PART = 1 / 2;

/** Runs a command while this process leads. Returns the exit status. */
export async function elect(
  name: string,
  command: readonly string[],
  options: ElectOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const line = { ...commandLineOf(command, options, host, output), env: {} };
  const { lease, renew, maxHold, poll, failover, owner, preferred, every, once } = options;
  const everyMs = every === undefined ? undefined : durationMs("every", every, EVERY_RANGE);
  const interruptions = new Interruptions(host, options);
  const locks = await locksOf(options, output);
  let mayRelease = true;
  try {
    const candidate = election(locks, nameOf(name, options), {
      lease,
      renew,
      maxHold,
      poll,
      failover,
      owner,
      preferred,
    });
    if (output.isJson) candidate.onTransition((transition) => output.err(jsonLine({ transition })));
    const reign = new Reign(line, { everyMs, maxHold }, interruptions, host);
    const last = new AbortController();
    const leading = candidate.lead({ again: once !== true, signal: reign.ending }, async (term) => {
      await reign.over(term, output);
      if (once === true) last.abort();
    });
    // From here on no command runs: only the release of the term is left.
    const ending = Promise.race([aborted(reign.ending), aborted(last.signal)]);
    const released = ending.then(() => isWritten(leading, locks, interruptions, output));
    const ended = await Promise.race([leading.then(() => true), reign.survivor, released]);
    mayRelease = ended === true;
    if (typeof ended === "object") throw undead(ended);
    return interruptions.exitCode ?? reign.exitCode ?? EXIT.internal;
  } finally {
    // While a process of the command may still act, the leadership is not released.
    if (mayRelease) await closeClient(locks, interruptions, output);
    interruptions.dispose();
  }
}

/** How often to run the command, and how long a term may last. */
interface Times {
  readonly everyMs: number | undefined;
  readonly maxHold: string | undefined;
}

/** Runs the command under its guard during terms, once or at an interval. */
class Reign {
  /** Settles only if a process of a command may have survived its guard. */
  readonly survivor: Promise<Holding>;
  /** Aborts when this process must no longer lead. */
  readonly ending: AbortSignal;
  /** The exit status of the command's last run; undefined before the first run. */
  exitCode: number | undefined;
  readonly #line: CommandLine;
  readonly #times: Times;
  readonly #interruptions: Interruptions;
  readonly #host: Host;
  readonly #ending = new AbortController();
  #reportSurvivor: (held: Holding) => void = () => undefined;

  constructor(line: CommandLine, times: Times, interruptions: Interruptions, host: Host) {
    this.#line = line;
    this.#times = times;
    this.#interruptions = interruptions;
    this.#host = host;
    this.survivor = new Promise((resolve) => {
      this.#reportSurvivor = resolve;
    });
    this.ending = AbortSignal.any([this.#ending.signal, interruptions.ending]);
  }

  /**
   * Runs the command during one term. Resolves when no process of the command is left, and the term can be released.
   *
   * Prints a loss at once, because this process may not lead again for a long time. Throws if the command cannot be
   * started.
   */
  async over(term: Lease<AnyLocks>, output: Output): Promise<void> {
    // Each run adds a listener, and a term can have thousands of runs.
    setMaxListeners(0, term.signal, lossSignal(term));
    // What was left of the lease when a guard ended a run. Until a renewal, each further guard would end its run at once. At
    // most what a guard needs: a late renewal may have come before the end of the run.
    let endedWithMs = Number.NEGATIVE_INFINITY;
    for (let dueMs = monotonicMs(); ; ) {
      await sleep(systemTimers, dueMs - monotonicMs(), true, term.signal);
      if (term.signal.aborted) return;
      if (term.remainingMs() > endedWithMs) {
        await this.#run(term).catch((error: unknown) => {
          if (failureOf(error).exitCode !== EXIT.lost) throw error;
          this.exitCode = tellFailure(output, error);
          const neededMs = guardedMs(term.leaseMs, this.#times.maxHold) * GUARD_PART;
          endedWithMs = Math.min(term.remainingMs(), neededMs);
        });
      }
      const { everyMs } = this.#times;
      if (everyMs === undefined) return;
      const missed = Math.floor((monotonicMs() - dueMs) / everyMs);
      dueMs += (missed + 1) * everyMs;
    }
  }

  async #run(term: Lease<AnyLocks>): Promise<void> {
    const held = holdingOf(term, this.#times.maxHold);
    const guarded = new GuardedCommand(
      held,
      { ...this.#line, env: environmentOf(held, this.#host.env) },
      this.#host,
    );
    this.#interruptions.goTo((signal) => {
      guarded.forwardSignal(signal);
      // Stop leading only after the command has ended: until then the command needs the term.
      if (asksToEnd(signal)) ended.then(() => this.#ending.abort());
    });
    const over = new AbortController();
    const ended = guarded.outcome.finally(() => over.abort());
    void endInOrder(term, guarded, over.signal);
    const outcome = await ended;
    this.#interruptions.goTo(undefined);
    if (!isGroupGone(outcome)) {
      this.#reportSurvivor(held);
      // The term is not released while a process survives; the exit of this process ends this wait.
      await new Promise(() => undefined);
    }
    this.exitCode = exitCodeOfOutcome(outcome, this.#line.command, held, this.#times.maxHold);
  }
}

/** Ends the command of a resigning leader: first by TERM, and by KILL after half a lease. */
async function endInOrder(
  term: Lease<AnyLocks>,
  guarded: GuardedCommand,
  over: AbortSignal,
): Promise<void> {
  const { signal, leaseMs } = term;
  await sleep(systemTimers, FOR_EVER_MS, true, AbortSignal.any([signal, over]));
  // At a loss the guard kills the command at once.
  if (over.aborted || lossSignal(term).aborted) return;
  guarded.forwardSignal("SIGTERM");
  await sleep(systemTimers, leaseMs * TIDY_PART, true, over);
  if (!over.aborted) guarded.forwardSignal("SIGKILL");
}

// Longer than any process runs, and small enough to add to any clock.
const FOR_EVER_MS = 1e12;

function holdingOf(term: Lease<AnyLocks>, maxHold: string | undefined): Holding {
  const { name, owner, parts } = term;
  const leaseMs = guardedMs(term.leaseMs, maxHold);
  const remainingMs = (): number => term.remainingMs();
  return { name, owner, leaseMs, parts, signal: lossSignal(term), remainingMs };
}
