import { HoldfastError } from "../../errors.js";
import type { Duration } from "../../internal/duration.js";
import { instantOf } from "../../platform/clock.js";
import type { NumberedData } from "../record/format.js";
import type { FormatTypes, NativeTypes } from "../record/format-types.js";
import type { HeldRecord } from "../record/record.js";
import type { Hold } from "./hold.js";
import type { KeepAlive } from "./keep-alive.js";
import type { HoldAnswer } from "./write-answers.js";

/**
 * The writes that a holder asks for by hand. Each goes on, with pauses, until it is answered, or the
 * lease is lost; it then rejects with the loss, and nobody can say whether it was applied.
 */

/** What a renewal by hand may ask for. */
export interface RenewOptions<S extends FormatTypes = NativeTypes> {
  /** User data to store in the same request. */
  readonly data?: S["data"] | undefined;
  /** Another length of the lease from now on; at least two renewals. */
  readonly lease?: Duration | undefined;
}

/** A renewal, now. Resolves once one was answered. */
export async function renewNow(hold: Hold): Promise<void> {
  for (;;) {
    if (hold.living.isMoved) return renewLife(hold);
    const answer = await hold.renewOnce();
    if (answer === "renewed" || (answer === "held" && !hold.living.isMoved)) return;
    if (answer === "lost") throw lossOf(hold);
    await pause(hold);
  }
}

// One renewal answers for all that live by the same; its loss is theirs.
async function renewLife(hold: Hold): Promise<void> {
  await hold.living.life?.renewNow().catch(() => undefined);
  if (!hold.isHeld) throw lossOf(hold);
}

/** A renewal that carries user data; sent again it is the same request, with the same number. */
export async function renewWithData(hold: Hold, data: NumberedData): Promise<void> {
  if (hold.context.format.updateData === undefined) return changeLength(hold, hold.leaseMs, data);
  if (await renewWithDataByItself(hold, data)) return;
  await writeData(hold, data);
  await renewLife(hold);
}

function renewWithDataByItself(hold: Hold, data: NumberedData): Promise<boolean> {
  return hold.requests.run(async () => {
    if (hold.living.isMoved) return false;
    const start = instantOf(hold.context.clock);
    const renewal = hold.renewal(hold.leaseMs, data);
    const record = await untilAnswered(hold, () =>
      hold.send({
        write: hold.context.format.renew(hold.ref, hold.held, renewal),
        // Not by its mark: a renewal that landed later has changed that.
        isIn: (found) => found.dataSeq === data.seq,
      }),
    );
    hold.renewed(start, hold.leaseMs, record);
    return true;
  });
}

/** User data; alone, it moves no deadline, but some formats write them with a renewal only. */
export async function writeData(hold: Hold, data: NumberedData): Promise<void> {
  const { format } = hold.context;
  const write = format.updateData?.(hold.ref, hold.held, data);
  if (write === undefined) return changeLength(hold, hold.leaseMs, data);
  await untilAnswered(hold, () =>
    hold.requests.run(() =>
      hold.send({
        write,
        isIn: (found) => found.dataSeq === data.seq,
      }),
    ),
  );
}

/**
 * Another length of the lease. It changes what rivals judge the holder by, so it is applied once or
 * never: its condition names the exact version, and until it is answered the deadline is the earlier
 * of the two (R5).
 */
export function changeLength(hold: Hold, leaseMs: number, data?: NumberedData): Promise<void> {
  const { format, clock } = hold.context;
  return hold.requests.run(async () => {
    if (hold.living.isMoved) throw lengthIsTheSessions(hold);
    // Counted from the first send of all: any of these writes may be the one that was applied.
    const start = instantOf(clock);
    for (;;) {
      const renewal = hold.renewal(leaseMs, data);
      const write = format.changeLength(hold.ref, hold.held, renewal);
      hold.living.mayBe(hold.deadlineFrom(start, leaseMs));
      const answer = await untilDecided(hold, () =>
        hold.send({
          write,
          isIn: (found) => found.mark === renewal.mark || found.dataSeq === data?.seq,
        }),
      );
      if (answer.kind === "applied") return hold.renewed(start, leaseMs, answer.record);
      // Refused, and still mine: the version had moved on, so this write can never be applied now.
      hold.version = answer.record.version;
      await pause(hold);
    }
  });
}

/**
 * The record lives by something else from now on. Applied once or never, as another length is (R5), and
 * until it is answered the deadline is the earlier of the two. Sends nothing if that has ended, or the
 * lease was given a length that it does not take, before the move's turn came: the lease then goes on by
 * itself. Rejects with the loss of the lease.
 */
export function moveTo(hold: Hold, life: KeepAlive<Hold>, session: string): Promise<void> {
  const { format } = hold.context;
  return hold.requests.run(async () => {
    for (;;) {
      if (!hold.isHeld) throw lossOf(hold);
      if (hold.settings.keptAliveBy?.current(hold.leaseMs) !== life) return;
      const renewal = hold.renewal(life.leaseMs);
      const write = format.moveToSession(hold.ref, hold.held, renewal, session);
      hold.living.mayMoveTo(life);
      const isIn = (found: HeldRecord): boolean => found.mark === renewal.mark;
      const answer = await untilMoved(hold, () => hold.send({ write, isIn }));
      if (answer.kind === "applied") return hold.moved(answer.record);
      hold.version = answer.record.version;
      await pause(hold);
    }
  });
}

// A wrong configuration can be put right before the deadline, as for a renewal.
async function untilMoved(hold: Hold, send: () => Promise<HoldAnswer>): Promise<Decided> {
  for (;;) {
    const answer = await send();
    if ("record" in answer) return answer;
    if (!hold.isHeld) throw lossOf(hold);
    await pause(hold);
  }
}

function lengthIsTheSessions(hold: Hold): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `Lock "${hold.ref.name}" lives by a session, whose length of ${hold.leaseMs} ms is fixed. Give the ` +
      "session another `lease`, or acquire the lock without a session.",
    { lockName: hold.ref.name },
  );
}

type Decided = Extract<HoldAnswer, { readonly record: HeldRecord }>;

async function untilDecided(hold: Hold, send: () => Promise<HoldAnswer>): Promise<Decided> {
  for (;;) {
    const answer = await send();
    if ("record" in answer) return answer;
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "lost") throw lossOf(hold);
    await pause(hold);
  }
}

async function untilAnswered(hold: Hold, send: () => Promise<HoldAnswer>): Promise<HeldRecord> {
  const answer = await untilDecided(hold, send);
  if (answer.kind === "applied") return answer.record;
  throw new HoldfastError(
    "outcome-unknown",
    `A write under lock "${hold.ref.name}" was refused although the lock is still held; ` +
      "another program may write to its record. Read it back with inspect().",
    { lockName: hold.ref.name },
  );
}

function pause(hold: Hold): Promise<void> {
  return hold.context.sleep(hold.retryPauseMs(), hold.lossSignal.signal);
}

/** The error for whoever asks something of a lease that has ended. */
export function lossOf(hold: Hold): HoldfastError {
  return (
    hold.loss ??
    new HoldfastError("lost", `Lock "${hold.ref.name}" was released by this holder.`, {
      lockName: hold.ref.name,
    })
  );
}
