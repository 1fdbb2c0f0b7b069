import { HoldfastError, isHoldfastError } from "holdfast";
import {
  causeText,
  type HeadAnswer,
  type ObjectConditions,
  type ObjectHead,
  type StoreAnswer,
} from "holdfast/internal";
import { type CommitContext, callBeyond, type Patience, Pauses } from "./context.js";
import type { FixedStrategy } from "./options.js";

/**
 * The store's support for conditions.
 * - `atomic`: the store refuses false conditions. Of concurrent requests, exactly one succeeds.
 * - `ignored`: the store accepts the header and writes anyway, or lets several requests of a burst succeed.
 * - `rejected`: the store refuses requests with the header.
 */
export type ConditionSupport = "atomic" | "ignored" | "rejected";

/** The result of a probe, and the choice of `auto`. */
export interface ProbeReport {
  /** `If-None-Match: *` and `If-Match` on a put. */
  readonly put: ConditionSupport;
  /** `If-None-Match: *` on the destination of a copy. */
  readonly copy: ConditionSupport;
  /** The strategy that `auto` chooses. */
  readonly strategy: FixedStrategy;
}

// A store that first reads and then writes refuses sequential requests correctly. Only concurrent requests show the
// fault.
const BURST = 16;
const WRONG_ETAG = '"00000000000000000000000000000000"';
const BYTES = new Uint8Array([104, 111, 108, 100]);

/**
 * Probes the store's support for conditions, on objects that the probe creates below its prefix.
 *
 * Deletes these objects afterwards. Does **not** prove `atomic`: a burst of 16 requests can miss a race in the store.
 * At most 39 requests for puts, 23 for copies. Throws `unreachable`, `throttled`, `access-denied`,
 * and `misconfigured` if the bucket is missing.
 */
class Probe {
  readonly #context: CommitContext;
  readonly #made = new Set<string>();

  constructor(context: CommitContext) {
    this.#context = context;
  }

  /** Probes conditions on puts. */
  put(): Promise<ConditionSupport> {
    return this.#tidily(async () => {
      const key = this.#newKey();
      // The first put has no condition, so that the probe does not mistake a problem of the bucket for missing support.
      const etag = stored(await this.#put(key, {}));
      // Some stores check an ETag only if there is an object, and so would create a deleted object again.
      for (const [of, condition] of [
        [key, { ifAbsent: true }],
        [key, { ifMatch: WRONG_ETAG }],
        [this.#newKey(), { ifMatch: etag }],
      ] as const) {
        const support = supportBy(await this.#put(of, condition));
        if (support !== "atomic") return support;
      }
      const creates = await this.#burst((fresh) => this.#put(fresh, { ifAbsent: true }));
      // The body is one byte longer each time: an equal body would have an equal ETag.
      const replaces = await this.#burst(
        (_, turn) => this.#put(key, { ifMatch: etag }, turn + 1),
        key,
      );
      return worse(creates, replaces);
    });
  }

  /** Probes conditions on the destination of a copy. */
  copy(): Promise<ConditionSupport> {
    return this.#tidily(async () => {
      const [from, to] = [this.#newKey(), this.#newKey()];
      stored(await this.#put(from, {}));
      stored(await this.#put(to, {}));
      const source = await this.#readHead(from);
      const support = supportBy(await this.#copy(from, source, to));
      if (support !== "atomic") return support;
      return this.#burst((fresh) => this.#copy(from, source, fresh));
    });
  }

  async #tidily(probe: () => Promise<ConditionSupport>): Promise<ConditionSupport> {
    try {
      return await probe();
    } finally {
      const { objects } = this.#context;
      const all = [...this.#made].map((key) => objects.remove({ key }, callBeyond(this.#context)));
      await Promise.all(all);
    }
  }

  async #burst(
    send: (key: string, turn: number) => Promise<StoreAnswer>,
    key = this.#newKey(),
  ): Promise<ConditionSupport> {
    const turns = Array.from({ length: BURST }, (_, turn) => send(key, turn));
    const answers = await Promise.all(turns);
    const winners = answers.filter(({ kind }) => kind === "stored").length;
    if (winners > 1) return "ignored";
    // One without an answer may have won, too.
    for (const answer of answers) if (answer.kind === "unknown") stored(answer);
    if (winners === 1) return "atomic";
    // A throttled burst, or one with expired credentials, does not show what the store supports.
    for (const answer of answers) supportBy(answer);
    return "rejected";
  }

  #newKey(): string {
    const key = `${this.#context.settings.probePrefix}${this.#context.random.id()}`;
    this.#made.add(key);
    return key;
  }

  #put(key: string, conditions: ObjectConditions, more = 0): Promise<StoreAnswer> {
    const body = new Uint8Array([...BYTES, ...new Uint8Array(more)]);
    const { objects, random } = this.#context;
    return objects.put(
      { key, body, commitId: random.id(), ...conditions },
      callBeyond(this.#context),
    );
  }

  #copy(from: string, source: ObjectHead, key: string): Promise<StoreAnswer> {
    const { objects, random } = this.#context;
    return objects.copy(
      { from, source, key, commitId: random.id(), ifAbsent: true },
      callBeyond(this.#context),
    );
  }

  async #readHead(key: string): Promise<ObjectHead> {
    const answer = await this.#context.objects.head(key, callBeyond(this.#context));
    if (answer.kind === "found") return answer.head;
    throw silent(answer);
  }
}

/** Chooses the configured strategy, or probes the store once and keeps the result. */
export class Choice {
  readonly #context: CommitContext;
  readonly #known = new Map<"put" | "copy", Promise<ConditionSupport>>();

  constructor(context: CommitContext) {
    this.#context = context;
  }

  async strategy(patience?: Patience): Promise<FixedStrategy> {
    const { strategy } = this.#context.settings;
    if (strategy !== "auto") return strategy;
    const support = await this.#support("put", patience);
    return strategyFor(support, this.#context.table !== undefined);
  }

  async hasConditionalCopies(patience: Patience): Promise<boolean> {
    return (await this.#support("copy", patience)) === "atomic";
  }

  async report(): Promise<ProbeReport> {
    const put = await this.#support("put");
    const copy = await this.#support("copy");
    return { put, copy, strategy: strategyFor(put, this.#context.table !== undefined) };
  }

  /** An operation probes again for as long as it has patience: one throttled request must not end it. */
  async #support(of: "put" | "copy", patience?: Patience): Promise<ConditionSupport> {
    if (patience === undefined) return this.#probed(of);
    const pauses = new Pauses(this.#context, patience);
    for (;;) {
      try {
        return await patience.apart(() => this.#probed(of));
      } catch (error) {
        if (!isHoldfastError(error, "throttled") && !isHoldfastError(error, "unreachable"))
          throw error;
        await pauses.wait();
        patience.signal?.throwIfAborted();
        if (patience.remainingMs() <= 0) throw error;
      }
    }
  }

  #probed(of: "put" | "copy"): Promise<ConditionSupport> {
    const known = this.#known.get(of);
    if (known !== undefined) return known;
    const asked = new Probe(this.#context)[of]();
    this.#known.set(of, asked);
    // An outage does not show what the store supports, so the next operation probes again.
    asked.catch(() => this.#known.delete(of));
    return asked;
  }
}

/** The choice of `auto`: the store's own conditions if puts support conditions. */
function strategyFor(put: ConditionSupport, hasTable: boolean): FixedStrategy {
  if (put === "atomic") return "conditional";
  if (hasTable) return "dynamo";
  const why =
    put === "ignored"
      ? "takes conditional writes and ignores the condition"
      : "refuses conditional writes";
  throw new HoldfastError(
    "misconfigured",
    `The object store ${why}, so it cannot decide commits. Give a table of commit ` +
      "records: with the option `dynamodb`, or on the command line with --table.",
  );
}

function worse(one: ConditionSupport, other: ConditionSupport): ConditionSupport {
  return one === "atomic" ? other : one;
}

/** Returns how the store treats conditions, from its answer to a write whose condition is false. */
function supportBy(answer: StoreAnswer): ConditionSupport {
  if (["refused", "absent", "conflict"].includes(answer.kind)) return "atomic";
  if (answer.kind === "stored") return "ignored";
  if (answer.kind === "misconfigured" && answer.error.code === "misconfigured") return "rejected";
  throw silent(answer);
}

/** Returns the ETag; throws if the answer decides nothing about the store's conditions. */
function stored(answer: StoreAnswer): string {
  if (answer.kind === "stored") return answer.etag;
  throw silent(answer);
}

function silent(answer: StoreAnswer | HeadAnswer): HoldfastError {
  if (answer.kind === "misconfigured") return answer.error;
  const isThrottled = answer.kind === "throttled" || answer.kind === "conflict";
  const cause = "cause" in answer ? answer.cause : undefined;
  const said = causeText(cause) || ` (${answer.kind})`;
  return new HoldfastError(
    isThrottled ? "throttled" : "unreachable",
    "It is not known whether the object store supports conditional writes: it " +
      (isThrottled
        ? "throttles requests."
        : `gave no clear answer${said}. Check the endpoint, the region and the network.`) +
      " Nothing was committed. Try again.",
    { cause },
  );
}
