import { HoldfastError } from "../../errors.js";
import { mayBeApplied, type Write, type WriteAnswer } from "../../platform/table.js";
import type { GrantResult } from "../hold/hold.js";
import { rollBack } from "../hold/rollback.js";
import type { Decision } from "../record/decide.js";
import type { Grant, Held, Holders, RecordRef } from "../record/format.js";
import { assignFence } from "./assign-fence.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { GrantRetry } from "./grant-retry.js";
import type { AcquireSettings } from "./settings.js";

/** The decisions that send a write which may grant. */
export type Granting =
  | Extract<Decision, { readonly kind: "claim" | "take over" }>
  /** Of what was exported to whoever knows this holder, which nobody is. */
  | { readonly kind: "import"; readonly from: Held };

type Told = Extract<WriteAnswer, { readonly kind: "applied" | "refused" }>;

/** `refused`: the record is not as decided upon. `silent`: nobody answered in useful time. */
export type GrantAnswer = GrantResult | "refused" | "silent";

/**
 * One write that may grant, sent again until it is answered. It is never applied twice: its condition
 * names only the state before it, and its own success is recognised by its id in the item that refuses
 * the repetition (R5). Whatever way it ends without a lease, nothing of it stays behind (R14).
 */
export class GrantWrite {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #decision: Granting;
  #grant: Grant;
  #write: Write;
  /** The correction of the clock with which the write was composed. */
  #correctionMs: number;
  readonly #repetition: GrantRetry;
  /** Whether the record names this attempt's id though nothing of the attempt was applied. */
  #isIdOfAnother = false;

  constructor(
    context: AcquireContext,
    ref: RecordRef,
    settings: AcquireSettings,
    cancellation: Cancelling,
    decision: Granting,
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#decision = decision;
    this.#correctionMs = context.table.clockCorrectionMs;
    this.#grant = context.grant(ref, settings);
    this.#write = this.#compose();
    this.#repetition = new GrantRetry(context, settings, cancellation);
  }

  /** Rejects with the error of {@link Cancellation}, R12's errors, or a wrong configuration's. */
  async run(): Promise<GrantAnswer> {
    let answer: GrantAnswer | undefined;
    try {
      const answered = await this.#repetition.run((timeoutMs) =>
        this.#context.write(this.#current(), timeoutMs, this.#cancellation.signal),
      );
      const begun = answered === "silent" ? answered : this.#verdictOn(answered);
      answer = typeof begun === "object" ? await this.#numbered(begun) : begun;
      return answer;
    } finally {
      if (typeof answer !== "object") {
        // Refused for good or not: should a copy of it ever land, nobody believes in it. Not so where
        // another process holds under this id: it must not be taken from its holder.
        if (!this.#isIdOfAnother) this.#context.abandon(this.#grant.holder);
        if (this.#repetition.unanswered > 0) this.#giveUp();
      }
    }
  }

  /**
   * The write, composed anew where nothing of it can have been applied and an answer has corrected the clock since:
   * a first claim is signed, and its fence starts, by a clock that no answer has been compared with yet.
   */
  #current(): Write {
    const { clockCorrectionMs } = this.#context.table;
    if (this.#repetition.unanswered === 0 && clockCorrectionMs !== this.#correctionMs) {
      this.#correctionMs = clockCorrectionMs;
      this.#grant = { ...this.#grant, ...this.#context.datesOf(this.#ref) };
      this.#write = this.#compose();
    }
    return this.#write;
  }

  async #numbered(begun: GrantResult): Promise<GrantAnswer> {
    const { counter } = this.#context.format;
    if (counter === undefined) return begun;
    const { leaseMs, minPollMs: pauseMs } = this.#settings;
    const { holder } = this.#grant;
    // Not the grant's own: its answer may have been the first to correct the clock.
    const seed = this.#context.fenceSeed(this.#ref);
    const { deadline } = this.#repetition;
    const grant = { holder, seed, leaseMs, pauseMs, deadline };
    const number = await assignFence(this.#context, this.#ref, counter, grant, this.#cancellation);
    return typeof number === "bigint" ? { ...begun, number } : number;
  }

  #verdictOn(answer: Told): GrantResult | "refused" {
    const repetition = this.#repetition;
    if (answer.item === undefined && this.#acceptsAbsence()) throw blindTable(this.#ref.name);
    // What was applied and is not handed out, for whatever reason below, has to be undone.
    if (answer.kind === "applied" || answer.isRepeated === true) repetition.unanswered += 1;
    const wasApplied = answer.kind === "applied";
    const record = this.#context.seeRecord(this.#ref, answer.item, "strong", wasApplied);
    if (record.state !== "held" || record.holder !== this.#grant.holder) return "refused";
    // Sent once and answered, a refused write was not applied: two processes restored from one snapshot
    // can draw the same id, and the other one was granted.
    if (repetition.unanswered === 0 && !mayBeApplied(answer)) {
      this.#isIdOfAnother = true;
      return "refused";
    }
    repetition.unanswered = Math.max(repetition.unanswered, 1);
    if (!repetition.isInTime()) return "refused";
    return { record, start: repetition.start, settings: this.#settings };
  }

  // Refused, although it would have been applied where nothing is: so something is, and was not shown.
  #acceptsAbsence(): boolean {
    const decision = this.#decision;
    return decision.kind === "claim" && ["blind", "absent"].includes(decision.onto.kind);
  }

  #compose(): Write {
    const { format } = this.#context;
    const decision = this.#decision;
    switch (decision.kind) {
      case "claim":
        return format.claim(this.#ref, this.#grant, decision.onto);
      case "take over":
        return format.takeOver(this.#ref, this.#grant, decision);
      case "import":
        return format.handOver(this.#ref, this.#grant, { known: decision.from });
    }
  }

  #giveUp(): void {
    rollBack(this.#context, this.#ref, {
      attempt: this.#grant.holder,
      leaseMs: this.#settings.leaseMs,
      replaced: replacedBy(this.#decision),
      sends: this.#repetition.unanswered,
      minPollMs: this.#settings.minPollMs,
    });
  }
}

/** What a grant would have replaced; undefined for a claim. */
export function replacedBy(decision: Granting): Holders | undefined {
  if (decision.kind === "claim") return undefined;
  return decision.kind === "import" ? { known: decision.from } : { watched: decision };
}

/**
 * The error for a table whose refusals do not show what they found: every own success whose answer was
 * lost would look like contention, and waiting would spin.
 */
export function blindTable(name: string): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `The claim of lock "${name}" was refused, and the answer does not show the record. Answers must carry ` +
      "it (ReturnValuesOnConditionCheckFailure): use @aws-sdk/client-dynamodb 3.363.0 or later, and a " +
      "server that knows it.",
    { lockName: name },
  );
}
