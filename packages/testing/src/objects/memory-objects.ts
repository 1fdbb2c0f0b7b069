import { createHash } from "node:crypto";
import { HoldfastError } from "holdfast";
import {
  type Call,
  causeText,
  checkNames,
  type GetAnswer,
  type HeadAnswer,
  type ObjectConditions,
  type ObjectCopy,
  type ObjectHead,
  type ObjectPort,
  type ObjectPut,
  type ObjectRemoval,
  type OptionNames,
  type StoreAnswer,
  type StreamBody,
} from "holdfast/internal";

/**
 * How a store in memory treats conditions.
 * - `honoured`: checks and writes in one step.
 * - `unlocked`: checks, and writes a moment later, so that two writers can succeed.
 * - `ignored`: writes without a check or an error.
 * - `rejected`: refuses requests with conditions.
 */
export type ConditionsKept = "honoured" | "unlocked" | "ignored" | "rejected";

/** Options of {@link MemoryObjects}. */
export interface MemoryObjectsOptions {
  /** Default `honoured`. */
  readonly conditions?: ConditionsKept;
  /** Conditions on the destination of a copy. Default `conditions`. Many stores support conditions only for puts. */
  readonly copyConditions?: ConditionsKept;
  /** Called synchronously after every change. */
  readonly onChange?: (change: ObjectChange) => void;
}

const NAMES: OptionNames<MemoryObjectsOptions> = {
  conditions: true,
  copyConditions: true,
  onChange: true,
};

/** One change of one object. */
export interface ObjectChange {
  readonly key: string;
  readonly before: MemoryObject | undefined;
  readonly after: MemoryObject | undefined;
}

/** An object in the store. */
export interface MemoryObject {
  readonly head: ObjectHead;
  readonly body: Uint8Array;
}

/** How many requests of each kind were carried out or refused. */
export type ObjectCounts = Readonly<Record<keyof ObjectPort, number>>;

const NO_COUNTS: ObjectCounts = Object.freeze({ head: 0, get: 0, put: 0, copy: 0, remove: 0 });

/**
 * One bucket in memory, for tests. Answers at once and never fails. Wrap the bucket in a `FaultyObjects` for
 * faults. ETags depend on the content alone, as in most stores.
 */
export class MemoryObjects implements ObjectPort {
  readonly #options: MemoryObjectsOptions;
  readonly #objects = new Map<string, MemoryObject>();
  #counts: ObjectCounts = NO_COUNTS;

  constructor(options: MemoryObjectsOptions = {}) {
    this.#options = checkNames("MemoryObjects", options, NAMES);
  }

  /** The number of requests so far, as a new object on every read. */
  get counts(): ObjectCounts {
    return this.#counts;
  }

  /** The current object. Does not count as a request. */
  object(key: string): MemoryObject | undefined {
    return this.#objects.get(key);
  }

  /** The existing keys, in order. */
  keys(): string[] {
    return [...this.#objects.keys()].sort();
  }

  /** Writes an object without any condition, as a writer without a committer does. */
  putByHand(key: string, text: string): ObjectHead {
    const body = Buffer.from(text);
    return this.#become(key, body, { metadata: {}, system: {} }).head;
  }

  async head(key: string, call: Call): Promise<HeadAnswer> {
    this.#count("head");
    const found = this.#objects.get(key);
    if (call.signal?.aborted) return { kind: "unknown", cause: call.signal.reason };
    return found === undefined ? { kind: "absent" } : { kind: "found", head: found.head };
  }

  async get(key: string, call: Call): Promise<GetAnswer> {
    this.#count("get");
    const found = this.#objects.get(key);
    if (call.signal?.aborted) return { kind: "unknown", cause: call.signal.reason };
    return found === undefined ? { kind: "absent" } : { kind: "found", ...found };
  }

  async put(put: ObjectPut, call: Call): Promise<StoreAnswer> {
    this.#count("put");
    if (call.signal?.aborted) return { kind: "unknown", cause: call.signal.reason };
    const body = put.body instanceof Uint8Array ? put.body : await whole(put.body, put);
    if (body instanceof HoldfastError) return { kind: "misconfigured", error: body };
    const kept = this.#kept(put);
    const refusal = this.#refusal(put.key, put, kept);
    if (refusal !== undefined) return refusal;
    if (kept === "unlocked") await Promise.resolve();
    const { commitId, contentType, metadata = {}, system = {} } = put;
    const { head } = this.#become(put.key, body, { commitId, contentType, metadata, system });
    return { kind: "stored", etag: head.etag };
  }

  async copy(copy: ObjectCopy, call: Call): Promise<StoreAnswer> {
    this.#count("copy");
    if (call.signal?.aborted) return { kind: "unknown", cause: call.signal.reason };
    const asked = this.#kept(copy);
    const kept = asked && (this.#options.copyConditions ?? asked);
    const refusal = this.#refusal(copy.key, copy, kept);
    if (refusal !== undefined) return refusal;
    if (kept === "unlocked") await Promise.resolve();
    const from = this.#objects.get(copy.from);
    if (from === undefined) return { kind: "absent" };
    if (from.head.etag !== copy.source.etag) return { kind: "refused" };
    const { contentType, metadata, system } = copy.source;
    const { head } = this.#become(copy.key, from.body, {
      commitId: copy.commitId,
      contentType,
      metadata,
      system,
    });
    return { kind: "stored", etag: head.etag };
  }

  async remove(removal: ObjectRemoval, call: Call): Promise<StoreAnswer> {
    this.#count("remove");
    if (call.signal?.aborted) return { kind: "unknown", cause: call.signal.reason };
    const kept = this.#kept(removal);
    const refusal = this.#refusal(removal.key, removal, kept);
    if (refusal !== undefined) return refusal;
    if (kept === "unlocked") await Promise.resolve();
    const before = this.#objects.get(removal.key);
    this.#objects.delete(removal.key);
    if (before !== undefined) this.#tell({ key: removal.key, before, after: undefined });
    return { kind: "stored", etag: "" };
  }

  #kept({ ifAbsent, ifMatch }: ObjectConditions): ConditionsKept | undefined {
    if (ifAbsent !== true && ifMatch === undefined) return undefined;
    return this.#options.conditions ?? "honoured";
  }

  /** Checks the conditions. The write follows in the same step of the event loop, except with `unlocked`. */
  #refusal(
    key: string,
    { ifAbsent, ifMatch }: ObjectConditions,
    kept: ConditionsKept | undefined,
  ): StoreAnswer | undefined {
    if (kept === undefined || kept === "ignored") return undefined;
    if (kept === "rejected") {
      const message = "A header you provided implies functionality that is not implemented.";
      return { kind: "misconfigured", error: new HoldfastError("misconfigured", message) };
    }
    const found = this.#objects.get(key);
    if (ifAbsent === true && found !== undefined) return { kind: "refused" };
    if (ifMatch === undefined || found?.head.etag === ifMatch) return undefined;
    return { kind: found === undefined ? "absent" : "refused" };
  }

  #become(
    key: string,
    body: Uint8Array,
    rest: Pick<ObjectHead, "metadata" | "system"> & {
      readonly commitId?: string;
      readonly contentType?: string | undefined;
    },
  ): MemoryObject {
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    const { commitId, contentType } = rest;
    const head = { ...rest, etag, size: body.length, commitId, contentType };
    const before = this.#objects.get(key);
    const after = { head, body: body.slice() };
    this.#objects.set(key, after);
    this.#tell({ key, before, after });
    return after;
  }

  #tell(change: ObjectChange): void {
    this.#options.onChange?.(change);
  }

  #count(kind: keyof ObjectPort): void {
    this.#counts = { ...this.#counts, [kind]: this.#counts[kind] + 1 };
  }
}

/** The bytes of a stream; the error with which an `S3Client` refuses a stream that fails, or has another length. */
async function whole(
  { stream, length }: StreamBody,
  { key, onBytes }: ObjectPut,
): Promise<Uint8Array | HoldfastError> {
  const chunks: Uint8Array[] = [];
  let sent = 0;
  try {
    for await (const read of stream as AsyncIterable<Uint8Array | string>) {
      // A `Readable` with an encoding has texts, which an `S3Client` sends as UTF-8.
      const chunk = typeof read === "string" ? Buffer.from(read) : read;
      chunks.push(chunk);
      sent += chunk.length;
      if (sent > length) throw new Error(`It has more than ${length} bytes.`);
      onBytes?.(sent);
    }
    if (sent < length) throw new Error(`It has only ${sent} bytes instead of ${length}.`);
  } catch (cause) {
    const message = `Object "${key}" was not written: its stream failed, or has another length than announced${causeText(cause)}. Give a new stream.`;
    return new HoldfastError("invalid-argument", message, { objectKey: key, cause });
  }
  return Buffer.concat(chunks);
}
