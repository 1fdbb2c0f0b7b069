import { HoldfastError, isHoldfastError } from "../../errors.js";
import { withAcquisition } from "../acquire/acquire.js";
import type { Cancellation } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { GrantWrite } from "../acquire/grant.js";
import type { AcquireSettings, Granted } from "../acquire/settings.js";
import { inTurn } from "../acquire/turn.js";
import type { ClaimTurn } from "../admission.js";
import { type GrantResult, Hold } from "../hold/hold.js";
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
  const { sessionPrefix } = context.settings;
  const refOf = (): RecordRef =>
    context.format.codec.refOf("session", `${sessionPrefix}${context.random.id()}`);
  const firstRef = refOf();
  try {
    const begun = await withAcquisition({
      context,
      refs: [firstRef],
      settings,
      grant: async (cancellation) => {
        // Each attempt has a new id: DynamoDB may apply an earlier attempt late, and the client then rolls it back.
        for (let ref = firstRef; ; ref = refOf()) {
          if (cancellation.isStopped) throw cancellation.error();
          const claim = { kind: "claim", onto: { kind: "absent" } } as const;
          const acquisition = { context, ref, settings, cancellation };
          const attempt = (turn: ClaimTurn) => new GrantWrite(acquisition, claim, turn).run();
          // Every lease of the session depends on it.
          const answer = await inTurn(acquisition, attempt, "keep");
          if (answer.kind === "granted") return [grantedOn(context, ref, answer.result)] as const;
          // Without a wait there is one attempt, as in an acquisition.
          if (settings.waitMs === 0) throw cancellation.error();
        }
      },
      begin: async ([{ hold }], cancellation): Promise<Begun> => {
        await firstRenewal(hold, cancellation);
        return { hold, release: () => new HeldLease(hold).release() };
      },
    });
    return begun.hold;
  } catch (cause) {
    throw notOpened(cause);
  }
}

function grantedOn(context: AcquireContext, ref: RecordRef, result: GrantResult): Granted {
  const localQueue = context.localQueues.of(ref.id);
  localQueue.tryEnter();
  const hold = new Hold(context, ref, localQueue, result);
  return { hold, record: result.record, how: "claim" };
}

// Ends the session if DynamoDB does not answer the renewal before the end of the wait. No record names the session yet.
async function firstRenewal(hold: Hold, cancellation: Cancellation): Promise<void> {
  let end = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    end = () => {
      // If DynamoDB does not answer the release, the record expires with the lease.
      hold.context.inBackground(() => new HeldLease(hold).release().catch(() => undefined));
      reject(cancellation.error());
    };
  });
  cancellation.signal.addEventListener("abort", end);
  if (cancellation.isStopped) end();
  try {
    await Promise.race([renewNow(hold), stopped]);
  } finally {
    cancellation.signal.removeEventListener("abort", end);
  }
}

function notOpened(cause: unknown): unknown {
  if (!isHoldfastError(cause)) return cause;
  const { code, reason } = cause;
  return new HoldfastError(code, `The session was not opened: ${cause.message}`, { cause, reason });
}
