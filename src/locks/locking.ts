import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import { type AnyAcquireOptions, resolveAcquire } from "../core/options.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import { standing } from "../core/record/record.js";
import { Session } from "../core/session/session.js";
import { HoldfastError } from "../errors.js";
import { shown } from "../internal/shown.js";
import type { Item } from "../platform/table.js";

/** What the primitives that are locks share: how options are layered, and how a body runs. */

/** What the leases of a lock live by, and the options that follow from it. */
export interface KeepAliveChoice {
  readonly keptAliveBy: KeepAliveSource<Hold> | undefined;
  readonly options: AnyAcquireOptions;
}

/** A session that was asked for, or what the client's leases share. Throws `invalid-argument`. */
export function keepAliveChoice(
  session: Session | undefined,
  shared: KeepAliveSource<Hold> | undefined,
): KeepAliveChoice {
  if (session === undefined) return { keptAliveBy: shared, options: {} };
  if (!(session instanceof Session)) {
    throw new HoldfastError(
      "invalid-argument",
      "The option `session` must be a Session of this client.",
    );
  }
  const life = Session.lifeOf(session);
  return { keptAliveBy: life, options: { lease: life.leaseMs, renew: life.renewMs } };
}

/** Resolves one acquisition of a lock. Throws `invalid-argument`. */
export function settingsOf(
  context: AcquireContext,
  layers: readonly AnyAcquireOptions[],
  defaultOwner: string,
  keptAliveBy: KeepAliveSource<Hold> | undefined,
): AcquireSettings {
  const { format } = context;
  const settings = resolveAcquire(layers, defaultOwner, format.defaults);
  if (settings.data !== undefined) format.checkData(settings.data);
  if (settings.attributes !== undefined) checkAttributes(format, settings.attributes);
  const { leaseMs, renewMs } = settings;
  return {
    ...settings,
    keptAliveBy: keptAliveBy?.accepts(context, leaseMs, renewMs) ? keptAliveBy : undefined,
  };
}

function checkAttributes(format: LeaseFormat, attributes: Item): void {
  if (format.checkAttributes === undefined) {
    throw new HoldfastError(
      "invalid-argument",
      `Records of format "${format.name}" have no room for \`attributes\`: use \`data\`.`,
    );
  }
  format.checkAttributes(attributes);
}

/** What `run` is called with: perhaps options, and the body last. */
export type RunArguments<Options, L, T> =
  | [body: (lease: L) => T | PromiseLike<T>]
  | [options: Options, body: (lease: L) => T | PromiseLike<T>];

type AnyLease = AsyncDisposable & { readonly signal: AbortSignal };

/** Holds a lock while a body runs, and releases it whatever happens. */
export async function runHolding<Options extends object, L extends AnyLease, T>(
  given: RunArguments<Options, L, T>,
  acquire: (options: Options | undefined) => Promise<L>,
): Promise<T> {
  const [options, body] = given.length === 1 ? [undefined, given[0]] : given;
  if (typeof body !== "function") {
    throw new HoldfastError("invalid-argument", "run() takes the body last, as a function.");
  }
  const lease = await acquire(options);
  let result: T;
  try {
    result = await body(lease);
  } finally {
    await lease[Symbol.asyncDispose]();
  }
  // Asked after the release, which may be what finds out.
  if (lease.signal.aborted) throw lease.signal.reason;
  return result;
}

/** Why an acquisition that did not wait came back with nothing. */
export function notAcquired(
  context: AcquireContext,
  ref: RecordRef,
  { onlyIfExists }: AcquireSettings,
): HoldfastError {
  const record = context.observations.of(ref.id)?.record;
  const why =
    onlyIfExists && (record === undefined || record.state === "absent")
      ? "it has no record, and `onlyIfExists` asks for one"
      : record?.state === "held"
        ? `${shown(record.owner ?? "somebody")} holds it, and \`wait\` is 0`
        : record?.state === "free" && standing(record.queue, undefined) === "queued"
          ? "others are queued for it, and `wait` is 0"
          : "this process has it, or is about to, and `wait` is 0";
  return new HoldfastError("not-acquired", `Lock "${ref.name}" was not acquired: ${why}.`, {
    lockName: ref.name,
  });
}
