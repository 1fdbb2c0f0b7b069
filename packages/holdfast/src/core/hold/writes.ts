import { HoldfastError, type LossReason } from "../../errors.js";
import type { Duration } from "../../internal/duration.js";
import type { OptionNames } from "../../internal/option-names.js";
import { SESSIONS } from "../../native/native-sessions.js";
import { instantOf } from "../../platform/clock.js";
import { AGAIN, type NoAnswer, retry, type Unanswered } from "../../platform/retry.js";
import type { Misconfigured } from "../../platform/table.js";
import { steady } from "../backoff.js";
import { OutageWatch } from "../outage-watch.js";
import { requireCapability } from "../record/capability.js";
import type { NumberedData } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import { titleOf } from "../unavailable.js";
import type { Hold } from "./hold.js";
import type { KeepAlive } from "./keep-alive.js";
import { RESERVED_AFTER_LOSS } from "./loss.js";
import { freeOnce, giveUpLease, RELEASE_RETRY_MS } from "./release.js";
import type { HoldAnswer, HoldWrite, RenewalAnswer } from "./renewal.js";

/**
 * The writes at the request of the holder. Each write retries with pauses until DynamoDB answers or the lease is
 * lost. The write then rejects with the loss, and does not say whether DynamoDB applied the write.
 */

/** Options of `Lease.renew`. */
export interface RenewOptions {
  readonly data?: unknown;
  readonly lease?: Duration | undefined;
}

export const RENEW_NAMES: OptionNames<RenewOptions> = { data: true, lease: true };

/**
 * Renews now. Resolves after an acknowledged renewal. Calls `onNoAnswer` after each that DynamoDB did not serve; by default,
 * tells the client's `onError` of an outage.
 */
export async function renewNow(
  hold: Hold,
  onNoAnswer?: (answer: NoAnswer | Misconfigured) => void,
): Promise<void> {
  const attempt = (tell: typeof onNoAnswer) =>
    hold.living.isMoved ? MOVED : hold.renewOnce(onNoAnswer ?? tell);
  const answer = await untilAnswered<RenewalAnswer | typeof MOVED>(hold, attempt);
  if (answer.kind === "moved") await renewLife(hold);
  // Nothing was sent.
  if (answer.kind === "held") checkMayRenew(hold);
}

const MOVED = { kind: "moved" } as const;

// One renewal of the session covers all leases on the session; a loss of the session ends all leases on the session.
async function renewLife(hold: Hold): Promise<void> {
  await hold.living.life?.renewNow().catch(() => undefined);
  if (!hold.isHeld) throw lossOf(hold);
}

/** Renews and stores user data. A retry sends the same request, with the same number. */
export async function renewWithData(hold: Hold, data: NumberedData): Promise<void> {
  if (hold.context.format.lease.updateData === undefined)
    return changeLength(hold, undefined, data);
  if (await renewWithDataByItself(hold, data)) return;
  await writeData(hold, data);
  await renewLife(hold);
}

function renewWithDataByItself(hold: Hold, data: NumberedData): Promise<boolean> {
  return hold.requests.run(async () => {
    if (hold.living.isMoved) return false;
    checkMayRenew(hold);
    const start = instantOf(hold.context.clock);
    const renewal = hold.renewal(hold.leaseMs, data);
    const record = await untilApplied(hold, () =>
      hold.send({
        write: hold.context.format.lease.renew(hold.ref, hold.held, renewal),
        // The mark does not show this write if a later renewal has changed the mark.
        isIn: (found) => found.dataSeq === data.seq,
      }),
    );
    hold.renewed(start, hold.leaseMs, record);
    return true;
  });
}

/** Throws `interrupted` if an answer has shown an interruption, maybe while a renewal waited for its turn. */
export function checkMayRenew(hold: Hold): void {
  if (hold.requested.isInterrupted && hold.isHeld) throw hold.requested.error();
}

/** Throws `invalid-argument` for a permit: its record has no room for data of each holder. */
export function checkHasData({ ref }: Hold): void {
  if (ref.permit === undefined) return;
  throw new HoldfastError(
    "invalid-argument",
    `${titleOf([ref.name], ref.kind)} stores no data with a permit. Store it in a record of your own.`,
    { lockName: ref.name },
  );
}

/** Stores user data. Moves no deadline, unless the format stores data with a renewal only. */
export async function writeData(hold: Hold, data: NumberedData): Promise<void> {
  const { format } = hold.context;
  const write = format.lease.updateData?.(hold.ref, hold.held, data);
  if (write === undefined) return changeLength(hold, undefined, data);
  await untilApplied(hold, () =>
    hold.requests.run(() =>
      hold.send({
        write,
        isIn: (found) => found.dataSeq === data.seq,
      }),
    ),
  );
}

/**
 * Changes the length of the lease; by default, keeps the one that it has at the write's turn. Waiters watch the record for this length, so DynamoDB must apply the write once or
 * never: its condition names the exact version. Until the acknowledgement the deadline is the earlier of the two
 * (R5).
 */
export async function changeLength(
  hold: Hold,
  askedMs: number | undefined,
  data?: NumberedData,
): Promise<void> {
  const { format, clock } = hold.context;
  const isOnSession = await hold.requests.run(async () => {
    const leaseMs = askedMs ?? hold.leaseMs;
    const { isMoved } = hold.living;
    if (isMoved ? leaseMs !== hold.leaseMs : isOfSession(hold, leaseMs)) {
      throw lengthIsTheSessions(hold);
    }
    if (isMoved) return true;
    checkMayRenew(hold);
    // The new deadline counts from the first send: DynamoDB may have applied any of these writes.
    const start = instantOf(clock);
    const record = await sendExact(hold, "throw", () => {
      const renewal = hold.exactRenewal(leaseMs, data);
      const write = format.lease.changeLength(hold.ref, hold.held, renewal);
      hold.living.mayBe(hold.deadlineFrom(start, leaseMs));
      if (hold.isManual) hold.localQueue.deadlineMoved();
      return {
        write,
        isIn: (found) => found.mark === renewal.mark || found.dataSeq === data?.seq,
      };
    });
    if (record !== undefined) hold.renewed(start, leaseMs, record);
    return false;
  });
  if (isOnSession) await (data === undefined ? renewLife(hold) : renewWithData(hold, data));
}

/**
 * Moves the record to a session. DynamoDB applies the move once or never, as for a new length (R5). Until the
 * acknowledgement the deadline is the earlier of the two. Sends nothing if the session has ended, or if the session
 * does not accept a new length of the lease. The holder then continues to renew the lease itself. Rejects with the loss
 * of the lease.
 */
export function moveTo(hold: Hold, life: KeepAlive<Hold>, session: string): Promise<void> {
  const { format } = hold.context;
  return hold.requests.run(async () => {
    // Another move of this lease was acknowledged before this move's turn.
    if (hold.living.isMoved) return;
    // An operator can correct the configuration before the deadline, as for a renewal.
    const record = await sendExact(hold, "retry", () => {
      if (!hold.isHeld) throw lossOf(hold);
      if (hold.settings.keptAliveBy?.current(hold.leaseMs) !== life) return undefined;
      const renewal = hold.exactRenewal(life.leaseMs);
      const write = requireCapability(format, SESSIONS).moveTo(
        hold.ref,
        hold.held,
        renewal,
        session,
      );
      hold.living.mayMoveTo(life);
      return { write, isIn: (found) => found.mark === renewal.mark };
    });
    if (record !== undefined) hold.moved(record);
  });
}

/** Whether the caller named a session of another length: the move to the session would undo the new length. */
function isOfSession(hold: Hold, leaseMs: number): boolean {
  const life = hold.settings.keptAliveBy?.current(leaseMs);
  return life !== undefined && life.leaseMs !== leaseMs;
}

/** Returns the error for a new length of a lease whose length is its session's. */
export function lengthIsTheSessions(hold: Hold): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `The lease of lock "${hold.ref.name}" cannot have another length: its session's is ${hold.leaseMs} ms. ` +
      "Give the session another `lease`.",
    { lockName: hold.ref.name },
  );
}

type OnMisconfigured = "throw" | "retry";

/**
 * Sends a write on the record's exact version until DynamoDB answers. DynamoDB applies such a write once or never
 * (R5). Returns the new record, or undefined if `make` finds no need for a write.
 */
async function sendExact(
  hold: Hold,
  onMisconfigured: OnMisconfigured,
  make: () => HoldWrite | undefined,
): Promise<HeldRecord | undefined> {
  let write: HoldWrite | undefined;
  const attempt = async () => {
    write ??= make();
    if (write === undefined) return { kind: "not needed" } as const;
    const answer = await hold.send(write);
    if (answer.kind !== "mine") return answer;
    // The grant is intact, but the version has changed: this write can never be applied now.
    hold.learnVersion(answer.record);
    write = undefined;
    return AGAIN;
  };
  const answer = await untilAnswered(hold, attempt, onMisconfigured);
  return answer.kind === "not needed" ? undefined : answer.record;
}

async function untilApplied(hold: Hold, send: () => Promise<HoldAnswer>): Promise<HeldRecord> {
  const answer = await untilAnswered(hold, send);
  if (answer.kind === "applied") return answer.record;
  throw new HoldfastError(
    "outcome-unknown",
    `DynamoDB refused a write under lock "${hold.ref.name}", although this holder still has the lock. ` +
      "Another program may write to the record. Read the record with inspect().",
    { lockName: hold.ref.name },
  );
}

interface Lost {
  readonly kind: "lost";
}

/**
 * Retries until DynamoDB answers. Rejects with the loss of the lease. Calls `attempt` with what tells the client's `onError`
 * of an outage while the call waits.
 */
async function untilAnswered<A extends { readonly kind: string }>(
  hold: Hold,
  attempt: (tell: (answer: NoAnswer | Misconfigured) => void) => Promise<A | Lost> | A,
  onMisconfigured: OnMisconfigured = "throw",
): Promise<Exclude<A, Lost | Unanswered>> {
  const { backoff, context, lossSignal, settings } = hold;
  const { signal } = lossSignal;
  // A lease may be so long that this is a long wait. Nobody waits for a move to a session.
  const watch = onMisconfigured === "throw" ? new OutageWatch(context) : undefined;
  const tell = (answer: NoAnswer | Misconfigured): void => {
    const healed = context.healing(answer);
    if (healed.kind !== "misconfigured") watch?.onNoResponse(healed);
  };
  const onNoAnswer = (answer: NoAnswer): void => {
    tell(answer);
    settings.onNoResponse?.(answer);
  };
  const how = { backoff, signal, onMisconfigured, onNoAnswer };
  const ask = () => attempt(tell);
  const retried = await retry(context, ask, how).finally(() => watch?.dispose());
  if (retried.kind !== "answered" || isLost(retried.answer)) throw lossOf(hold);
  return retried.answer as Exclude<A, Lost | Unanswered>;
}

function isLost(answer: { readonly kind: string }): answer is Lost {
  return answer.kind === "lost";
}

/** Returns the error for a use of an ended lease. */
export function lossOf(hold: Hold): HoldfastError {
  return (
    hold.loss ??
    new HoldfastError(
      "lost",
      `${titleOf([hold.ref.name], hold.ref.kind)} is no longer held: this holder has released it.`,
      {
        lockName: hold.ref.name,
      },
    )
  );
}

/** Options of `Lease.release`. */
export interface ReleaseOptions {
  readonly keepData?: boolean | undefined;
}

export const RELEASE_NAMES: OptionNames<ReleaseOptions> = { keepData: "flag" };

/** Gives up an ended hold. Calls `onNoAnswer` as {@link giveUpLease} does. */
export async function release(
  hold: Hold,
  keepData: boolean,
  lastData: unknown,
  onNoAnswer: Parameters<typeof giveUpLease>[3]["onNoAnswer"],
): Promise<void> {
  const { context, ref, localQueue, held, leaseMs, living } = hold;
  // Also in a shielded section, which delays only the abort of the signal.
  const isForAsker = hold.requested.wantedByOthers?.kind === "interrupt";
  const isForOthers = isForAsker || hold.kept?.isOver === true;
  const former = {
    held,
    leaseMs,
    keepData,
    lastData,
    life: living.life,
    isForOthers,
    onNoAnswer,
  };
  const loss = await giveUpLease(context, ref, localQueue, former).finally(() =>
    context.releasing.delete(hold),
  );
  if (loss !== undefined) hold.lostBeforeRelease(loss);
}

const STAYS_IN_TABLE: readonly LossReason[] = [
  "expired",
  "interrupted",
  "session-ended",
  "held-too-long",
  "released-by-force",
  "lost-with-another",
];

/**
 * Frees the record of an expired lease, or of a lease that an operator or the loss of another lock ended, so that waiters
 * need not watch the record to the end. No guarantee depends on it. An expired record is free soon without it, so one
 * request is enough. In the other cases nobody may take the record before its end, or it has data that this holder must replace:
 * the request is sent again, for at most twice the request timeout.
 */
export async function freeEarly(hold: Hold, keepData: boolean): Promise<void> {
  const reason = hold.loss?.reason;
  if (reason === undefined || !STAYS_IN_TABLE.includes(reason)) return;
  const { context, ref, held } = hold;
  const lastData = hold.userData.leftAtClose;
  const free = async () =>
    context.healing(await freeOnce(context, ref, { known: held }, { keepData, lastData }));
  await hold.requests.run(async () => {
    if (!RESERVED_AFTER_LOSS.includes(reason) && lastData === undefined) return void (await free());
    const untilMs = context.nowMs() + 2 * context.settings.requestTimeoutMs;
    await retry(context, free, {
      backoff: context.patient(steady(RELEASE_RETRY_MS)),
      isOver: () => context.nowMs() >= untilMs,
      onMisconfigured: "end",
    });
  });
}
