import { Abort, onAbort, type SignalLike } from "../../platform/abort.js";
import type { Timer } from "../../platform/timers.js";
import { ClaimTurn, type Priority } from "../admission.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import type { Acquisition } from "./settings.js";

/**
 * Runs an attempt to get a grant when the client may send it. The attempt must read the clocks and compose its write
 * only then, because the lease counts from the send. Rejects with the error of the cancellation if it ends first.
 */
export async function inTurn<A>(
  { context, settings, cancellation }: Acquisition,
  attempt: (turn: ClaimTurn) => Promise<A>,
  priority: Priority = "claim",
): Promise<A> {
  const turn = new ClaimTurn(context.admission, priority);
  try {
    if (!turn.tryEnter()) await waitFor(context, settings.waitMs, cancellation, turn);
    return await attempt(turn);
  } finally {
    turn.leave();
  }
}

// The default wait of a lock.
const LONGEST_TURN_MS = 60_000;

async function waitFor(
  context: AcquireContext,
  waitMs: number,
  cancellation: Cancelling,
  turn: ClaimTurn,
): Promise<void> {
  const fromMs = context.nowMs();
  if (waitMs > 0) await turn.enter(cancellation.signal);
  else await enterUnlessSilent(context, cancellation.signal, turn, fromMs);
  if (turn.isIn && !cancellation.isStopped) return;
  cancellation.onNoResponse(context.whyQueued(fromMs));
  throw cancellation.error();
}

/**
 * Waits for the turn of a call without a wait. The call makes its one attempt, however many requests are before it,
 * unless the table answers nothing for a whole request timeout, or the renewals of this client need all connections.
 */
async function enterUnlessSilent(
  context: AcquireContext,
  signal: SignalLike,
  turn: ClaimTurn,
  fromMs: number,
): Promise<void> {
  const over = new Abort();
  const end = (): void => over.abort();
  const stopListening = onAbort(signal, end);
  let timer: Timer | undefined;
  const watch = (): void => {
    timer = context.timers.set(context.settings.requestTimeoutMs, true, () => {
      const isLong = context.nowMs() - fromMs >= LONGEST_TURN_MS;
      if (isLong || context.whyQueued(fromMs).kind === "unknown") end();
      else watch();
    });
  };
  watch();
  await turn.enter(over);
  timer?.cancel();
  stopListening();
}
