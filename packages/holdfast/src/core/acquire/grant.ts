import { HoldfastError } from "../../errors.js";
import { type Instant, instantOf } from "../../platform/clock.js";
import { mayBeApplied, type Write, type WriteAnswer } from "../../platform/table.js";
import type { ClaimTurn, Priority } from "../admission.js";
import { type GrantResult, Hold, type HoldQueue } from "../hold/hold.js";
import { rollBack } from "../hold/roll-back.js";
import type { Decision } from "../record/decide.js";
import type { Grant, Held, Holders, RecordRef } from "../record/format.js";
import type { assignFence } from "./assign-fence.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { correctEnd } from "./correct-end.js";
import { GrantRetry, type Silent } from "./grant-retry.js";
import type { AcquireSettings, Granted, RecordAcquisition } from "./settings.js";
import { inTurn } from "./turn.js";
import { longestPauseMs } from "./until-answered.js";

/** The decisions to send a write that may grant. */
export type Granting =
  | Extract<Decision, { readonly kind: "claim" | "take-over" }>
  /** Imports an exported lease. `from` is the id in the transfer, which no process holds under. */
  | { readonly kind: "import"; readonly from: Held };

const REFUSED = { kind: "refused" } as const;

type Answered = Extract<WriteAnswer, { readonly kind: "applied" | "refused" }>;

/** What an answer means. `now`: when it was judged. */
type Verdict =
  | { readonly kind: "granted"; readonly result: GrantResult; readonly now: Instant }
  | { readonly kind: "refused" };

/** The result of one grant. */
export type GrantAnswer =
  | { readonly kind: "granted"; readonly result: GrantResult }
  /** The record was not as the decision assumed. */
  | { readonly kind: "refused" }
  | Silent;

/** Sends a write that may grant, in its turn. */
export function grantOnce(
  acquisition: RecordAcquisition,
  decision: Granting,
  priority?: Priority,
): Promise<GrantAnswer> {
  const attempt = (turn: ClaimTurn) => new GrantWrite(acquisition, decision, turn).run();
  return inTurn(acquisition, attempt, priority);
}

/** Begins the hold of a grant. Without a local queue, no other call of this process waits for it. */
export function grantedTo(
  { context, ref }: Pick<RecordAcquisition, "context" | "ref">,
  result: GrantResult,
  how: Granted["how"],
  localQueue: HoldQueue = context.localQueues.alone(ref.id),
): Granted {
  return { hold: new Hold(context, ref, localQueue, result), record: result.record, how };
}

/**
 * Sends a write that may grant, until DynamoDB answers. The write is never applied twice: its condition names only
 * the state before the write, and an earlier success shows by the id in the item that refuses a retry (R5). If the
 * write ends without a lease, it leaves nothing behind (R14).
 */
export class GrantWrite {
  readonly #acquisition: RecordAcquisition;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #decision: Granting;
  #grant: Grant;
  #write: Write;
  /** The clock correction that the write was composed with. */
  #correctionMs: number;
  readonly #repetition: GrantRetry;
  /** Whether the record names the id of this attempt although DynamoDB did not apply the attempt. */
  #isIdOfAnother = false;

  constructor(acquisition: RecordAcquisition, decision: Granting, turn: ClaimTurn) {
    const { context, ref, settings, cancellation } = acquisition;
    this.#acquisition = acquisition;
    this.#context = context;
    this.#ref = ref;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#decision = decision;
    this.#correctionMs = context.table.clockCorrectionMs;
    this.#repetition = new GrantRetry(acquisition, turn);
    this.#grant = context.grant(ref, settings, this.#repetition.start);
    this.#write = writeOf(this.#context, this.#ref, this.#grant, this.#decision);
  }

  /** Rejects with the error of {@link Cancellation}, of an unreadable record (R12) or of a wrong configuration. */
  async run(): Promise<GrantAnswer> {
    const { signal } = this.#cancellation;
    const repetition = this.#repetition;
    return repetition.run<WriteAnswer, GrantAnswer>({
      send: (timeoutMs) =>
        this.#context.claim(this.#current(), repetition.start, timeoutMs, signal),
      judge: (sent) => {
        const verdict = this.#verdictOn(sent);
        return verdict.kind === "granted" ? this.#settled(verdict) : verdict;
      },
      undo: (isSilent) => {
        // If DynamoDB applies a delayed send later, this client must not take the record for held. An id under which
        // another process holds is not abandoned, since abandoning takes the lock from its holder.
        if (!this.#isIdOfAnother) this.#context.abandon(this.#grant.holder);
        if (repetition.unanswered > 0) this.#giveUp(isSilent);
      },
    });
  }

  /**
   * The write to send now. Composes the write anew if an answer has corrected the clock and no send can have been
   * applied: the dates and the first fence of a first claim come from a clock not yet compared with DynamoDB's.
   */
  #current(): Write {
    const { clockCorrectionMs } = this.#context.table;
    if (this.#repetition.unanswered === 0 && clockCorrectionMs !== this.#correctionMs) {
      this.#correctionMs = clockCorrectionMs;
      this.#grant = {
        ...this.#grant,
        ...this.#context.datesOf(this.#ref, this.#settings.leaseMs),
      };
      this.#write = writeOf(this.#context, this.#ref, this.#grant, this.#decision);
    }
    return this.#write;
  }

  async #settled({
    result,
    now,
  }: Extract<Verdict, { readonly kind: "granted" }>): Promise<GrantAnswer> {
    const { deadline } = this.#repetition;
    const answer = await correctEnd(this.#acquisition, { ...result, deadline }, now);
    if (answer.kind !== "granted") return answer;
    const fenced = await this.#withFence(answer.result);
    if (fenced.kind !== "granted") return fenced;
    // The process may have been paused while it corrected the end or assigned the fence.
    const hasSent = fenced.result.record !== result.record || fenced.result.number !== undefined;
    return hasSent && !this.#repetition.isInTime() ? REFUSED : fenced;
  }

  async #withFence(result: GrantResult): Promise<GrantAnswer> {
    const { fenceCounter } = this.#context.format;
    if (fenceCounter === undefined) return { kind: "granted", result };
    const { leaseMs, retryMs: pauseMs } = this.#settings;
    const { holder } = this.#grant;
    // The seed of the grant may be wrong: the answer to the grant may have been the first to correct the clock.
    const seed = this.#context.fenceSeed(this.#ref);
    const { deadline } = this.#repetition;
    const grant = { holder, seed, leaseMs, pauseMs, deadline };
    const assign = fenceCounter.assign as typeof assignFence;
    const fence = await assign(this.#acquisition, fenceCounter, grant);
    return fence.kind === "assigned"
      ? { kind: "granted", result: { ...result, number: fence.number } }
      : fence;
  }

  #verdictOn(answer: Answered): Verdict {
    const repetition = this.#repetition;
    if (answer.item === undefined && this.#acceptsAbsence()) throw blindTable(this.#ref.name);
    // An applied grant has to be rolled back unless its lease is handed out.
    if (answer.kind === "applied" || answer.isRepeated === true) repetition.countApplied();
    const wasApplied = answer.kind === "applied";
    const record = this.#context.seeRecord(this.#ref, answer, "strong", wasApplied);
    if (record.state !== "held" || record.holder !== this.#grant.holder) return REFUSED;
    // DynamoDB did not apply a refused write with a single send. Two processes restored from one snapshot can draw the
    // same id, and the record then belongs to the second process.
    if (repetition.unanswered === 0 && !mayBeApplied(answer)) {
      this.#isIdOfAnother = true;
      return REFUSED;
    }
    repetition.countFound();
    const now = instantOf(this.#context.clock);
    if (!repetition.isInTime(now)) return REFUSED;
    const { block } = this.#grant;
    const result = { record, start: repetition.start, settings: this.#settings, block };
    return { kind: "granted", result, now };
  }

  // The condition accepts an absent item. So if a refusal has no item, the table did not return the item found.
  #acceptsAbsence(): boolean {
    const decision = this.#decision;
    return decision.kind === "claim" && ["blind", "absent"].includes(decision.onto.kind);
  }

  #giveUp(isSilent: boolean): void {
    const { leaseMs, retryMs: pauseMs, keepData, existingData } = this.#settings;
    rollBack(this.#context, this.#ref, {
      attempt: this.#grant.holder,
      leaseMs,
      replaced: replacedBy(this.#decision),
      sends: this.#repetition.unanswered,
      pauseMs,
      keepData: keepData || existingData === "keep",
      attributes: this.#grant.attributes,
      silencePauseMs: isSilent ? longestPauseMs(this.#settings, pauseMs) : undefined,
    });
  }
}

/** Composes the write of a decision. */
export function writeOf(
  { format }: AcquireContext,
  ref: RecordRef,
  grant: Grant,
  decision: Granting,
): Write {
  switch (decision.kind) {
    case "claim":
      return format.lease.claim(ref, grant, decision.onto);
    case "take-over":
      return format.lease.takeOver(ref, grant, decision);
    case "import": {
      // The lock goes from the exporter to the importer, past the queue.
      const barging: Grant = { ...grant, passage: { kind: "barge" } };
      return format.lease.handOver(ref, barging, { known: decision.from });
    }
  }
}

/** Returns the holder that a grant would have replaced, or undefined if the grant is a claim. */
export function replacedBy(decision: Granting): Holders | undefined {
  if (decision.kind === "claim") return undefined;
  return decision.kind === "import" ? { known: decision.from } : { watched: decision };
}

/**
 * Returns the error for a table whose refusals do not contain the item found. After a lost answer, the waiter could not
 * recognise its own grant, and would try again for ever.
 */
export function blindTable(name: string): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `DynamoDB refused the claim of lock "${name}", and its answer does not contain the record. Use ` +
      "@aws-sdk/client-dynamodb 3.363.0 or later, and a server that supports the option " +
      "ReturnValuesOnConditionCheckFailure.",
    { lockName: name },
  );
}
