import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import type { ForcedRelease, HeldRecord, LeaseRecord } from "../core/record/record.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { type OptionNames, refuse } from "../internal/option-names.js";
import type { PermitKind } from "../locks/inspect-permits.js";
import { REQUESTS } from "../native/native-requests.js";
import { forcedRequest } from "../native/native-values.js";
import { isoTimeOf } from "../platform/clock.js";
import type { Write } from "../platform/table.js";
import {
  BoundedRetry,
  notifyOnce,
  readWithSession,
  type Wording,
  writeOnce,
} from "./bounded-retry.js";
import { freeDead, isDead } from "./free-dead.js";
import { type HolderKind, INSPECT_NAMES, type InspectOptions } from "./kinds.js";

/** Options of `Admin.forceRelease`. */
export interface ForceReleaseOptions extends Pick<InspectOptions, "namespace"> {
  /** `leader` for the leadership of an election. Default `lock`. */
  readonly kind?: HolderKind | undefined;
  /** The reason, for the holder and for later inspections: 1 to 1,000 characters. */
  readonly reason: string;
  /** The operator's label. Default: the client's `owner`. */
  readonly by?: string | undefined;
  /**
   * Frees the lock at once, without waiting for its holder: **two holders may then act at the same time** until the
   * first holder's next renewal. Default false.
   */
  readonly now?: boolean | undefined;
  /**
   * How long to wait until the lock is free. Default: the sum of two leases with clock drift and four request timeouts.
   */
  readonly wait?: Duration | undefined;
  /** Ends the wait. The call rejects with the signal's reason, and the request stays in the record. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `Admin.forceRelease` for one permit of a semaphore or of a read-write lock. */
export interface ForceReleasePermitOptions extends Omit<ForceReleaseOptions, "kind" | "namespace"> {
  readonly kind: PermitKind;
  /** The id of the permit: `permit.holder`, or the holder from `inspect()`. */
  readonly holder: string;
}

const BOTH = { reason: true, by: true, now: "flag", wait: true, signal: true } as const;

export const FORCE_NAMES: OptionNames<ForceReleaseOptions> = { ...INSPECT_NAMES, ...BOTH };

export const FORCE_PERMIT_NAMES: OptionNames<ForceReleasePermitOptions> = {
  ...{ kind: true, holder: true },
  ...BOTH,
};

/**
 * The result of a forced release. The holder may still hold the lock if `isFree` is false and `successor` undefined.
 */
export interface ForceReleaseResult {
  /** Whether the last answer showed the lock free. */
  readonly isFree: boolean;
  /** Whether the holder counted as dead, and this call freed the lock in its place. */
  readonly wasDead: boolean;
  /** The holder that was asked, or freed; undefined if the lock was free already. */
  readonly holder: string | undefined;
  /** The holder's label. */
  readonly owner: string | undefined;
  /** The next holder, if the lock was granted again in the meantime. This call did not ask this holder to release. */
  readonly successor: { readonly holder: string; readonly owner: string | undefined } | undefined;
}

const LONGEST_TEXT = 1_000;
const WAIT_RANGE = { leastMs: 0, mostMs: 24 * 3_600_000 };
const WORDING: Wording = {
  failed: "could not be released by force",
  failedLate:
    "was not released by force (the request to its holder may not have arrived; call forceRelease() again)",
  closed:
    "may still be held: the client was closed during the forced release. The holder may have received the request. " +
    "Call forceRelease() of another client.",
};

/**
 * Asks the holder of a record to release, or frees the record; see `Admin.forceRelease`. In this order:
 *
 * 1. Read the record to learn the holder. If the holder counts as dead, free the record, as a takeover would.
 * 2. Write `request` into the record. A holder that moves to its session afterwards reads the request in the answer to
 *    that move.
 * 3. Notify the session that the answer to step 2 shows: a holder that moved before step 2 no longer reads its record.
 * 4. With `now`, free the record last, so that a live former holder finds the request. If this process ends before this
 *    step, the lock stays held, and a second call starts again.
 */
export async function askHolderToRelease(
  context: AcquireContext,
  ref: RecordRef,
  options: ForceReleaseOptions,
  defaultBy: string,
): Promise<ForceReleaseResult> {
  const { reason, by = defaultBy, now = false, signal } = options;
  const limitMs = checkForce(options, by);
  const requests = requireCapability(context.format, REQUESTS, "forced releases");
  const retries = new BoundedRetry(context, ref, WORDING, signal, limitMs);
  const look = () => readWithSession(context, ref, signal);
  const first = await retries.send(look);
  if (first.state !== "held") return resultOf(undefined, first);
  retries.allowFor(first);
  const at = isoTimeOf(context.wallMs());
  const forced = { holder: first.holder, by, reason, at, now: false };
  const freeIfDead = async (record: LeaseRecord): Promise<LeaseRecord | undefined> => {
    if (!names(record, first) || !isDead(context, ref, record)) return undefined;
    const freed = await retries.send(() => freeDead(context, ref, record, forced, signal));
    return names(freed, first) ? undefined : freed;
  };
  const freedAtOnce = await freeIfDead(first);
  if (freedAtOnce) return resultOf(first, freedAtOnce, true);
  const request = { ...forced, kind: "release" } as const;
  const ask = requests.ask(ref, request);
  const asked = await retries.send(() => writeOnce(context, ref, ask, signal));
  if (!names(asked, first)) return resultOf(first, asked);
  retries.noteRequest();
  const { session } = asked;
  if (session !== undefined)
    await retries.send(() => notifyOnce(context, session, first.holder, signal));
  const freeing = () => writeOnce(context, ref, freeingOf(context, ref, forced), signal);
  for (;;) {
    if (!now) await retries.pause();
    const found = await retries.send(now ? freeing : look);
    const freed = await freeIfDead(found);
    if (freed) return resultOf(first, freed, true);
    if (now || !names(found, first) || retries.isOver) return resultOf(first, found);
  }
}

/** Checks the options of a forced release, and returns its wait in milliseconds. Throws `invalid-argument`. */
export function checkForce(
  { reason, wait }: Pick<ForceReleaseOptions, "reason" | "wait">,
  by: string,
): number | undefined {
  checkText("reason", reason);
  checkText("by", by);
  return wait === undefined ? undefined : durationMs("wait", wait, WAIT_RANGE);
}

/** The result if the record does not have the permit. */
export const NOT_HELD: ForceReleaseResult = Object.freeze({
  isFree: true,
  wasDead: false,
  holder: undefined,
  owner: undefined,
  successor: undefined,
});

function freeingOf(context: AcquireContext, ref: RecordRef, forced: ForcedRelease): Write {
  const { holder } = forced;
  const note = { ...forced, now: true };
  return context.freeing(
    ref,
    { maybe: [holder] },
    { keepData: true, lastHolder: holder, forced: forcedRequest(note) },
  );
}

function names(record: LeaseRecord, { holder }: HeldRecord): record is HeldRecord {
  return record.state === "held" && record.holder === holder;
}

function resultOf(
  victim: HeldRecord | undefined,
  found: LeaseRecord,
  wasDead = false,
): ForceReleaseResult {
  const next = found.state === "held" && found.holder !== victim?.holder ? found : undefined;
  return {
    isFree: found.state !== "held",
    wasDead,
    holder: victim?.holder,
    owner: victim?.owner,
    successor: next === undefined ? undefined : { holder: next.holder, owner: next.owner },
  };
}

/** Checks a text for the holder. Throws `invalid-argument`. */
export function checkText(option: string, text: unknown): void {
  if (typeof text === "string" && text.length > 0 && text.length <= LONGEST_TEXT) return;
  throw refuse(`The option \`${option}\` must be a string of 1 to ${LONGEST_TEXT} characters.`);
}
