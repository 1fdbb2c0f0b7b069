import { type Holdfast, partsOf } from "../client.js";
import { doubling } from "../core/backoff.js";
import { FailingCall } from "../core/failing-call.js";
import type { Lease } from "../core/hold/lease.js";
import type { NativeTypes } from "../core/record/format-types.js";
import { refOf } from "../core/record/key.js";
import type { Session } from "../core/session/session.js";
import { isOutageError } from "../core/unavailable.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { sleep } from "../internal/sleep.js";
import { valueText } from "../internal/value-text.js";
import { mutex } from "../locks/mutex.js";
import { firstOf } from "../platform/abort.js";
import { lockNameOf } from "./options.js";

/** A lease with a number that no other process has while it holds. */
export interface Slot extends Lease {
  /** From 0 to `of` - 1. */
  readonly number: number;
}

/** Options of {@link slot}. */
export interface SlotOptions {
  /** How many numbers there are: 1 to 10,000. The same for all processes. */
  readonly of: number;
  /** How long to wait for a number if all are taken. Default `"60s"`; 0: until each has been tried once. */
  readonly wait?: Duration | undefined;
  /** How long the number of a dead process stays taken. Default: the client's, 30 s. */
  readonly lease?: Duration | undefined;
  /** The label for people. Default: the client's owner. */
  readonly owner?: string | undefined;
  /** Ends the wait: the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Keeps the lease alive. Default: the client's shared session, if it has one. */
  readonly session?: Session | undefined;
}

const SLOT_NAMES: OptionNames<SlotOptions> = {
  ...{ of: true, wait: true, lease: true, owner: true, signal: true, session: true },
};

const MOST_SLOTS = 10_000;
const DEFAULT_WAIT_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Gives this process a number of its own from 0 to `of` - 1: a node id, a partition, a port. The number is this process's as
 * long as the lease holds, so that it must stop to use the number when `signal` aborts. **Not** promised: the lowest free
 * number, or the same number after a restart.
 *
 * Each number is the lock `mutex(locks, "GROUP/NUMBER")`. One write for each number that is tried, in order from one at random:
 * two on average while half are taken. While all are taken, all are tried again, after pauses of one to ten seconds. Rejects after the
 * wait, with `not-acquired`, or with `unreachable`, `throttled` or `access-denied`; and with `closed`. Throws
 * `invalid-argument`.
 */
export async function slot(
  locks: Holdfast<NativeTypes>,
  group: string,
  options: SlotOptions,
): Promise<Slot> {
  const { context } = partsOf(locks, "slot()");
  const { of, wait, signal, ...lease } = checkNames("slot()", options, SLOT_NAMES);
  if (!(Number.isInteger(of) && of >= 1 && of <= MOST_SLOTS)) {
    throw refuse(
      `The option \`of\` of slot() must be a whole number from 1 to ${MOST_SLOTS}; it is ${valueText(of)}.`,
    );
  }
  const waitMs = durationMs("wait", wait ?? DEFAULT_WAIT_MS, {
    leastMs: 0,
    mostMs: Number.POSITIVE_INFINITY,
  });
  refOf(context.format, group);
  const over = firstOf([context.closing, signal]);
  const untilMs = context.nowMs() + waitMs;
  const triesUntilMs = waitMs === 0 ? Number.POSITIVE_INFINITY : untilMs;
  const backoff = doubling(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  // As an acquisition does, a wait tells of an outage, and of a refused permission, which lasts longer, at once. A single
  // failed round may be a short outage.
  const failing = new FailingCall(context, { tries: 2 });
  try {
    for (;;) {
      const taken = await take(locks, group, of, signal, lease, triesUntilMs);
      if (taken.kind === "slot") return taken.slot;
      const { error } = taken;
      if (error === undefined) failing.onSuccess();
      else if (waitMs > 0) failing.onFailure(error);
      const leftMs = untilMs - context.nowMs();
      const pauseMs = Math.min(leftMs, backoff(context.random.fraction()));
      if (pauseMs > 0) await sleep(context.timers, pauseMs, true, over.signal);
      // A round after the end of the wait tries nothing, and would so report an outage as numbers that are all taken.
      if (context.nowMs() >= untilMs) throw taken.error ?? allTaken(group, of);
    }
  } finally {
    over.dispose();
  }
}

/** Tries all numbers once. `none`: all are taken, the wait is over, or the table did not answer, with the error. */
async function take(
  locks: Holdfast<NativeTypes>,
  group: string,
  of: number,
  signal: AbortSignal | undefined,
  lease: Pick<SlotOptions, "lease" | "owner" | "session">,
  untilMs: number,
): Promise<{ kind: "slot"; slot: Slot } | { kind: "none"; error: HoldfastError | undefined }> {
  const { context } = partsOf(locks, "slot()");
  const first = Math.floor(context.random.fraction() * of);
  for (let at = 0; at < of && context.nowMs() < untilMs; at += 1) {
    signal?.throwIfAborted();
    const number = (first + at) % of;
    try {
      const name = lockNameOf(group, String(number));
      const granted = await mutex(locks, name, lease).tryAcquire({ signal });
      if (granted !== null) return { kind: "slot", slot: Object.assign(granted, { number }) };
    } catch (error) {
      // As an acquisition does, the wait outlasts an outage, and a refusal that may heal.
      if (isHoldfastError(error) && (isOutageError(error) || context.mayHeal(error)))
        return { kind: "none", error };
      throw error;
    }
  }
  return { kind: "none", error: undefined };
}

function allTaken(group: string, of: number): HoldfastError {
  return new HoldfastError(
    "not-acquired",
    `No number of "${group}" was free, of ${of}. A number of a dead process is free when its lease is over.`,
    { lockName: group },
  );
}
