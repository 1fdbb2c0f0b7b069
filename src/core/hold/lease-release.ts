import type { LossReason } from "../../errors.js";
import type { Hold } from "./hold.js";
import { freeOnce, giveUpLease } from "./release.js";

/** What a release may ask for. */
export interface ReleaseOptions {
  /** Whether the user data stays in the record. Default: as asked at acquire, else false. */
  readonly keepData?: boolean | undefined;
}

/** Gives up what a handle held, once it has ended in this process. */
export async function release(hold: Hold, keepData: boolean, lastData: unknown): Promise<void> {
  const { context, ref, localQueue, held, leaseMs, living } = hold;
  const former = { held, leaseMs, keepData, lastData, life: living.life };
  const loss = await giveUpLease(context, ref, localQueue, former);
  if (loss !== undefined) hold.lostBeforeRelease(loss);
}

const IS_LEFT_IN_TABLE: readonly LossReason[] = [
  "expired",
  "session-ended",
  "released-by-force",
  "lost-with-another",
];

/**
 * A lease that ran out, or was told to end, is still in the table: freeing it spares rivals the rest of
 * their watch. One try: nothing depends on it.
 */
export async function freeEarly(hold: Hold, keepData: boolean): Promise<void> {
  const reason = hold.loss?.reason;
  if (reason === undefined || !IS_LEFT_IN_TABLE.includes(reason)) return;
  await hold.requests.run(() => freeOnce(hold.context, hold.ref, { known: hold.held }, keepData));
}
