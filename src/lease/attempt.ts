import { HoldfastError } from "../errors.js";
import { type Instant, instantOf } from "../platform/clock.js";
import type { Write } from "../platform/table.js";
import { Deadline } from "./deadline.js";
import { type Decision, holdMs } from "./decide.js";
import type { Grant, Held, Holders, RecordRef } from "./format.js";
import type { Beginning } from "./hold.js";
import type { Kernel } from "./kernel.js";
import { neutralise } from "./neutralise.js";
import { numberGrant } from "./number.js";
import type { AcquireSettings } from "./options.js";
import type { Stopping } from "./stop.js";

/** The decisions that send a write which may grant. */
export type Granting =
  | Extract<Decision, { readonly kind: "claim" | "take over" }>
  /** Of what was exported to whoever knows this holder, which nobody is. */
  | { readonly kind: "import"; readonly from: Held };

/** `refused`: the record is not as decided upon. `silent`: nobody answered in useful time. */
export type AttemptAnswer = Beginning | "refused" | "silent";

/**
 * One write that may grant, sent again until it is answered. It is never applied twice: its condition
 * names only the state before it, and its own success is recognised by its id in the item that refuses
 * the repetition (R5). Whatever way it ends without a lease, nothing of it stays behind (R14).
 */
export class Attempt {
  readonly #kernel: Kernel;
  readonly #ref: RecordRef;
  readonly #settings: AcquireSettings;
  readonly #stop: Stopping;
  readonly #decision: Granting;
  readonly #grant: Grant;
  readonly #write: Write;
  /** Sends that were not answered, each of which may have been, or may yet be, applied. */
  #unanswered = 0;

  constructor(
    kernel: Kernel,
    ref: RecordRef,
    settings: AcquireSettings,
    stop: Stopping,
    decision: Granting,
  ) {
    this.#kernel = kernel;
    this.#ref = ref;
    this.#settings = settings;
    this.#stop = stop;
    this.#decision = decision;
    this.#grant = kernel.grant(ref, settings);
    this.#write = this.#compose();
  }

  /** Rejects with the error of {@link Stop}, R12's errors, or a wrong configuration's. */
  async run(): Promise<AttemptAnswer> {
    let answer: AttemptAnswer | undefined;
    try {
      const begun = await this.#repeat();
      answer = typeof begun === "object" ? await this.#numbered(begun) : begun;
      return answer;
    } finally {
      if (typeof answer !== "object") {
        // Refused for good or not: should a copy of it ever land, nobody believes in it.
        this.#kernel.abandon(this.#grant.holder);
        if (this.#unanswered > 0) this.#giveUp();
      }
    }
  }

  async #numbered(begun: Beginning): Promise<AttemptAnswer> {
    const { counter } = this.#kernel.format;
    if (counter === undefined) return begun;
    const { leaseMs, fastestPollMs: pauseMs } = this.#settings;
    const { holder, fenceSeed: seed } = this.#grant;
    const deadline = this.#deadlineFrom(begun.start);
    const grant = { holder, seed, leaseMs, pauseMs, deadline };
    const number = await numberGrant(this.#kernel, this.#ref, counter, grant, this.#stop);
    return typeof number === "bigint" ? { ...begun, number } : number;
  }

  async #repeat(): Promise<AttemptAnswer> {
    const { waitMs, fastestPollMs, slowestPollMs } = this.#settings;
    const firstMs = this.#kernel.nowMs();
    let start: Instant | undefined;
    for (let pauseMs = fastestPollMs; ; pauseMs = Math.min(2 * pauseMs, slowestPollMs)) {
      // Only while an earlier send may have been applied does the lease count from it.
      if (start === undefined || this.#unanswered === 0) start = instantOf(this.#kernel.clock);
      const deadline = this.#deadlineFrom(start);
      if (deadline.remainingMs() <= this.#settings.leaseMs / 2) return "silent";
      const answer = await this.#send(start, deadline);
      if (answer !== "again") return answer;
      const triedMs = this.#kernel.nowMs() - firstMs;
      if (waitMs === 0 && triedMs >= this.#kernel.settings.requestTimeoutMs) {
        throw this.#stop.error();
      }
      await this.#kernel.sleep(this.#kernel.jittered(pauseMs), this.#stop.signal);
      if (this.#stop.isStopped) throw this.#stop.error();
    }
  }

  async #send(start: Instant, deadline: Deadline): Promise<Beginning | "refused" | "again"> {
    const timeoutMs = this.#kernel.timeoutWithin(deadline);
    const answer = await this.#kernel.write(this.#write, timeoutMs, this.#stop.signal);
    switch (answer.kind) {
      case "applied":
      case "refused": {
        this.#stop.told();
        if (answer.item === undefined && this.#acceptsAbsence()) throw blindTable(this.#ref.name);
        // What was applied and is not handed out, for whatever reason below, has to be undone.
        if (answer.kind === "applied" || answer.isRepeated === true) this.#unanswered += 1;
        const record = this.#kernel.seeRecord(this.#ref, answer.item, "strong");
        if (record.state !== "held" || record.holder !== this.#grant.holder) return "refused";
        this.#unanswered = Math.max(this.#unanswered, 1);
        // Looked at again before it is handed out: it may have taken its whole lease to arrive.
        if (this.#stop.isStopped) throw this.#stop.error();
        if (deadline.remainingMs() <= 0) return "refused";
        return { record, start, settings: this.#settings };
      }
      case "misconfigured":
        throw answer.error;
      case "unknown":
        this.#unanswered += 1;
        this.#stop.troubled(answer);
        return "again";
      default:
        this.#stop.troubled(answer);
        return "again";
    }
  }

  // Refused, although it would have been applied where nothing is: so something is, and was not shown.
  #acceptsAbsence(): boolean {
    const decision = this.#decision;
    return decision.kind === "claim" && ["blind", "absent"].includes(decision.onto.kind);
  }

  #deadlineFrom(start: Instant): Deadline {
    const lengthMs = holdMs(this.#settings.leaseMs, this.#kernel.settings.driftBound);
    return new Deadline(this.#kernel.clock, start, lengthMs);
  }

  #compose(): Write {
    const { format } = this.#kernel;
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
    neutralise(this.#kernel, this.#ref, {
      attempt: this.#grant.holder,
      leaseMs: this.#settings.leaseMs,
      replaced: replacedBy(this.#decision),
      sends: this.#unanswered,
      fastestPollMs: this.#settings.fastestPollMs,
    });
  }
}

function replacedBy(decision: Granting): Holders | undefined {
  if (decision.kind === "claim") return undefined;
  return decision.kind === "import" ? { known: decision.from } : { watched: decision };
}

// Without it every own success whose answer was lost would look like contention, and waiting would spin.
function blindTable(name: string): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `The claim of lock "${name}" was refused, and the answer does not show the record. Answers must carry ` +
      "it (ReturnValuesOnConditionCheckFailure): use @aws-sdk/client-dynamodb 3.363.0 or later, and a " +
      "server that knows it.",
    { lockName: name },
  );
}
