import type { AcquireContext } from "../core/acquire/context.js";
import { heldText, holderSeen, retryAfterMs } from "../core/acquire/holder-seen.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import { type AnyAcquireOptions, resolveAcquire } from "../core/options.js";
import { ATTRIBUTES, requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import { hasQueue } from "../core/record/record.js";
import { lifeOf } from "../core/session/life.js";
import type { Session } from "../core/session/session.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { inMs } from "../internal/duration.js";
import { refuse } from "../internal/option-names.js";
import { asSentence } from "../internal/sentence.js";

/** Shared by locks and multi-locks: the layers of options, and `run`. */

/** The session that keeps the leases of a lock alive, if any, and the options that result from it. */
interface KeepAliveChoice {
  readonly keptAliveBy: KeepAliveSource<Hold> | undefined;
  readonly options: AnyAcquireOptions;
}

/** Returns what keeps the leases on a session alive. Throws `invalid-argument` for another value. */
export function lifeOfSession(session: Session): NonNullable<ReturnType<typeof lifeOf>> {
  const life = lifeOf(session);
  if (life !== undefined) return life;
  throw refuse("The option `session` must be a Session of this client, from `openSession()`.");
}

/** Chooses the session in the options, else the shared session of the client. Throws `invalid-argument`. */
export function keepAliveChoice(
  session: Session | undefined,
  shared: KeepAliveSource<Hold> | undefined,
): KeepAliveChoice {
  if (session === undefined) return { keptAliveBy: shared, options: {} };
  const life = lifeOfSession(session);
  return {
    keptAliveBy: life,
    options: {
      lease: inMs(life.leaseMs),
      renew: life.renewMs === "manual" ? "manual" : inMs(life.renewMs),
    },
  };
}

/** Resolves the settings of one acquisition. Throws `invalid-argument`. */
export function settingsOf(
  context: AcquireContext,
  layers: readonly AnyAcquireOptions[],
  defaultOwner: string,
  keptAliveBy: KeepAliveSource<Hold> | undefined,
): AcquireSettings {
  const { format } = context;
  // First: a wrong lease need not fit the session's renewals, of which the caller knows nothing.
  keptAliveBy?.checkLease?.(layers);
  const settings = resolveAcquire(layers, defaultOwner, format.facts.defaults);
  if (settings.data !== undefined) format.codec.checkData(settings.data);
  if (settings.attributes !== undefined) {
    requireCapability(format, ATTRIBUTES).check(settings.attributes);
  }
  const { leaseMs, renewMs } = settings;
  return {
    ...settings,
    keptAliveBy: keptAliveBy?.accepts(context, leaseMs, renewMs) ? keptAliveBy : undefined,
  };
}

/** The arguments of `run`: the options, if any, then the body. */
export type RunArguments<Options, L, T> =
  | [body: (lease: L) => T | PromiseLike<T>]
  | [options: Options, body: (lease: L) => T | PromiseLike<T>];

export type AnyLease = AsyncDisposable & {
  readonly signal: AbortSignal;
  readonly parts?: readonly object[];
  /** Every handle has it, and the type that callers see does not. */
  readonly whyStopped?: Error | undefined;
};

/**
 * Holds a lock while a body runs, and always releases the lock afterwards. `last` returns what the body has made of its
 * lease, such as the read permit of a writer: that is then released.
 */
export async function runHolding<Options extends object, L extends AnyLease, T>(
  given: RunArguments<Options, L, T>,
  acquire: (options: Options | undefined) => Promise<L>,
  last?: (lease: L) => Promise<AnyLease>,
): Promise<T> {
  const [options, body] = given.length === 1 ? [undefined, given[0]] : given;
  if (typeof body !== "function") {
    throw refuse("The last argument of run() must be a function.");
  }
  const first = await acquire(options);
  let lease: AnyLease = first;
  let result: T;
  try {
    result = await body(first);
  } catch (error) {
    if (last !== undefined) lease = await last(first);
    throw lossBehind(lease.signal, error) ?? error;
  } finally {
    if (last !== undefined) lease = await last(first);
    await lease[Symbol.asyncDispose]();
  }
  // Check after the release, since the release may be the first request to notice the loss.
  const reason = lease.whyStopped;
  if (reason !== undefined && !endsWell(reason, lease)) throw reason;
  return result;
}

/**
 * Whether a body with a result may have ended so. After an interruption it held the lock to its end, else the reason is the
 * loss; an export is its own, and its result may be the handle, without which the lock would stay reserved for nobody.
 */
export function endsWell(reason: unknown, { parts }: AnyLease): boolean {
  if (!isHoldfastError(reason)) return false;
  // The export of one of several locks is the loss of the others.
  return reason.code === "interrupted" || (reason.reason === "exported" && parts?.length === 1);
}

/**
 * The loss or the interruption of a lease, if a body failed because its signal aborted. After an abort, the SDK, timers and child processes
 * reject with their own error. With that error, the caller could not distinguish a lost lock from a cancelled request.
 */
function lossBehind({ aborted, reason }: AbortSignal, error: unknown): HoldfastError | undefined {
  if (!aborted || !isHoldfastError(reason) || !(error instanceof Error)) return undefined;
  if (error.name !== "AbortError" && error.name !== "TimeoutError") return undefined;
  const { code, message, lockName, timing } = reason;
  return new HoldfastError(code, message, {
    ...{ lockName, timing, reason: reason.reason },
    cause: error,
  });
}

/** The error of an acquisition without a wait, begun at `fromMs`, that did not acquire the lock. */
export function notAcquired(
  context: AcquireContext,
  ref: RecordRef,
  settings: AcquireSettings,
  fromMs: number,
): HoldfastError {
  const record = context.observations.known(ref.id);
  const holder = holderSeen(context, ref, fromMs);
  const isMissing = settings.onlyIfExists && record === undefined;
  const why = holder?.isOwn
    ? "this process itself holds it"
    : isMissing
      ? "it has no record, which `onlyIfExists` requires"
      : record?.state === "held"
        ? heldText("it", record.owner, holder, false)
        : record?.state === "free" && hasQueue(record)
          ? "waiters are queued for it"
          : "this process is acquiring or releasing it";
  return new HoldfastError(
    "not-acquired",
    `Lock "${ref.name}" was not acquired${isMissing ? "" : " (`wait` is 0)"}: ${asSentence(why)}`,
    { lockName: ref.name, holder, retryAfterMs: retryAfterMs(holder, settings) },
  );
}
