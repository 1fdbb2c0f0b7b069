import { mayBeApplied, type TransactionAnswer, type Write } from "../../platform/table.js";
import type { GrantResult } from "../hold/hold.js";
import { rollBack } from "../hold/rollback.js";
import type { Grant, RecordRef } from "../record/format.js";
import type { ObservedRecord } from "../record/observation.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { blindTable, type Granting, replacedBy } from "./grant.js";
import { doingOf, grantedOnto } from "./grant-many-result.js";
import { GrantRetry } from "./grant-retry.js";
import type { AcquireSettings } from "./settings.js";

/** One record of several that are granted together, and what its grant requires, exactly as it was seen. */
export interface GrantPart {
  readonly ref: RecordRef;
  readonly before: ObservedRecord;
  readonly decision: Exclude<Granting, { readonly kind: "import" }>;
}

/** A write that goes with the grants, and grants nothing. */
export interface Aside {
  readonly ref: RecordRef;
  readonly write: Write;
}

interface Part extends GrantPart {
  readonly grant: Grant;
  readonly write: Write;
}

type Told = Extract<TransactionAnswer, { readonly kind: "applied" | "refused" }>;

/**
 * One transaction that grants several records, or none, sent again until it is answered. As a single
 * {@link GrantWrite} it is never applied twice, recognises itself in the items that refuse its repetition
 * (R5), and leaves nothing behind where it ends without leases (R14). A refused one has changed nothing.
 */
export class GrantManyWrite {
  readonly #context: AcquireContext;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #parts: readonly Part[];
  readonly #asides: readonly Aside[];
  readonly #repetition: GrantRetry;
  /** Whether the records name this attempt's ids though nothing of the attempt was applied. */
  #areIdsOfAnother = false;

  constructor(
    context: AcquireContext,
    parts: readonly GrantPart[],
    settings: AcquireSettings,
    cancellation: Cancelling,
    asides: readonly Aside[] = [],
  ) {
    this.#context = context;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#parts = parts.map((part) => {
      const grant = context.grant(part.ref, settings);
      return { ...part, grant, write: writeOf(context, part, grant) };
    });
    this.#asides = asides;
    this.#repetition = new GrantRetry(context, settings, cancellation);
  }

  /** In the order of the parts. Answers and rejects as a single attempt does. */
  async run(): Promise<readonly GrantResult[] | "refused" | "silent"> {
    const transaction = {
      writes: [...this.#asides, ...this.#parts].map(({ write }) => write),
      token: this.#context.random.id(),
    };
    let answer: readonly GrantResult[] | "refused" | "silent" | undefined;
    try {
      const answered = await this.#repetition.run((timeoutMs) =>
        this.#context.transact(transaction, timeoutMs, this.#cancellation.signal),
      );
      answer = answered === "silent" ? answered : this.#verdictOn(answered);
      return answer;
    } finally {
      if (typeof answer !== "object") this.#giveUp();
    }
  }

  #verdictOn(answer: Told): readonly GrantResult[] | "refused" {
    const repetition = this.#repetition;
    // What was applied and is not handed out, for whatever reason below, has to be undone. Refused, no copy
    // of it can land any more: each condition names what was seen, which never comes back.
    if (answer.kind === "applied") repetition.unanswered += 1;
    if (answer.kind === "refused") {
      const doing = this.#doingIn(answer);
      // As of a single attempt: sent once and answered, it was not applied.
      this.#areIdsOfAnother =
        doing !== "others" && repetition.unanswered === 0 && !mayBeApplied(answer);
      if (this.#areIdsOfAnother) return "refused";
      if (doing !== "others") repetition.unanswered = Math.max(repetition.unanswered, 1);
      if (doing !== "own") return "refused";
    }
    if (!repetition.isInTime()) return "refused";
    const nowMs = this.#context.nowMs();
    return this.#parts.map(({ ref, before, grant }) => {
      const record = grantedOnto(before, grant);
      this.#context.observations.see(ref.id, record, "strong", nowMs);
      return { record, start: repetition.start, settings: this.#settings };
    });
  }

  #doingIn({ refusals, isReadLater }: Extract<Told, { readonly kind: "refused" }>) {
    const all = [...this.#asides, ...this.#parts];
    const shown = all.map(({ ref }, index) => {
      const refusal = refusals[index];
      return refusal && this.#context.seeRecord(ref, refusal.item, "strong");
    });
    const grants = shown.slice(this.#asides.length);
    for (const [index, { ref, before }] of this.#parts.entries()) {
      // Nothing is there, and that nothing is there was all that was required: it was not shown.
      const isAbsent = grants[index]?.state === "absent" && before.state === "absent";
      if (isAbsent && isReadLater !== true) throw blindTable(ref.name);
    }
    return doingOf(
      grants,
      this.#parts.map(({ grant }) => grant.holder),
    );
  }

  #giveUp(): void {
    for (const { ref, grant, decision } of this.#parts) {
      // Refused for good or not: should a copy of it ever land, nobody believes in it.
      if (!this.#areIdsOfAnother) this.#context.abandon(grant.holder);
      if (this.#repetition.unanswered === 0) continue;
      rollBack(this.#context, ref, {
        attempt: grant.holder,
        leaseMs: this.#settings.leaseMs,
        replaced: replacedBy(decision),
        sends: this.#repetition.unanswered,
        minPollMs: this.#settings.minPollMs,
      });
    }
  }
}

function writeOf(context: AcquireContext, { ref, decision }: GrantPart, grant: Grant): Write {
  const { format } = context;
  return decision.kind === "claim"
    ? format.claim(ref, grant, decision.onto)
    : format.takeOver(ref, grant, decision);
}
