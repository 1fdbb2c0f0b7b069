import { SingleFlight } from "../internal/single-flight.js";
import { onAbort, type SignalLike } from "../platform/abort.js";
import {
  type Item,
  isJudged,
  type ReadAnswer,
  type Unknown,
  type WriteAnswer,
} from "../platform/table.js";
import type { ClientContext } from "./context.js";
import type { Decision } from "./record/decide.js";
import type { RecordRef } from "./record/format.js";
import type { Observation } from "./record/observation.js";
import type { Found, Version } from "./record/record.js";
import { CLAIM, type Entering, KEEP } from "./table-access.js";

/** The decision to end a session that counts as dead. */
export type Ending = Extract<Decision, { readonly kind: "end-session" }>;
export type Looking = Extract<Decision, { readonly kind: "look-at-session" }>;

// A client renews its session once before any record names the session.
const FIRST_VERSION = 1n;

const READING: Entering = { ...CLAIM, about: "session" };
/** How a write to the session of another client takes its turn. */
export const TO_SESSION: Entering = { ...KEEP, about: "session" };

/**
 * Reads the sessions of other holders: one read for all waiters of the client, however many records name the
 * session.
 */
export class RemoteSessions {
  readonly #context: ClientContext;
  readonly #reads = new SingleFlight<ReadAnswer>();
  readonly #ends = new SingleFlight<WriteAnswer>();

  constructor(context: ClientContext) {
    this.#context = context;
  }

  of(session: string): Observation | undefined {
    return this.#context.observations.of(this.#refOf(session).id);
  }

  /** When an answer last showed the session, on the monotonic clock. */
  lookedAtMs(session: string): number {
    return this.#context.observations.lookedAtMs(this.#refOf(session).id);
  }

  /** Reads the session, unless an answer has shown it within the last `freshMs` milliseconds. */
  async poll(
    session: string,
    freshMs: number,
    signal: SignalLike,
    timeoutMs?: number,
  ): Promise<ReadAnswer | undefined> {
    const { observations } = this.#context;
    const ref = this.#refOf(session);
    if (this.#context.nowMs() - observations.lookedAtMs(ref.id) < freshMs) return undefined;
    const answer = await this.#read(ref, "eventual", signal, timeoutMs);
    if (answer.kind !== "found") return answer;
    const found = this.#context.format.codec.read(answer.item);
    // If the end of a session is past, the client need not watch the session. But only a strong read proves it.
    if (isDoubtful(found) || this.#context.seemsOver(found, answer)) {
      return this.look(session, signal, timeoutMs);
    }
    this.#context.seeRecord(ref, answer, "eventual");
    return answer;
  }

  /** Reads the session with strong consistency. */
  async look(session: string, signal?: SignalLike, timeoutMs?: number): Promise<ReadAnswer> {
    const ref = this.#refOf(session);
    const answer = await this.#read(ref, "strong", signal, timeoutMs);
    if (answer.kind === "found") this.#context.seeRecord(ref, answer, "strong");
    return answer;
  }

  /** Looks at the session that a decision names, or ends it. */
  follow(
    decision: Ending | Looking,
    owner: string,
    signal: SignalLike,
  ): Promise<ReadAnswer | WriteAnswer> {
    return decision.kind === "end-session"
      ? this.end(decision, owner, signal)
      : this.look(decision.session, signal);
  }

  /**
   * Ends a session on condition of exactly the observed row: frees the row, or creates a free row if the client has
   * watched an absent row. A refusal shows that the session is alive, or has already ended.
   */
  end({ session, watched }: Ending, owner: string, signal: SignalLike): Promise<WriteAnswer> {
    const ref = this.#refOf(session);
    const { format } = this.#context;
    const ended = this.#ends.run(session, async () => {
      const wallMs = this.#context.wallMs();
      const tombstone = { fence: BigInt(Math.floor(wallMs)), owner, wallMs };
      const write =
        watched === undefined
          ? format.lease.tombstone?.(ref, tombstone)
          : this.#context.freeing(ref, { watched }, { keepData: false, lastHolder: "" });
      if (write === undefined) throw new Error("The records of this format name no session.");
      const answer = await this.#context.write(write, undefined, undefined, TO_SESSION);
      if (isJudged(answer)) this.#context.seeRecord(ref, answer, "strong");
      return answer;
    });
    return orAborted(ended, signal);
  }

  #refOf(session: string): RecordRef {
    return this.#context.format.codec.refOf("session", session);
  }

  #read(
    ref: RecordRef,
    consistency: "strong" | "eventual",
    signal: SignalLike | undefined,
    timeoutMs: number | undefined,
  ): Promise<ReadAnswer> {
    const attributes = this.#context.format.codec.pollAttributes;
    const read = { key: ref.key, consistent: consistency === "strong", attributes };
    const reading = this.#reads.run(`${consistency} ${ref.id}`, () =>
      this.#context.read(read, timeoutMs, undefined, READING),
    );
    return orAborted(reading, signal);
  }
}

/** Records a session's row from an eventual read of several items, unless a watch must not begin with that row. */
export function glanceAtSession(context: ClientContext, session: string, item: Item): Found {
  const { codec } = context.format;
  const found = codec.read(item);
  return isDoubtful(found)
    ? found
    : context.see(codec.refOf("session", session), { item }, "eventual");
}

// An abort ends only this waiter's wait. The request continues, because other waiters share the answer.
function orAborted<A>(answer: Promise<A>, signal?: SignalLike): Promise<A | Unknown> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () =>
      resolve({ kind: "unknown", cause: signal.reason, isCutOff: true }),
    );
    answer.then(resolve, reject).finally(stopListening);
  });
}

// A lagging replica may show neither the row nor its renewals, and a re-created row begins with its first
// version. Only a strong read distinguishes these from a live session.
function isDoubtful(found: Found): boolean {
  return found.state === "absent" || ("version" in found && isFirst(found.version));
}

function isFirst(version: Version): boolean {
  return typeof version === "bigint" && version <= FIRST_VERSION;
}
