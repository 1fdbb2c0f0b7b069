import { HoldfastError } from "../errors.js";
import { sleep } from "../internal/sleep.js";
import { acquire } from "../lease/acquire.js";
import type { RecordRef } from "../lease/format.js";
import type { Kernel } from "../lease/kernel.js";
import type { Lease } from "../lease/lease.js";
import { troubleError } from "../lease/trouble.js";
import type { OnceSettings } from "./options.js";

/**
 * What became of a call: it ran, or why it did not. `already`: this occurrence, or a later one, has run,
 * or was interrupted. `running`: this one, or an earlier one, is being run elsewhere.
 */
export type OnceResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly why: "already" | "running" };

/** What a record of this kind carries: the occurrence that was begun last. */
interface Begun {
  readonly occurrence: string;
}

/** An occurrence that this caller is the one to run. */
export interface OnceRun {
  readonly lease: Lease;
  /** Ends it: the record is free for later occurrences, at once or when `atLeastFor` is over. */
  end(): Promise<void>;
}

/**
 * Begins an occurrence, or says why not. That it was begun is in the record before this resolves, so that
 * whatever happens from then on, nobody begins it as a new one.
 */
export async function beginOnce(
  kernel: Kernel,
  ref: RecordRef,
  settings: OnceSettings,
): Promise<OnceRun | "already" | "running"> {
  for (;;) {
    const seen = await look(kernel, ref, settings);
    const begun = seen === "try" ? await tryToBegin(kernel, ref, settings) : seen;
    if (begun !== "running" || !settings.reruns) return begun;
    await kernel.sleep(kernel.jittered(settings.grant.slowestPollMs), settings.grant.signal);
    if (settings.grant.signal?.aborted === true) throw settings.grant.signal.reason;
    if (kernel.closing.aborted) throw closed(ref.name);
  }
}

/** Runs an occurrence here if it is run nowhere else. */
export async function once<T>(
  kernel: Kernel,
  ref: RecordRef,
  settings: OnceSettings,
  fn: (signal: AbortSignal, lease: Lease) => T | PromiseLike<T>,
): Promise<OnceResult<T>> {
  const begun = await beginOnce(kernel, ref, settings);
  if (typeof begun === "string") return { ran: false, why: begun };
  const { lease } = begun;
  let value: T;
  try {
    value = await fn(lease.signal, lease);
  } finally {
    await begun.end();
  }
  if (lease.signal.aborted) throw lease.signal.reason;
  return { ran: true, value };
}

/** One cheap read: most callers find that others were faster, and write nothing. */
async function look(
  kernel: Kernel,
  ref: RecordRef,
  settings: OnceSettings,
): Promise<"try" | "already" | "running"> {
  const read = { key: ref.key, consistent: false };
  const answer = await kernel.read(read, kernel.settings.requestTimeoutMs, settings.grant.signal);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") {
    if (settings.grant.signal?.aborted === true) throw settings.grant.signal.reason;
    throw troubleError(ref.name, "was not begun", answer);
  }
  if (answer.item === undefined) return "try";
  const record = kernel.seeRecord(ref, answer.item, "eventual");
  if (record.state === "absent") return "try";
  const order = compare(settings.occurrence, occurrenceIn(record.data));
  if (order < 0) return "already";
  if (record.state === "free") return order === 0 ? "already" : "try";
  const isLive = kernel.decide(ref, false).kind === "wait";
  if (isLive) return "running";
  return order === 0 && !settings.reruns ? "already" : "try";
}

async function tryToBegin(
  kernel: Kernel,
  ref: RecordRef,
  settings: OnceSettings,
): Promise<OnceRun | "already" | "running"> {
  // Only a run that was watched dead, or given up here, was interrupted: a free record's has ended.
  const isFromTheDead = ["take over", "reclaim"].includes(kernel.decide(ref, false).kind);
  const startMs = kernel.nowMs();
  const lease = await acquire(kernel, ref, settings.grant);
  if (lease === undefined) return "running";
  const order = compare(settings.occurrence, occurrenceIn(lease.data));
  const isAgain = order === 0 && isFromTheDead && settings.reruns;
  if (order > 0 || isAgain) {
    const begun: Begun = { occurrence: settings.occurrence };
    try {
      await lease.update({ ...begun });
      return { lease, end: () => endRun(kernel, lease, startMs + settings.atLeastMs) };
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error;
    }
  }
  await lease[Symbol.asyncDispose]();
  return "already";
}

async function endRun(kernel: Kernel, lease: Lease, untilMs: number): Promise<void> {
  const leftMs = untilMs - kernel.nowMs();
  if (leftMs <= 0 || !lease.isHeld) return lease[Symbol.asyncDispose]();
  // Nobody waits for it; where the process ends before, the record is free when its lease has run out.
  kernel.inBackground(async () => {
    await sleep(kernel.timers, leftMs, false, kernel.closing);
    await lease[Symbol.asyncDispose]();
  });
}

function occurrenceIn(data: unknown): string | undefined {
  const { occurrence } = (data ?? {}) as { readonly occurrence?: unknown };
  return typeof occurrence === "string" ? occurrence : undefined;
}

/** Above 0: the first is later, or there is no second. */
function compare(occurrence: string, last: string | undefined): number {
  if (last === undefined || occurrence > last) return 1;
  return occurrence === last ? 0 : -1;
}

function closed(name: string): HoldfastError {
  return new HoldfastError("closed", `The client was closed while "${name}" was waited for.`, {
    lockName: name,
  });
}
