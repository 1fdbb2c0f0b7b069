import type { HoldfastError } from "../errors.js";
import type { CommitTarget } from "../formats/object-commit.js";
import type { ObjectHead, StoreAnswer } from "../platform/s3/objects.js";
import type { Call } from "../platform/table.js";
import { type Around, callBeyond, callWithin, type Limit, Pauses } from "./around.js";
import { type AfterLook, afterAnswer, afterLook, isMet, type SentState } from "./decide.js";
import { unmet } from "./errors.js";
import { look } from "./look.js";

/** One write of an object, whatever it writes. */
export interface ObjectWrite {
  readonly target: CommitTarget;
  readonly commitId: string;
  /** False for a body that is gone once it was sent. */
  readonly canRepeat: boolean;
  send(withConditions: boolean, call: Call): Promise<StoreAnswer>;
  /** Whether the object, as found, is what this write makes. */
  isDone(found: ObjectHead | undefined): boolean;
  /** What an answer means that leaves the object as it was, where sending again would not help. */
  explain?(answer: "refused" | "absent"): HoldfastError;
}

/** What became of a write. */
export interface Settled {
  readonly outcome:
    | { readonly kind: "committed"; readonly etag: string }
    /** Not carried out, for this reason. */
    | { readonly kind: "failed"; readonly error: HoldfastError }
    /** Not carried out until the limit was over: nothing was sent, or everything was declined. */
    | { readonly kind: "spent"; readonly cause: unknown }
    | { readonly kind: "unknown"; readonly cause: unknown };
  /** Nothing of it is on its way any more. */
  readonly isQuiet: boolean;
  /** Something was sent, so that a body that can be read once is gone. */
  readonly wasSent: boolean;
}

/** How a write is sent. */
export interface SendingHow {
  /** It carries the store's conditions. */
  readonly withConditions: boolean;
  /** They can be relied on: it may be sent again after a send that was not answered. */
  readonly mayRepeatUnsure: boolean;
}

type Outcome = Settled["outcome"];

/**
 * Sends one write until it is known what became of it, or the limit is over. Where the store's conditions
 * do not decide, it is never sent again after a send without an answer: a first one that lands late would
 * undo whatever came between. One request, where it is answered; a HEAD for each answer that does not tell.
 */
export class Settling {
  readonly #around: Around;
  readonly #write: ObjectWrite;
  readonly #how: SendingHow;
  readonly #limit: Limit;
  readonly #pauses: Pauses;
  #sent = 0;
  #unanswered = 0;
  #cause: unknown;

  constructor(around: Around, write: ObjectWrite, how: SendingHow, limit: Limit) {
    this.#around = around;
    this.#write = write;
    this.#how = how;
    this.#limit = limit;
    this.#pauses = new Pauses(around, limit);
  }

  async run(): Promise<Settled> {
    while (this.#limit.remainingMs() > 0) {
      const answer = await this.#send();
      const outcome = await this.#judge(answer);
      if (outcome !== undefined) return this.#settled(outcome);
      await this.#pauses.wait();
    }
    return this.#settled(await this.#atTheEnd());
  }

  get #state(): SentState {
    return {
      isUnsure: this.#unanswered > 0,
      mayRepeatUnsure: this.#how.mayRepeatUnsure,
      canRepeat: this.#write.canRepeat,
    };
  }

  async #send(): Promise<StoreAnswer> {
    const call = callWithin(this.#limit, this.#around.settings.transferTimeoutMs);
    this.#sent += 1;
    const answer = await this.#write.send(this.#how.withConditions, call);
    if ("cause" in answer) this.#cause = answer.cause;
    const isRepeated = answer.kind === "refused" && answer.isRepeated === true;
    if (answer.kind === "unknown" || isRepeated) this.#unanswered += 1;
    return answer;
  }

  /** Undefined: to be sent again. */
  async #judge(answer: StoreAnswer): Promise<Outcome | undefined> {
    const next = afterAnswer(answer.kind, this.#state);
    if (next === "again") return undefined;
    if (next === "committed" && answer.kind === "stored") {
      return { kind: "committed", etag: answer.etag };
    }
    if (next === "failed") {
      return answer.kind === "misconfigured"
        ? { kind: "failed", error: answer.error }
        : { kind: "spent", cause: this.#cause };
    }
    return this.#lookUntilTold(answer);
  }

  async #lookUntilTold(answer: StoreAnswer): Promise<Outcome | undefined> {
    for (;;) {
      const looked = await look(this.#around, this.#write.target.key, this.#limit);
      if (looked.kind === "trouble") return this.#atTheEnd();
      const verdict = this.#verdictOf(looked.head);
      const outcome = this.#outcomeOf(verdict, looked.head, answer);
      if (verdict !== "wait") return outcome;
      await this.#pauses.wait();
      if (this.#limit.remainingMs() <= 0) return this.#atTheEnd();
    }
  }

  #verdictOf(found: ObjectHead | undefined): AfterLook {
    const { target } = this.#write;
    return afterLook(this.#write.isDone(found), isMet(target, found), this.#state);
  }

  #outcomeOf(
    verdict: AfterLook,
    found: ObjectHead | undefined,
    answer: StoreAnswer | undefined,
  ): Outcome | undefined {
    const { target, explain } = this.#write;
    if (verdict === "committed") return { kind: "committed", etag: found?.etag ?? "" };
    if (verdict === "unmet") return { kind: "failed", error: unmet(target, found) };
    if (verdict === "unknown") return { kind: "unknown", cause: this.#cause };
    const isTold = answer?.kind === "refused" || answer?.kind === "absent";
    if (verdict === "again" && isTold && explain !== undefined) {
      return { kind: "failed", error: explain(answer.kind) };
    }
    return undefined;
  }

  /** The limit is over, or the caller is gone. One more look is worth it where something was sent. */
  async #atTheEnd(): Promise<Outcome> {
    if (this.#unanswered === 0) return { kind: "spent", cause: this.#cause };
    const { key } = this.#write.target;
    const answer = await this.#around.objects.head(key, callBeyond(this.#around));
    if (answer.kind === "found" && this.#write.isDone(answer.head)) {
      return { kind: "committed", etag: answer.head.etag };
    }
    if (answer.kind === "absent" && this.#write.isDone(undefined)) {
      return { kind: "committed", etag: "" };
    }
    return { kind: "unknown", cause: this.#limit.signal?.reason ?? this.#cause };
  }

  #settled(outcome: Outcome): Settled {
    // What was sent once, and is seen to have landed, is not on its way any more.
    const landed = outcome.kind === "committed" ? 1 : 0;
    return { outcome, isQuiet: this.#unanswered <= landed, wasSent: this.#sent > 0 };
  }
}
