import { type Instant, instantOf } from "../../platform/clock.js";
import { mayBeApplied, type TransactionAnswer, type Write } from "../../platform/table.js";
import type { ClaimTurn } from "../admission.js";
import type { GrantResult } from "../hold/hold.js";
import { rollBack } from "../hold/roll-back.js";
import type { Grant, RecordRef } from "../record/format.js";
import type { ObservedRecord } from "../record/observation.js";
import type { Found } from "../record/record.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";
import { hasSoundEnd } from "./correct-end.js";
import { blindTable, type Granting, replacedBy, writeOf } from "./grant.js";
import { doingOf, grantedOnto } from "./grant-many-result.js";
import { GrantRetry, type Silent } from "./grant-retry.js";
import type { AcquireSettings, Acquisition, Granted } from "./settings.js";

/** One record of a multi-grant, with the observation that the grant requires. */
export interface GrantPart {
  readonly ref: RecordRef;
  readonly before: ObservedRecord;
  readonly decision: Exclude<Granting, { readonly kind: "import" }>;
}

/** A write in the transaction of the grants, without a grant. */
interface Aside {
  readonly ref: RecordRef;
  readonly write: Write;
}

/** Grants of another kind in the transaction: permits. Only their module has the code for them. */
export interface JoinedGrants {
  readonly writes: readonly { readonly write: Write }[];
  /** Whether all grants can begin now: their sessions are alive. */
  readonly isHeld: boolean;
  /** Notes the records in a refusal. Adds what each says of its grant, and the holder of the grant. */
  addTo(refusal: Refused, shown: (Found | undefined)[], holders: string[]): void;
  /** Begins the applied grants. `start`: the instant before the first send. */
  begin(start: Instant): readonly Granted[];
  /** Ends the attempts. `sends`: how many sends DynamoDB has applied or may still apply. */
  giveUp(sends: number): void;
}

interface Part extends GrantPart {
  readonly grant: Grant;
  readonly write: Write;
}

/** The result of one transaction of grants. */
type GrantManyAnswer =
  /** `results` has the order of the parts, and `joined` the order of the joined grants. */
  | {
      readonly kind: "granted";
      readonly results: readonly GrantResult[];
      readonly joined: readonly Granted[] | undefined;
    }
  /** A record was not as its decision assumed. */
  | { readonly kind: "refused" }
  | Silent;

const REFUSED = { kind: "refused" } as const;

type Refused = Extract<TransactionAnswer, { readonly kind: "refused" }>;
/** An answer of DynamoDB. */
type Answered = Extract<TransactionAnswer, { readonly kind: "applied" | "refused" }>;

/**
 * Sends a transaction that grants several records, all or none, until DynamoDB answers. Like {@link GrantWrite},
 * the transaction is never applied twice, recognises an earlier send by the items that refuse a retry (R5), and leaves
 * nothing behind if it ends without leases (R14). A refused transaction changes nothing.
 */
export class GrantManyWrite {
  readonly #context: AcquireContext;
  readonly #settings: AcquireSettings;
  readonly #cancellation: Cancelling;
  readonly #parts: readonly Part[];
  readonly #asides: readonly Aside[];
  readonly #joined: JoinedGrants | undefined;
  readonly #repetition: GrantRetry;
  /** Whether the records name the ids of this attempt although DynamoDB did not apply the attempt. */
  #areIdsOfAnother = false;

  constructor(
    acquisition: Acquisition,
    parts: readonly GrantPart[],
    turn: ClaimTurn,
    asides: readonly Aside[] = [],
    joined?: JoinedGrants,
  ) {
    const { context, settings, cancellation } = acquisition;
    this.#context = context;
    this.#settings = settings;
    this.#cancellation = cancellation;
    this.#repetition = new GrantRetry(acquisition, turn);
    const { start } = this.#repetition;
    this.#parts = parts.map((part) => {
      const grant = context.grant(part.ref, settings, start);
      return { ...part, grant, write: writeOf(context, part.ref, grant, part.decision) };
    });
    this.#asides = asides;
    this.#joined = joined;
  }

  /** Resolves and rejects like {@link GrantWrite.run}. */
  async run(): Promise<GrantManyAnswer> {
    const transaction = {
      writes: [...this.#asides, ...this.#parts, ...(this.#joined?.writes ?? [])].map(
        ({ write }) => write,
      ),
      token: this.#context.random.id(),
    };
    const { signal } = this.#cancellation;
    return this.#repetition.run<TransactionAnswer, GrantManyAnswer>({
      send: (timeoutMs) => this.#context.transact(transaction, timeoutMs, signal),
      judge: (sent) => this.#verdictOn(sent),
      undo: () => this.#giveUp(),
    });
  }

  #verdictOn(answer: Answered): Exclude<GrantManyAnswer, Silent> {
    const repetition = this.#repetition;
    // An applied transaction has to be rolled back unless its leases are handed out. After a refusal no delayed send
    // can be applied: each condition names an observed version, and versions never come back.
    if (answer.kind === "applied") repetition.countApplied();
    if (answer.kind === "refused") {
      const doing = this.#doingIn(answer);
      // As in GrantWrite: DynamoDB did not apply a refused transaction with a single send.
      this.#areIdsOfAnother =
        doing !== "others" && repetition.unanswered === 0 && !mayBeApplied(answer);
      if (this.#areIdsOfAnother) return REFUSED;
      if (doing !== "others") repetition.countFound();
      if (doing !== "own") return REFUSED;
    }
    const now = instantOf(this.#context.clock);
    if (!repetition.isInTime(now) || this.#joined?.isHeld === false) return REFUSED;
    const results = this.#parts.map(({ ref, before, grant }) => {
      const record = grantedOnto(before, grant);
      this.#context.observations.see(ref.id, record, "strong", now.monotonicMs);
      return { record, start: repetition.start, settings: this.#settings };
    });
    // The clocks of this machine stood still or jumped before the send. The next transaction has the right ends.
    const { deadline } = repetition;
    if (!results.every(({ record }) => hasSoundEnd(this.#context, record, deadline, now)))
      return REFUSED;
    const joined = this.#joined?.begin(repetition.start);
    return { kind: "granted", results, joined };
  }

  #doingIn(answer: Refused) {
    const { refusals, isReadLater } = answer;
    const all = [...this.#asides, ...this.#parts];
    const shown = all.map(({ ref }, index) => {
      const refusal = refusals[index];
      return refusal && this.#context.seeRecord(ref, refusal, "strong");
    });
    const grants: (Found | undefined)[] = shown.slice(this.#asides.length);
    for (const [index, { ref, before }] of this.#parts.entries()) {
      // The only condition was "absent", so DynamoDB returned no item with the refusal.
      const isAbsent = grants[index]?.state === "absent" && before.state === "absent";
      if (isAbsent && isReadLater !== true) throw blindTable(ref.name);
    }
    const holders = this.#parts.map(({ grant }) => grant.holder);
    this.#joined?.addTo(answer, grants, holders);
    return doingOf(grants, holders);
  }

  #giveUp(): void {
    if (!this.#areIdsOfAnother) this.#joined?.giveUp(this.#repetition.unanswered);
    for (const { ref, grant, decision } of this.#parts) {
      // If DynamoDB applies a delayed send later, this client must not take the record for held.
      if (!this.#areIdsOfAnother) this.#context.abandon(grant.holder);
      if (this.#repetition.unanswered === 0) continue;
      rollBack(this.#context, ref, {
        attempt: grant.holder,
        leaseMs: this.#settings.leaseMs,
        replaced: replacedBy(decision),
        sends: this.#repetition.unanswered,
        pauseMs: this.#settings.retryMs,
        keepData: this.#settings.keepData || grant.existingData === "keep",
        attributes: grant.attributes,
      });
    }
  }
}
