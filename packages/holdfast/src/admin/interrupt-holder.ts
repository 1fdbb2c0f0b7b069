import { type Holdfast, partsOf } from "../client.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { HeldRecord } from "../core/record/record.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { REQUESTS } from "../native/native-requests.js";
import { BoundedRetry, notifyOnce, readOnce, type Wording, writeOnce } from "./bounded-retry.js";
import { checkText } from "./force-release.js";
import { type InspectOptions, namedRef } from "./kinds.js";

/** Options of `interruptHolder()`. */
export interface InterruptOptions extends Pick<InspectOptions, "namespace"> {
  /** The label of the asker, for the holder: 1 to 1,000 characters. Default: the client's `owner`. */
  readonly by?: string | undefined;
  /** Ends the call. It rejects with the signal's reason, and the holder may have been asked. */
  readonly signal?: AbortSignal | undefined;
}

/** The holder that `interruptHolder()` asked. */
export interface InterruptedHolder {
  readonly holder: string;
  /** The holder's label. */
  readonly owner: string | undefined;
}

const NAMES: OptionNames<InterruptOptions> = { namespace: true, by: true, signal: true };
const WORDING: Wording = {
  failed: "may not have been interrupted (call interruptHolder() again)",
  failedLate:
    "may not have been interrupted (the request to its holder may not have arrived; call interruptHolder() again)",
  closed:
    "may not have been interrupted: the client was closed. Call interruptHolder() of another client.",
};

/**
 * Tells the holder of a lock to stop, as a waiter with `ifHeld: interrupt` does, and neither waits nor acquires.
 * `docs/requests.md` says how soon the holder learns of it.
 *
 * Resolves to the holder that was asked, also if a stronger request, a forced release, is already in the record; and to
 * undefined if no one was: the lock is free, or its holder released it meanwhile. Not promised: that the holder stops. A
 * dead holder keeps the lock until a waiter takes it over: this call frees nothing. A waiter that interrupts is not
 * superseded by this call.
 *
 * Costs a strongly consistent read, and a write if the lock is held; if the holder is on a session, a second write.
 * Repeats what DynamoDB does not answer, for four request timeouts. Rejects with coded errors. Throws `invalid-argument`,
 * also for a format without requests.
 */
export async function interruptHolder<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options: InterruptOptions = {},
): Promise<InterruptedHolder | undefined> {
  const { context, defaultOwner } = partsOf(client, "interruptHolder()");
  const { by = defaultOwner, namespace, signal } = checkNames("interruptHolder()", options, NAMES);
  checkText("by", by);
  const ref = namedRef(context.format, name, { namespace });
  const requests = requireCapability(context.format, REQUESTS, "interruptions");
  const retries = new BoundedRetry(context, ref, WORDING, signal);
  const first = await retries.send(() => readOnce(context, ref, signal));
  if (first.state !== "held") return undefined;
  const { holder } = first;
  const ask = requests.ask(ref, { kind: "interrupt", holder, by });
  const asked = await retries.send(() => writeOnce(context, ref, ask, signal));
  // The next holder is not asked: the caller may not have meant it.
  if (asked.state !== "held" || asked.holder !== holder) return undefined;
  retries.noteRequest();
  const { session } = asked;
  if (!isToldHere(context, asked) && session !== undefined) {
    await retries.send(() => notifyOnce(context, session, holder, signal));
  }
  return { holder, owner: asked.owner };
}

/** Tells a holder of this client, which need not wait for its renewal. */
function isToldHere(context: AcquireContext, asked: HeldRecord): boolean {
  const hold = context.holds.ofHolder(asked.holder);
  hold?.hear(asked);
  return hold !== undefined;
}
