import { HoldfastError } from "../errors.js";
import type {
  HeadAnswer,
  ObjectConditions,
  ObjectHead,
  StoreAnswer,
} from "../platform/s3/objects.js";
import { type Around, callBeyond } from "./around.js";
import type { FixedStrategy } from "./options.js";

/**
 * What a store does with conditions.
 * - `atomic`: it refuses what it should, also in a burst, one of which exactly succeeds.
 * - `ignored`: it takes the header and writes all the same, or lets several of a burst succeed.
 * - `rejected`: it refuses requests that carry the header.
 */
export type ConditionSupport = "atomic" | "ignored" | "rejected";

/** What a probe found, and what `auto` makes of it. */
export interface ProbeReport {
  /** `If-None-Match: *` and `If-Match` when an object is put. */
  readonly put: ConditionSupport;
  /** `If-None-Match: *` on the destination of a copy. */
  readonly copy: ConditionSupport;
  /** What `auto` chooses by it. */
  readonly strategy: FixedStrategy;
}

// A server that looks and then writes passes a probe of one request after another.
const BURST = 16;
const NOBODYS_ETAG = '"00000000000000000000000000000000"';
const BYTES = new Uint8Array([104, 111, 108, 100]);

/**
 * Finds out what the store does with conditions, on objects of its own below the probe's prefix, which
 * it deletes. It proves what it finds `ignored` and `rejected`; `atomic` is what a burst of 16 suggests.
 * For puts 37 requests, for copies 23, at most. Throws `unreachable`, `throttled`, `access-denied`.
 */
export class Probe {
  readonly #around: Around;
  readonly #made = new Set<string>();

  constructor(around: Around) {
    this.#around = around;
  }

  /** Whether puts are conditional. */
  put(): Promise<ConditionSupport> {
    return this.#tidily(async () => {
      const key = this.#newKey();
      // Without a condition, so that what is wrong with the bucket is not put down to conditions.
      const etag = stored(await this.#put(key, {}));
      for (const condition of [{ ifAbsent: true }, { ifMatch: NOBODYS_ETAG }]) {
        const support = supportBy(await this.#put(key, condition));
        if (support !== "atomic") return support;
      }
      const creates = await this.#burst((fresh) => this.#put(fresh, { ifAbsent: true }));
      // The body is one byte longer each time: an equal one would have an equal ETag.
      const replaces = await this.#burst(
        (_, turn) => this.#put(key, { ifMatch: etag }, turn + 1),
        key,
      );
      return worse(creates, replaces);
    });
  }

  /** Whether the destination of a copy is. */
  copy(): Promise<ConditionSupport> {
    return this.#tidily(async () => {
      const [from, to] = [this.#newKey(), this.#newKey()];
      stored(await this.#put(from, {}));
      stored(await this.#put(to, {}));
      const source = await this.#look(from);
      const support = supportBy(await this.#copy(from, source, to));
      if (support !== "atomic") return support;
      return this.#burst((fresh) => this.#copy(from, source, fresh));
    });
  }

  async #tidily(probe: () => Promise<ConditionSupport>): Promise<ConditionSupport> {
    try {
      return await probe();
    } finally {
      const { objects } = this.#around;
      const all = [...this.#made].map((key) => objects.remove({ key }, callBeyond(this.#around)));
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
    for (const answer of answers) if (answer.kind === "unknown") stored(answer);
    return winners === 1 ? "atomic" : "rejected";
  }

  #newKey(): string {
    const key = `${this.#around.settings.probePrefix}${this.#around.random.id()}`;
    this.#made.add(key);
    return key;
  }

  #put(key: string, conditions: ObjectConditions, more = 0): Promise<StoreAnswer> {
    const body = new Uint8Array([...BYTES, ...new Uint8Array(more)]);
    const { objects, random } = this.#around;
    return objects.put(
      { key, body, commitId: random.id(), ...conditions },
      callBeyond(this.#around),
    );
  }

  #copy(from: string, source: ObjectHead, key: string): Promise<StoreAnswer> {
    const { objects, random } = this.#around;
    return objects.copy(
      { from, source, key, commitId: random.id(), ifAbsent: true },
      callBeyond(this.#around),
    );
  }

  async #look(key: string): Promise<ObjectHead> {
    const answer = await this.#around.objects.head(key, callBeyond(this.#around));
    if (answer.kind === "found") return answer.head;
    throw silent(answer);
  }
}

/** What `auto` chooses: the store's own conditions where puts have them. */
export function strategyFor(put: ConditionSupport, hasTable: boolean): FixedStrategy {
  if (put === "atomic") return "conditional";
  if (hasTable) return "dynamo";
  const why =
    put === "ignored"
      ? "takes conditional writes and ignores the condition"
      : "refuses conditional writes";
  throw new HoldfastError(
    "misconfigured",
    `The object store ${why}, so it cannot decide who commits. Name a table of ` +
      "commit records: with the option `dynamodb`, or on the command line with --table.",
  );
}

function worse(one: ConditionSupport, other: ConditionSupport): ConditionSupport {
  return one === "atomic" ? other : one;
}

/** What the answer to a write says whose condition does not hold. */
function supportBy(answer: StoreAnswer): ConditionSupport {
  if (answer.kind === "refused" || answer.kind === "conflict") return "atomic";
  if (answer.kind === "stored") return "ignored";
  if (answer.kind === "misconfigured" && answer.error.code === "misconfigured") return "rejected";
  throw silent(answer);
}

/** The ETag; throws where the answer decides nothing about the store's conditions. */
function stored(answer: StoreAnswer): string {
  if (answer.kind === "stored") return answer.etag;
  throw silent(answer);
}

function silent(answer: StoreAnswer | HeadAnswer): HoldfastError {
  if (answer.kind === "misconfigured") return answer.error;
  const isThrottled = answer.kind === "throttled" || answer.kind === "conflict";
  return new HoldfastError(
    isThrottled ? "throttled" : "unreachable",
    "The object store could not be probed for conditional writes: it " +
      (isThrottled ? "refuses requests for now." : `gave no clear answer (${answer.kind}).`) +
      " Nothing was committed; try again.",
    { cause: "cause" in answer ? answer.cause : undefined },
  );
}
