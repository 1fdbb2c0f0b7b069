import { HoldfastError } from "../errors.js";
import { instantOf } from "../platform/clock.js";
import type { NumberedData } from "./format.js";
import type { Hold, HoldAnswer } from "./hold.js";
import type { HeldRecord } from "./record.js";

/**
 * The writes that a holder asks for by hand. Each goes on, with pauses, until it is answered, or the
 * lease is lost; it then rejects with the loss, and nobody can say whether it was applied.
 */

/** A renewal, now. Resolves once one was answered. */
export async function renewNow(hold: Hold): Promise<void> {
  for (;;) {
    const answer = await hold.renewOnce();
    if (answer === "renewed" || answer === "held") return;
    if (answer === "lost") throw lossOf(hold);
    await pause(hold);
  }
}

/** A renewal that carries user data; sent again it is the same request, with the same number. */
export function renewWithData(hold: Hold, data: NumberedData): Promise<void> {
  return hold.requests.run(async () => {
    const start = instantOf(hold.kernel.clock);
    const renewal = hold.renewal(hold.leaseMs, data);
    const record = await untilAnswered(hold, () =>
      hold.send({
        write: hold.kernel.format.renew(hold.ref, hold.held, renewal),
        // The number is in this one request only: a renewal that landed later has changed the mark.
        isIn: (found) => found.mark === renewal.mark || found.dataSeq === data.seq,
      }),
    );
    hold.renewed(start, hold.leaseMs, record);
  });
}

/** User data alone: moves no deadline. */
export async function writeData(hold: Hold, data: NumberedData): Promise<void> {
  await untilAnswered(hold, () =>
    hold.requests.run(() =>
      hold.send({
        write: hold.kernel.format.updateData(hold.ref, hold.held, data),
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
  const { format, clock } = hold.kernel;
  return hold.requests.run(async () => {
    // Counted from the first send of all: any of these writes may be the one that was applied.
    const start = instantOf(clock);
    for (;;) {
      const renewal = hold.renewal(leaseMs, data);
      const write = format.changeLength(hold.ref, hold.held, hold.version, renewal);
      hold.deadline = hold.deadline.earlier(hold.deadlineFrom(start, leaseMs));
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

type Decided = Extract<HoldAnswer, { readonly record: HeldRecord }>;

async function untilDecided(hold: Hold, send: () => Promise<HoldAnswer>): Promise<Decided> {
  for (;;) {
    if (!hold.isHeld) throw lossOf(hold);
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
  return hold.kernel.sleep(hold.retryPauseMs(), hold.lossSignal.signal);
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
