import type { HoldfastError } from "holdfast";
import {
  AGAIN,
  type Again,
  type Call,
  type NoAnswer,
  type ObjectHead,
  type StoreAnswer,
} from "holdfast/internal";
import {
  type CommitContext,
  callBeyond,
  callWithin,
  type Limit,
  Pauses,
  retryWithin,
} from "./context.js";
import { type AfterLook, afterAnswer, afterLook, isMet, type SentState } from "./decide.js";
import { unmet } from "./errors.js";
import type { CommitTarget } from "./format.js";

/** One write of an object: a put, a copy or a delete. */
export interface ObjectWrite {
  readonly target: CommitTarget;
  readonly commitId: string;
  /** False for a body that can be sent only once. */
  readonly canRepeat: boolean;
  send(withConditions: boolean, call: Call): Promise<StoreAnswer>;
  /**
   * Whether the object, as found after an unanswered send, is the result of this write. `isOnlyWriter`: when the object
   * was read, no other writer could have changed it.
   */
  isDone(found: ObjectHead | undefined, isOnlyWriter: boolean): boolean;
  /** Explains that the outcome is unknown. */
  inDoubt(cause: unknown): HoldfastError;
  /** Explains an answer that leaves the object unchanged, if a retry would not help. */
  explain?(answer: "refused" | "absent"): HoldfastError;
}

/** The result of a write. */
export interface Settled {
  readonly outcome:
    | { readonly kind: "committed"; readonly etag: string }
    /** Not applied, for this reason. */
    | { readonly kind: "failed"; readonly error: HoldfastError }
    /**
     * Not applied within the limit: nothing was sent, or every send was declined. `trouble`: of the last request; undefined
     * if the limit was over before one.
     */
    | { readonly kind: "spent"; readonly trouble: NoAnswer | undefined }
    | { readonly kind: "unknown"; readonly cause: unknown };
  /** No send of this write can still be applied. */
  readonly isQuiet: boolean;
  /** A send was made, so a body that can be read only once is gone. */
  readonly wasSent: boolean;
}

/** The way to send a write. */
interface SendingHow {
  /** The write carries the store's conditions. */
  readonly withConditions: boolean;
  /** The store's conditions are reliable: the write may be retried after an unanswered send. */
  readonly mayRepeatUnsure: boolean;
  /** The limit is that of a record: within it, no other writer changes the object. */
  readonly isUnderRecord: boolean;
}

type Outcome = Settled["outcome"];

/** The result of an attempt: the outcome, or undefined to send the write again. */
interface Known<O extends Outcome | undefined> {
  readonly kind: "known";
  readonly outcome: O;
}

/**
 * Sends one write until the outcome is known, or the limit is over.
 *
 * Unless the store's conditions decide, an unanswered send is never repeated: if the first send were applied late, it
 * would undo every write in between. Costs one request, if answered; a HEAD for each inconclusive answer.
 */
export class Settling {
  readonly #context: CommitContext;
  readonly #write: ObjectWrite;
  readonly #how: SendingHow;
  readonly #limit: Limit;
  readonly #pauses: Pauses;
  #sent = 0;
  #unanswered = 0;
  #trouble: NoAnswer | undefined;

  constructor(context: CommitContext, write: ObjectWrite, how: SendingHow, limit: Limit) {
    this.#context = context;
    this.#write = write;
    this.#how = how;
    this.#limit = limit;
    this.#pauses = new Pauses(context, limit);
  }

  async run(): Promise<Settled> {
    if (this.#limit.remainingMs() <= 0) return this.#settled(await this.#atTheEnd());
    const outcome = await this.#untilKnown(async () => {
      const known = await this.#judge(await this.#send());
      return known === undefined ? AGAIN : { kind: "known", outcome: known };
    });
    return this.#settled(outcome);
  }

  /** Retries until the next step is known, or the limit is over. The pauses keep growing. */
  async #untilKnown<O extends Outcome | undefined>(
    attempt: () => Promise<Known<O> | Again>,
  ): Promise<O | Outcome> {
    const { backoff } = this.#pauses;
    const retried = await retryWithin(this.#context, this.#limit, attempt, { backoff });
    return retried.kind === "answered" ? retried.answer.outcome : this.#atTheEnd();
  }

  get #state(): SentState {
    return {
      isUnsure: this.#unanswered > 0,
      mayRepeatUnsure: this.#how.mayRepeatUnsure,
      canRepeat: this.#write.canRepeat,
    };
  }

  async #send(): Promise<StoreAnswer> {
    const call = callWithin(this.#limit, this.#context.settings.transferTimeoutMs);
    this.#sent += 1;
    const answer = await this.#write.send(this.#how.withConditions, call);
    if (answer.kind === "refused") this.#trouble = { kind: "throttled", cause: answer.cause };
    else if ("cause" in answer) this.#trouble = answer;
    const isRepeated = answer.kind === "refused" && answer.isRepeated === true;
    if (answer.kind === "unknown" || isRepeated) this.#unanswered += 1;
    return answer;
  }

  /** Returns the outcome after an answer. Undefined: send the write again. */
  async #judge(answer: StoreAnswer): Promise<Outcome | undefined> {
    const next = afterAnswer(answer.kind, this.#state);
    if (next === "again") return undefined;
    if (next === "committed" && answer.kind === "stored") {
      return { kind: "committed", etag: answer.etag };
    }
    if (next === "failed") {
      return answer.kind === "misconfigured"
        ? { kind: "failed", error: answer.error }
        : { kind: "spent", trouble: this.#trouble };
    }
    return this.#readUntilKnown(answer);
  }

  /** Reads the object until the outcome is known, or the write must be sent again. */
  #readUntilKnown(answer: StoreAnswer): Promise<Outcome | undefined> {
    const { target } = this.#write;
    const { objects, settings } = this.#context;
    return this.#untilKnown(async (): Promise<Known<Outcome | undefined> | Again> => {
      const call = callWithin(this.#limit, settings.requestTimeoutMs);
      const read = await objects.head(target.key, call);
      if (read.kind === "misconfigured") {
        // A refused read says nothing about an unanswered send. Expired credentials may be replaced within the limit.
        this.#trouble = { kind: "unknown", cause: read.error };
        if (this.#unanswered > 0) return AGAIN;
        return { kind: "known", outcome: { kind: "failed", error: read.error } };
      }
      if (read.kind !== "found" && read.kind !== "absent") {
        this.#trouble = read;
        return AGAIN;
      }
      const head = read.kind === "found" ? read.head : undefined;
      const verdict = this.#verdictOf(head);
      if (verdict === "wait") return AGAIN;
      return { kind: "known", outcome: this.#outcomeOf(verdict, head, answer) };
    });
  }

  #verdictOf(found: ObjectHead | undefined): AfterLook {
    const { target } = this.#write;
    return afterLook(this.#isMine(found), isMet(target, found), this.#state);
  }

  /** Whether the object, as read just now, shows that a send without an answer was applied. */
  #isMine(found: ObjectHead | undefined): boolean {
    return this.#unanswered > 0 && this.#write.isDone(found, this.#isOnlyWriter);
  }

  /** Asked after a read: in a pause of this process, another writer may have taken the record. */
  get #isOnlyWriter(): boolean {
    return this.#how.isUnderRecord && this.#limit.remainingMs() > 0;
  }

  #outcomeOf(
    verdict: AfterLook,
    found: ObjectHead | undefined,
    answer: StoreAnswer | undefined,
  ): Outcome | undefined {
    const { target, explain } = this.#write;
    if (verdict === "committed") return { kind: "committed", etag: found?.etag ?? "" };
    if (verdict === "unmet") return { kind: "failed", error: unmet(target, found) };
    if (verdict === "unknown") return { kind: "unknown", cause: this.#trouble?.cause };
    const isTold = answer?.kind === "refused" || answer?.kind === "absent";
    if (verdict === "again" && isTold && explain !== undefined) {
      return { kind: "failed", error: explain(answer.kind) };
    }
    return undefined;
  }

  /** At the end of the limit, or after an abort: if a send was unanswered, read the object once more. */
  async #atTheEnd(): Promise<Outcome> {
    if (this.#unanswered === 0) return { kind: "spent", trouble: this.#trouble };
    const { key } = this.#write.target;
    const answer = await this.#context.objects.head(key, callBeyond(this.#context));
    if (answer.kind === "found" || answer.kind === "absent") {
      const found = answer.kind === "found" ? answer.head : undefined;
      if (this.#isMine(found)) return { kind: "committed", etag: found?.etag ?? "" };
    }
    return { kind: "unknown", cause: this.#limit.signal?.reason ?? this.#trouble?.cause };
  }

  #settled(outcome: Outcome): Settled {
    // If the result of the only send was found, the send cannot be applied again later. An object that is gone, without
    // an ETag, may have been deleted by another writer.
    const isFound = outcome.kind === "committed" && (outcome.etag !== "" || this.#isOnlyWriter);
    return { outcome, isQuiet: this.#unanswered <= (isFound ? 1 : 0), wasSent: this.#sent > 0 };
  }
}
