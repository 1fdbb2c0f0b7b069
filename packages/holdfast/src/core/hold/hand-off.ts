import type { LossReason } from "../../errors.js";
import type { NoAnswer } from "../../platform/retry.js";
import { mayBeApplied, type WriteAnswer } from "../../platform/table.js";
import type { Held, Holders } from "../record/format.js";
import type { Found } from "../record/record.js";
import { lossIn } from "./loss.js";

/**
 * What a release does next. `handing-off`: offers the lock to the next waiter of this process. `granted`: lets the
 * waiter of the acknowledged hand-off accept the lock. `freeing`: frees the record. The other phases end the release.
 * `handed-off`: a waiter accepted the lock. `released`: no write is left to send. `data-unknown`: the same, but
 * DynamoDB did not acknowledge the user data of the last write.
 */
type Phase = "handing-off" | "granted" | "freeing" | "handed-off" | "released" | "data-unknown";

/** The state of one release. Each function below returns the next state from a state and an answer. Pure. */
export interface Handoff {
  readonly phase: Phase;
  /** The lease that the release gives up. */
  readonly former: Held;
  /** The holder in the record after the last acknowledged write. */
  readonly known: Held;
  /** Holders of later, unacknowledged hand-offs; the record may name any such holder. */
  readonly maybe: readonly string[];
  /** Holders of all hand-offs without an accepting waiter. */
  readonly withdrawn: readonly string[];
  /** The latest end, on the monotonic clock, of a lease that this release may have left in the record. */
  readonly untilMs: number;
  /** Whether DynamoDB may have applied an earlier write of this release. */
  readonly mayHaveWritten: boolean;
  /** The reason of an earlier loss, if an answer showed a loss. */
  readonly loss: LossReason | undefined;
}

/** Returns the state before the first request. */
export function begun(former: Held, untilMs: number): Handoff {
  return {
    phase: "handing-off",
    former,
    known: former,
    maybe: [],
    withdrawn: [],
    untilMs,
    mayHaveWritten: false,
    loss: undefined,
  };
}

/** No waiter of this process can have the lock. */
export function withoutWaiter(state: Handoff): Handoff {
  return { ...state, phase: "freeing" };
}

/** The release is about to send a hand-off with a lease until `untilMs`. */
export function handingOff(state: Handoff, untilMs: number): Handoff {
  return { ...state, untilMs: Math.max(state.untilMs, untilMs) };
}

/** Notes a send that DynamoDB did not acknowledge. DynamoDB never applies a send that it declined. */
export function unacknowledged(state: Handoff, { kind }: NoAnswer): Handoff {
  return kind === "unknown" ? { ...state, mayHaveWritten: true } : state;
}

/** DynamoDB answered the hand-off to `holder`, and showed the record as `found`. */
export function handOffAnswered(
  state: Handoff,
  holder: string,
  answer: WriteAnswer,
  found: Found,
): Handoff {
  // A refusal proves the hand-off only if DynamoDB may have applied an earlier send of this release.
  const mayBeOwn = mayBeApplied(answer) || state.mayHaveWritten;
  // A refusal with another holder also proves that DynamoDB can apply no earlier write of this process.
  if (!mayBeOwn || found.state !== "held" || found.holder !== holder)
    return isQueued(state, found) ? state : refused(state, answer, found);
  const known = { holder, fence: found.fence };
  return { ...state, phase: "granted", known, maybe: [], mayHaveWritten: true };
}

// The record still has a holder of this release, so DynamoDB refused the hand-off for the waiters in the queue.
function isQueued({ known, maybe }: Handoff, found: Found): boolean {
  if (found.state !== "held") return false;
  return known.holder === found.holder || maybe.includes(found.holder);
}

/** The waiter accepted the lock. */
export function accepted(state: Handoff): Handoff {
  return { ...state, phase: "handed-off" };
}

// The next write names each of them. DynamoDB refuses a condition with more than 300 operators: in the format of the AWS
// lock client, about 50 holders.
const MOST_MAYBE = 20;

/** The waiter gave up, or the hand-off to `holder` came too late or was not acknowledged. */
export function notAccepted(state: Handoff, holder: string, isWaiting: boolean): Handoff {
  const isInRecord = state.known.holder === holder;
  const maybe = isInRecord ? state.maybe : [...state.maybe, holder];
  return {
    ...state,
    phase: isWaiting || maybe.length >= MOST_MAYBE ? "freeing" : "handing-off",
    maybe,
    withdrawn: [...state.withdrawn, holder],
  };
}

/** DynamoDB freed the record. */
export function freed(state: Handoff): Handoff {
  return { ...state, phase: "released" };
}

/** DynamoDB refused to free the record. `leavesData`: whether the same write stores user data. */
export function freeRefused(
  state: Handoff,
  answer: WriteAnswer,
  found: Found,
  leavesData: boolean,
): Handoff {
  const next = refused(state, answer, found);
  if (!leavesData || next.loss !== undefined || isFreedBy(state, found)) return next;
  // An earlier send freed the record and left the data, or the lease expired and no send left the data.
  return { ...next, phase: "data-unknown" };
}

/** Returns the holders for the condition of the next write. */
export function holdersOf(state: Handoff): Holders {
  return { known: state.known, maybe: state.maybe };
}

// Only the refusal of a first send proves an earlier loss of the lease. An earlier send may have freed the record or
// handed off the lock, and other clients may have acquired the lock since.
function refused(state: Handoff, answer: WriteAnswer, found: Found): Handoff {
  const isRepeated = answer.kind === "refused" && answer.isRepeated === true;
  const isOwn = state.mayHaveWritten || isRepeated || isFreedBy(state, found);
  return { ...state, phase: "released", loss: isOwn ? undefined : lossIn(found, state.former) };
}

function isFreedBy({ former }: Handoff, found: Found): boolean {
  return found.state === "free" && found.lastHolder === former.holder;
}
