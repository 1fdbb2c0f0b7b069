import type { ReadAnswer, WriteAnswer } from "../../platform/table.js";
import { Attempt, type Granting } from "./grant.js";
import type { Decision } from "../record/decide.js";
import type { GrantEvent } from "../events.js";
import type { RecordRef } from "../record/format.js";
import { Hold } from "../hold/hold.js";
import type { Kernel } from "../context.js";
import type { Line } from "../local-queue.js";
import type { AcquireSettings } from "../options.js";
import { Pacer } from "../pacer.js";
import type { Place } from "./queueing.js";
import type { HeldRecord } from "../record/record.js";
import type { Ending } from "../remote-sessions.js";
import type { Stopping } from "./cancellation.js";
import { tooSlow } from "../unavailable.js";

/** A lease that has begun, before anybody has a handle on it. */
export interface Granted {
  readonly hold: Hold;
  /** As the grant's answer showed it. */
  readonly record: HeldRecord;
  readonly how: GrantEvent["how"];
}

// What the pause between two looks grows by: from the fastest to the slowest in eight looks.
const POLL_GROWTH = 1.5;
// Of a pause between two looks; so whoever waits alone looks at the session as often as at the record.
const LEAST_JITTER = 0.75;

/**
 * How a contention ends. `not to be had`: not now, or not without a record. `queued`: not without a
 * place in the queue. `not first`, `passed over`: not with the place that it has.
 */
export type Contended = Granted | "not to be had" | "queued" | "not first" | "passed over";

/** One acquisition's talk with the table: decide, write, wait, look, decide again. */
export class Contention {
  readonly #kernel: Kernel;
  readonly #ref: RecordRef;
  readonly #line: Line;
  readonly #settings: AcquireSettings;
  readonly #stop: Stopping;
  readonly #place: Place | undefined;
  readonly #pacer: Pacer;
  #pollMs: number;
  #watchedHolder: string | undefined;
  /** Without a wait: why the first attempt was given up that was not answered in useful time. */
  #silence: unknown;

  constructor(
    kernel: Kernel,
    ref: RecordRef,
    line: Line,
    settings: AcquireSettings,
    stop: Stopping,
    place?: Place,
  ) {
    this.#kernel = kernel;
    this.#ref = ref;
    this.#line = line;
    this.#settings = settings;
    this.#stop = stop;
    this.#place = place;
    this.#pacer = new Pacer(kernel, settings);
    this.#pollMs = settings.fastestPollMs;
  }

  /** Rejects with the error of what stops it, R12's errors, or a wrong configuration's. */
  async run(): Promise<Contended> {
    await this.#standBack();
    let decision: Decision = this.#firstDecision();
    for (;;) {
      if (this.#stop.isStopped) throw this.#stop.error();
      switch (decision.kind) {
        case "missing":
          return "not to be had";
        case "passed over":
          return decision.kind;
        case "wait":
        case "queued":
          this.#kernel.observations.seeRival(this.#ref.id);
          this.#stop.waits(this.#heldBy);
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
          // Sent again, it would take as long, and end the same way: without a wait there is one attempt.
          if (this.#silence !== undefined) {
            throw tooSlow([this.#ref.name], this.#settings.leaseMs, this.#silence);
          }
          if ((await this.#place?.isFirst()) === false) return "not first";
          const granted = await this.#attempt(decision);
          if (granted !== undefined) return granted;
        }
      }
      await this.#pacer.beforeNextRound(this.#stop.signal);
      decision = this.#decide();
    }
  }

  get #heldBy(): string | undefined {
    const record = this.#kernel.observations.of(this.#ref.id)?.record;
    return record?.state === "held" ? record.owner : undefined;
  }

  #joins(decision: "wait" | "queued"): boolean {
    const { queueing, waitMs } = this.#settings;
    if (queueing === undefined || this.#kernel.format.queue === undefined) return false;
    return decision === "queued" || (queueing.joins === "at once" && waitMs > 0);
  }

  // A process that frees a name and claims it again at once would starve those that poll.
  async #standBack(): Promise<void> {
    // The queue sees to it that others get their turn.
    if (this.#place !== undefined || this.#settings.queueing?.joins === "at once") return;
    const fromMs = this.#kernel.observations.takeStandBack(this.#ref.id);
    if (fromMs === undefined || this.#settings.waitMs === 0) return;
    const leftMs = fromMs + this.#settings.fastestPollMs - this.#kernel.nowMs();
    if (leftMs > 0) await this.#kernel.sleep(leftMs, this.#stop.signal);
  }

  #decide(): Decision {
    return this.#kernel.decide(this.#ref, this.#settings.onlyIfExists, this.#settings.passage);
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
    const attempt = new Attempt(this.#kernel, this.#ref, this.#settings, this.#stop, decision);
    const answer = await attempt.run();
    if (answer === "silent") {
      if (this.#settings.waitMs === 0) this.#silence = this.#stop.error();
      await this.#look();
    }
    if (typeof answer !== "object") return undefined;
    const hold = new Hold(this.#kernel, this.#ref, this.#line, answer);
    const how = decision.kind === "take over" ? "takeover" : "claim";
    return { hold, record: answer.record, how };
  }

  /** Waits for the next look, or for the instant at which the holder counts as dead. */
  async #wait(decision: Extract<Decision, { readonly kind: "wait" | "queued" }>): Promise<void> {
    const fromMs = this.#kernel.nowMs();
    const pollMs = this.#kernel.jittered(this.#pollMs);
    const takeableMs =
      decision.kind === "wait" ? decision.takeableAtMs - fromMs : Number.POSITIVE_INFINITY;
    await this.#kernel.sleep(Math.min(pollMs, takeableMs), this.#stop.signal);
    this.#pacer.paused();
    // A takeover needs no look before it: its condition is what was watched, and its refusal a look.
    if (this.#stop.isStopped || takeableMs <= pollMs) return;
    // Nor does one that hangs put it off.
    const sleptMs = this.#kernel.nowMs() - fromMs;
    const leftMs = Math.min(this.#kernel.settings.requestTimeoutMs, takeableMs - sleptMs);
    const timeoutMs = Math.max(leftMs, 1);
    const answer = await this.#read("eventual", timeoutMs);
    const freshMs = this.#pollMs * LEAST_JITTER;
    this.#pollMs = Math.min(this.#pollMs * POLL_GROWTH, this.#settings.slowestPollMs);
    if (!this.#isTold(answer)) return;
    // Absence is only concluded from a strongly consistent read.
    if (answer.item === undefined) return this.#look();
    const record = this.#kernel.seeRecord(this.#ref, answer.item, "eventual");
    const held = record.state === "held" ? record : undefined;
    this.#followHolder(held?.holder);
    if (held?.session === undefined || this.#stop.isStopped) return;
    const seen = await this.#kernel.sessions.poll(
      held.session,
      freshMs,
      timeoutMs,
      this.#stop.signal,
    );
    if (seen !== undefined) this.#isTold(seen);
  }

  #isTold(answer: ReadAnswer): answer is Extract<ReadAnswer, { readonly kind: "found" }> {
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "found") this.#stop.told();
    else this.#stop.troubled(answer);
    return answer.kind === "found";
  }

  // Who has just taken a lock may free it soon: a new holder is looked at as often as the first one.
  #followHolder(holder: string | undefined): void {
    if (holder !== this.#watchedHolder && this.#watchedHolder !== undefined) {
      this.#pollMs = this.#settings.fastestPollMs;
    }
    this.#watchedHolder = holder;
  }

  /** Reads strongly: what the next decision rests on. */
  #look(): Promise<void> {
    return this.#untilAnswered(async (timeoutMs) => {
      const answer = await this.#read("strong", timeoutMs);
      if (answer.kind === "found") this.#kernel.seeRecord(this.#ref, answer.item, "strong");
      return answer;
    });
  }

  #lookAtSession(session: string): Promise<void> {
    return this.#untilAnswered((timeoutMs) =>
      this.#kernel.sessions.look(session, timeoutMs, this.#stop.signal),
    );
  }

  #endSession(ending: Ending): Promise<void> {
    return this.#untilAnswered(() =>
      this.#kernel.sessions.end(ending, this.#settings.owner, this.#stop.signal),
    );
  }

  async #untilAnswered(
    ask: (timeoutMs: number) => Promise<ReadAnswer | WriteAnswer>,
  ): Promise<void> {
    while (!this.#stop.isStopped) {
      const answer = await ask(this.#kernel.settings.requestTimeoutMs);
      if (answer.kind === "misconfigured") throw answer.error;
      if ("item" in answer) return this.#stop.told();
      this.#stop.troubled(answer);
      if (this.#settings.waitMs === 0) throw this.#stop.error();
      await this.#kernel.sleep(this.#kernel.jittered(this.#pollMs), this.#stop.signal);
    }
  }

  #read(strength: "strong" | "eventual", timeoutMs: number): Promise<ReadAnswer> {
    const { key } = this.#ref;
    const attributes = this.#kernel.format.pollAttributes;
    const read = { key, consistent: strength === "strong", attributes };
    return this.#kernel.read(read, timeoutMs, this.#stop.signal);
  }
}
