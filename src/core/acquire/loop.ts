import type { ReadAnswer, WriteAnswer } from "../../platform/table.js";
import { Hold, type HoldQueue } from "../hold/hold.js";
import { Pacer } from "../pacer.js";
import type { Decision } from "../record/decide.js";
import type { RecordRef } from "../record/format.js";
import type { Ending } from "../remote-sessions.js";
import { tooSlow } from "../unavailable.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { type Granting, GrantWrite } from "./grant.js";
import type { AcquireSettings, Granted, Place } from "./settings.js";

// What the pause between two looks grows by: from the fastest to the slowest in eight looks.
const POLL_GROWTH = 1.5;
// Of a pause between two looks; so whoever waits alone looks at the session as often as at the record.
const LEAST_JITTER = 0.75;

/**
 * How a contention ends. `not to be had`: not now, or not without a record. `queued`: not without a
 * place in the queue. `not first`, `passed over`: not with the place that it has.
 */
export type AcquireOutcome = Granted | "not to be had" | "queued" | "not first" | "passed over";

/** One acquisition's talk with the table: decide, write, wait, look, decide again. */
export class AcquireLoop {
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #localQueue: HoldQueue;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #place: Place | undefined;
  readonly #pacer: Pacer;
  #pollMs: number;
  #watchedHolder: string | undefined;
  /** Without a wait: why the first attempt was given up that was not answered in useful time. */
  #silence: unknown;
  #silences = 0;
  readonly #fromMs: number;

  constructor(
    context: AcquireContext,
    ref: RecordRef,
    localQueue: HoldQueue,
    settings: AcquireSettings,
    cancellation: Cancelling,
    place?: Place,
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#localQueue = localQueue;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#place = place;
    this.#pacer = new Pacer(context, settings);
    this.#fromMs = context.nowMs();
    this.#pollMs = settings.minPollMs;
  }

  /** Rejects with the error of what stops it, R12's errors, or a wrong configuration's. */
  async run(): Promise<AcquireOutcome> {
    await this.#standBack();
    let decision: Decision = this.#firstDecision();
    for (;;) {
      if (this.#cancellation.isStopped) throw this.#cancellation.error();
      switch (decision.kind) {
        case "missing":
          return "not to be had";
        case "passed over":
          return decision.kind;
        case "wait":
        case "queued":
          this.#context.observations.seeRival(this.#ref.id);
          this.#cancellation.onWait(this.#heldBy);
          if (this.#joins(decision.kind)) return "queued";
          if (this.#settings.waitMs === 0) return "not to be had";
          await this.#wait(decision);
          break;
        case "look at session":
          await this.#lookAtSession(decision.session);
          break;
        case "end session":
          await this.#endSession(decision);
          break;
        default: {
          // Sent again, it would take as long, and end the same way.
          if (this.#silence !== undefined) {
            throw tooSlow([this.#ref.name], this.#settings.leaseMs, this.#silence);
          }
          if ((await this.#place?.isFirst()) === false) return "not first";
          const granted = await this.#attempt(decision);
          if (granted !== undefined) return granted;
        }
      }
      await this.#pacer.beforeNextRound(this.#cancellation.signal);
      decision = this.#decide();
    }
  }

  get #heldBy(): string | undefined {
    const record = this.#context.observations.of(this.#ref.id)?.record;
    return record?.state === "held" ? record.owner : undefined;
  }

  #joins(decision: "wait" | "queued"): boolean {
    const { queueing, waitMs } = this.#settings;
    if (queueing === undefined || this.#context.format.queue === undefined) return false;
    return decision === "queued" || (queueing.joins === "at once" && waitMs > 0);
  }

  // A process that frees a name and claims it again at once would starve those that poll.
  async #standBack(): Promise<void> {
    // The queue sees to it that others get their turn.
    if (this.#place !== undefined || this.#settings.queueing?.joins === "at once") return;
    const fromMs = this.#context.observations.takeStandBack(this.#ref.id);
    if (fromMs === undefined || this.#settings.waitMs === 0) return;
    const leftMs = fromMs + this.#settings.minPollMs - this.#context.nowMs();
    if (leftMs > 0) await this.#context.sleep(leftMs, this.#cancellation.signal);
  }

  #decide(): Decision {
    return this.#context.decide(this.#ref, this.#settings.onlyIfExists, this.#settings.passage);
  }

  // What was seen at an earlier call may be long past, except that a dead holder stays dead and an id
  // that was given up stays given up; so all else begins with a claim, the only one that may be blind.
  #firstDecision(): Decision {
    const decision = this.#decide();
    if (this.#place !== undefined) return decision;
    return decision.kind === "take over" || decision.kind === "end session"
      ? decision
      : { kind: "claim", onto: { kind: this.#settings.onlyIfExists ? "existing" : "blind" } };
  }

  async #attempt(decision: Granting): Promise<Granted | undefined> {
    const attempt = new GrantWrite(
      this.#context,
      this.#ref,
      this.#settings,
      this.#cancellation,
      decision,
    );
    const answer = await attempt.run();
    if (answer === "silent") await this.#lookAfterSilence();
    if (typeof answer !== "object") return undefined;
    const hold = new Hold(this.#context, this.#ref, this.#localQueue, answer);
    const how = decision.kind === "take over" ? "takeover" : "claim";
    return { hold, record: answer.record, how };
  }

  // One lost answer must not fail a call that does not wait. A second one, or a first that took the time of a
  // whole request, shows answers that are too slow: the call would go on for ever.
  async #lookAfterSilence(): Promise<void> {
    const silence = this.#cancellation.error();
    this.#silences += 1;
    await this.#look();
    if (this.#settings.waitMs !== 0) return;
    const tookMs = this.#context.nowMs() - this.#fromMs;
    const isTooSlow = this.#silences > 1 || tookMs >= this.#context.settings.requestTimeoutMs;
    if (isTooSlow) this.#silence = silence;
  }

  /** Waits for the next look, or for the instant at which the holder counts as dead. */
  async #wait(decision: Extract<Decision, { readonly kind: "wait" | "queued" }>): Promise<void> {
    const fromMs = this.#context.nowMs();
    const pollMs = this.#context.jittered(this.#pollMs);
    const takeableMs =
      decision.kind === "wait" ? decision.acquirableAtMs - fromMs : Number.POSITIVE_INFINITY;
    await this.#context.sleep(Math.min(pollMs, takeableMs), this.#cancellation.signal);
    this.#pacer.paused();
    // A takeover needs no look before it: its condition is what was watched, and its refusal a look.
    if (this.#cancellation.isStopped || takeableMs <= pollMs) return;
    // Nor does one that hangs put it off.
    const sleptMs = this.#context.nowMs() - fromMs;
    const leftMs = Math.min(this.#context.settings.requestTimeoutMs, takeableMs - sleptMs);
    const timeoutMs = Math.max(leftMs, 1);
    const answer = await this.#read("eventual", timeoutMs);
    const freshMs = this.#pollMs * LEAST_JITTER;
    this.#pollMs = Math.min(this.#pollMs * POLL_GROWTH, this.#settings.maxPollMs);
    if (!this.#isTold(answer)) return;
    // Absence is only concluded from a strongly consistent read.
    if (answer.item === undefined) return this.#look();
    const record = this.#context.seeRecord(this.#ref, answer.item, "eventual");
    const held = record.state === "held" ? record : undefined;
    this.#followHolder(held?.holder);
    if (held?.session === undefined || this.#cancellation.isStopped) return;
    const seen = await this.#context.sessions.poll(
      held.session,
      freshMs,
      timeoutMs,
      this.#cancellation.signal,
    );
    if (seen !== undefined) this.#isTold(seen);
  }

  #isTold(answer: ReadAnswer): answer is Extract<ReadAnswer, { readonly kind: "found" }> {
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "found") this.#cancellation.onResponse();
    else this.#cancellation.onNoResponse(answer);
    return answer.kind === "found";
  }

  // Who has just taken a lock may free it soon: a new holder is looked at as often as the first one.
  #followHolder(holder: string | undefined): void {
    if (holder !== this.#watchedHolder && this.#watchedHolder !== undefined) {
      this.#pollMs = this.#settings.minPollMs;
    }
    this.#watchedHolder = holder;
  }

  /** Reads strongly: what the next decision rests on. */
  #look(): Promise<void> {
    return this.#untilAnswered(async (timeoutMs) => {
      const answer = await this.#read("strong", timeoutMs);
      if (answer.kind === "found") this.#context.seeRecord(this.#ref, answer.item, "strong");
      return answer;
    });
  }

  #lookAtSession(session: string): Promise<void> {
    return this.#untilAnswered((timeoutMs) =>
      this.#context.sessions.look(session, timeoutMs, this.#cancellation.signal),
    );
  }

  #endSession(ending: Ending): Promise<void> {
    return this.#untilAnswered(() =>
      this.#context.sessions.end(ending, this.#settings.owner, this.#cancellation.signal),
    );
  }

  async #untilAnswered(
    ask: (timeoutMs: number) => Promise<ReadAnswer | WriteAnswer>,
  ): Promise<void> {
    while (!this.#cancellation.isStopped) {
      const answer = await ask(this.#context.settings.requestTimeoutMs);
      if (answer.kind === "misconfigured") throw answer.error;
      if ("item" in answer) return this.#cancellation.onResponse();
      this.#cancellation.onNoResponse(answer);
      if (this.#settings.waitMs === 0) throw this.#cancellation.error();
      await this.#context.sleep(this.#context.jittered(this.#pollMs), this.#cancellation.signal);
    }
  }

  #read(strength: "strong" | "eventual", timeoutMs: number): Promise<ReadAnswer> {
    const { key } = this.#ref;
    const attributes = this.#context.format.pollAttributes;
    const read = { key, consistent: strength === "strong", attributes };
    return this.#context.read(read, timeoutMs, this.#cancellation.signal);
  }
}
