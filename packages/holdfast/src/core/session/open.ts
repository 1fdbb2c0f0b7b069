import { HoldfastError, isHoldfastError } from "../../errors.js";
import { onAbort } from "../../platform/abort.js";
import type { NoAnswer } from "../../platform/retry.js";
import type { Misconfigured } from "../../platform/table.js";
import { withAcquisition } from "../acquire/acquire.js";
import type { Cancellation } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { grantedTo, grantOnce } from "../acquire/grant.js";
import type { AcquireSettings, Granted } from "../acquire/settings.js";
import type { GrantResult, Hold } from "../hold/hold.js";
import { HeldLease } from "../hold/lease.js";
import { renewNow } from "../hold/writes.js";
import type { RecordRef } from "../record/format.js";

/** A new session, before its renewals begin. */
interface Begun {
  readonly hold: Hold;
  release(): Promise<void>;
}

/** Creates the record of a session and renews the record once. Rejects with the error of the last attempt. */
export async function openSession(
  context: AcquireContext,
  settings: AcquireSettings,
): Promise<Hold> {
  const ref = newRef(context);
  try {
    const begun = await withAcquisition({
      context,
      refs: [ref],
      settings,
      grant: async (cancellation) => [await granted(context, settings, cancellation, ref)] as const,
      begin: async ([first], cancellation): Promise<Begun> => {
        for (let { hold } = first; ; ) {
          try {
            await firstRenewal(hold, cancellation);
            return { hold, release: () => new HeldLease(hold).release() };
          } catch (error) {
            if (!hasExpired(error) || !cancellation.waits || cancellation.isStopped) throw error;
            // No record names this session yet, so another serves as well.
            hold = (await granted(context, settings, cancellation)).hold;
          }
        }
      },
    });
    return begun.hold;
  } catch (cause) {
    throw cause === settings.signal?.reason ? cause : notOpened(cause);
  }
}

function newRef({ format, random, settings }: AcquireContext): RecordRef {
  return format.codec.refOf("session", `${settings.sessionPrefix}${random.id()}`);
}

/** Creates the record. Each attempt has a new id: DynamoDB may apply an earlier one late, and it is then rolled back. */
async function granted(
  context: AcquireContext,
  settings: AcquireSettings,
  cancellation: Cancellation,
  firstRef = newRef(context),
): Promise<Granted> {
  for (let ref = firstRef; ; ref = newRef(context)) {
    if (cancellation.isStopped) throw cancellation.error();
    const claim = { kind: "claim", onto: { kind: "absent" } } as const;
    const acquisition = { context, ref, settings, cancellation };
    // Every lease of the session depends on it.
    const answer = await grantOnce(acquisition, claim, "keep");
    if (answer.kind === "granted") return grantedOn(context, ref, answer.result);
    // Without a wait there is one attempt, as in an acquisition.
    if (settings.waitMs === 0) throw cancellation.error();
  }
}

function grantedOn(context: AcquireContext, ref: RecordRef, result: GrantResult): Granted {
  const localQueue = context.localQueues.of(ref.id);
  localQueue.tryEnter();
  return grantedTo({ context, ref }, result, "claim", localQueue);
}

/**
 * Renews the session, again and again until DynamoDB serves the renewal. No record names the session yet, so it ends
 * with the wait, with a wrong configuration that lasts, and without a wait when refused credentials do not heal.
 */
async function firstRenewal(hold: Hold, cancellation: Cancellation): Promise<void> {
  const { context } = hold;
  let stop = (_error: unknown): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = (error) => {
      // If DynamoDB does not answer the release, the record expires with the lease.
      context.inBackground(() => new HeldLease(hold).release().catch(() => undefined));
      reject(error);
    };
  });
  const end = (): void => stop(cancellation.error());
  const onNoAnswer = (sent: NoAnswer | Misconfigured): void => {
    const answer = context.healing(sent);
    if (answer.kind === "misconfigured") stop(answer.error);
    else {
      cancellation.onNoResponse(answer);
      if (answer.kind === "denied" && !cancellation.waits) end();
    }
  };
  const forget = onAbort(cancellation.signal, end);
  try {
    await Promise.race([renewNow(hold, onNoAnswer), stopped]);
  } finally {
    forget();
  }
}

/** Whether the error is the loss of a lease that expired. Pure. */
export function hasExpired(error: unknown): boolean {
  return isHoldfastError(error, "lost") && error.reason === "expired";
}

function notOpened(cause: unknown): unknown {
  if (!isHoldfastError(cause)) return cause;
  const { reason } = cause;
  // No other client has a new session: at the end of a wait, too, only an answer is missing.
  const isLate = cause.code === "not-acquired";
  const code = isLate ? "unreachable" : cause.code;
  const why = isLate ? "the wait ended before DynamoDB answered." : cause.message;
  return new HoldfastError(code, `The session was not opened: ${why}`, { cause, reason });
}
