import { SingleFlight } from "../internal/single-flight.js";
import type { SignalLike } from "../platform/abort.js";
import type { Item, ReadAnswer, Unknown, WriteAnswer } from "../platform/table.js";
import type { ClientContext } from "./context.js";
import type { Decision } from "./record/decide.js";
import type { RecordRef } from "./record/format.js";
import type { Observation } from "./record/observation.js";
import type { Found, Version } from "./record/record.js";

/** The decision to end a session that was watched dead. */
export type Ending = Extract<Decision, { readonly kind: "end session" }>;

// A session is renewed once before any record names it.
const FIRST_VERSION = 1n;

/**
 * What a client knows of the sessions by which others hold, and how it looks at them: once for all of
 * its waiters, however many records name the same session.
 */
export class RemoteSessions {
  readonly #context: ClientContext;
  readonly #looks = new SingleFlight<ReadAnswer>();
  readonly #ends = new SingleFlight<WriteAnswer>();

  constructor(context: ClientContext) {
    this.#context = context;
  }

  of(session: string): Observation | undefined {
    return this.#context.observations.of(this.#refOf(session).id);
  }

  /** Looks at the session, unless an answer has shown it within the last `freshMs` milliseconds. */
  async poll(
    session: string,
    freshMs: number,
    timeoutMs: number,
    signal: SignalLike,
  ): Promise<ReadAnswer | undefined> {
    const { observations } = this.#context;
    const ref = this.#refOf(session);
    if (this.#context.nowMs() - observations.lookedAtMs(ref.id) < freshMs) return undefined;
    const answer = await this.#read(ref, "eventual", timeoutMs, signal);
    if (answer.kind !== "found") return answer;
    if (isDoubtful(this.#context.format.read(answer.item))) {
      return this.look(session, timeoutMs, signal);
    }
    this.#context.seeRecord(ref, answer.item, "eventual");
    return answer;
  }

  /** What an eventual reading showed by the way; noted, where a watch may begin with it. */
  glance(session: string, item: Item): Found {
    const found = this.#context.format.read(item);
    return isDoubtful(found) ? found : this.#context.see(this.#refOf(session), item, "eventual");
  }

  /** Looks at the session by a strongly consistent read. */
  async look(session: string, timeoutMs: number, signal?: SignalLike): Promise<ReadAnswer> {
    const ref = this.#refOf(session);
    const answer = await this.#read(ref, "strong", timeoutMs, signal);
    if (answer.kind === "found") this.#context.seeRecord(ref, answer.item, "strong");
    return answer;
  }

  /**
   * Ends a session for good, on condition of exactly what was watched: its row is freed, or made as a
   * free one where it was watched absent. Refused, the answer shows that it lives, or has ended.
   */
  end({ session, watched }: Ending, owner: string, signal: SignalLike): Promise<WriteAnswer> {
    const ref = this.#refOf(session);
    const { format, settings } = this.#context;
    const ended = this.#ends.run(session, async () => {
      const wallMs = this.#context.wallMs();
      const write =
        watched === undefined
          ? format.tombstone(ref, { fence: BigInt(Math.floor(wallMs)), owner, wallMs })
          : this.#context.freeing(ref, { watched }, { keepData: false, lastHolder: "" });
      const answer = await this.#context.write(write, settings.requestTimeoutMs);
      if (answer.kind === "applied" || answer.kind === "refused") {
        this.#context.seeRecord(ref, answer.item, "strong");
      }
      return answer;
    });
    return orAborted(ended, signal);
  }

  #refOf(session: string): RecordRef {
    return this.#context.format.refOf("session", session);
  }

  #read(
    ref: RecordRef,
    strength: "strong" | "eventual",
    timeoutMs: number,
    signal: SignalLike | undefined,
  ): Promise<ReadAnswer> {
    const attributes = this.#context.format.pollAttributes;
    const read = { key: ref.key, consistent: strength === "strong", attributes };
    const looked = this.#looks.run(`${strength} ${ref.id}`, () =>
      this.#context.read(read, timeoutMs),
    );
    return orAborted(looked, signal);
  }
}

// The request itself goes on: other waiters want the same answer.
function orAborted<A>(answer: Promise<A>, signal?: SignalLike): Promise<A | Unknown> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve({ kind: "unknown", cause: signal.reason });
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

// A lagging replica may show neither the row nor its renewals, and a row that was deleted and made
// anew begins with its first version: only a strong reading tells these from a living session.
function isDoubtful(found: Found): boolean {
  return found.state === "absent" || ("version" in found && isFirst(found.version));
}

function isFirst(version: Version): boolean {
  return typeof version === "bigint" && version <= FIRST_VERSION;
}
