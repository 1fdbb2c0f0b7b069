import {
  type Call,
  type Dated,
  type DynamoDBLike,
  DynamoDBTable,
  expiresAt,
  type Grant,
  HoldfastError,
  type Item,
  isoTimeOf,
  type Misconfigured,
  nativeFormat,
  type RecordRef,
  type ScanAnswer,
  type SignalLike,
  sleep,
  systemClock,
  systemRandom,
  systemTimers,
  type TableSchema,
  type Transaction,
  type TransactionAnswer,
  type Write,
  type WriteAnswer,
} from "holdfast/internal";

const REQUEST_MS = 5_000;
const CALL: Call = { timeoutMs: REQUEST_MS };
const LEASE_MS = 1_000;
const OWNER = "holdfast diagnose --engine";
const NO_CHANGE = Object.freeze({ set: {}, remove: [] });

/** Where the checks write. */
export interface ProbePlace {
  readonly client: DynamoDBLike;
  readonly table: string;
  readonly schema: TableSchema;
  readonly prefix: string;
  readonly signal: SignalLike | undefined;
}

/** A definite answer to a write. */
export type Settled = Extract<WriteAnswer, { readonly kind: "applied" | "refused" }>;

/**
 * The requests of the checks: the same as those of locks, on records below a random name. Remembers all keys, so that
 * {@link Probe.cleanUp} can delete every record.
 */
export class Probe {
  /** The records' common name. */
  readonly name: string;
  readonly format: ReturnType<typeof nativeFormat>;
  readonly #table: DynamoDBTable;
  readonly #schema: TableSchema;
  readonly #signal: SignalLike | undefined;
  readonly #keys = new Map<string, Item>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #requests = 0;

  constructor({ client, table, schema, prefix, signal }: ProbePlace) {
    this.name = `${prefix}holdfast-engine-${systemRandom.id()}`;
    this.format = nativeFormat(schema.keys);
    this.#table = new DynamoDBTable(client, table);
    this.#schema = schema;
    this.#signal = signal;
  }

  /** The requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Waits, unless the caller aborts. */
  async pause(ms: number): Promise<void> {
    await sleep(systemTimers, ms, true, this.#signal);
  }

  /** Counts a request that did not use this object. */
  countRequest(): void {
    this.#requests += 1;
  }

  /** Returns a record that no earlier check used. */
  record(part: string): RecordRef {
    const ref = this.format.codec.refOf("lock", `${this.name}/${part}`);
    this.#keys.set(ref.id, ref.key);
    return ref;
  }

  /** Returns the values of a new grant, with a new holder. */
  grant(): Grant {
    const wallMs = systemClock.wallMs();
    return {
      holder: systemRandom.id(),
      leaseMs: LEASE_MS,
      owner: OWNER,
      data: undefined,
      existingData: "replace",
      existingAttributes: "replace",
      wallMs,
      acquiredAt: isoTimeOf(wallMs),
      fenceSeed: BigInt(Math.floor(wallMs)),
    };
  }

  /** Returns the claim of an absent record. */
  claim(ref: RecordRef, grant: Grant): Write {
    return this.format.lease.claim(ref, grant, { kind: "absent" });
  }

  /** Returns the takeover of a record in the version of this item. */
  takeOver(ref: RecordRef, grant: Grant, item: Item): Write {
    return this.format.lease.takeOver(ref, grant, {
      holder: holderIn(item) ?? "",
      version: BigInt(numberIn(item, "version")),
      session: undefined,
    });
  }

  /** Sends a write. Throws if the engine refuses this kind of write, or if the caller aborted. */
  async write(write: Write, timeoutMs = REQUEST_MS): Promise<Exclude<WriteAnswer, Misconfigured>> {
    const answer = await this.#count(this.#table.write(write, { timeoutMs }));
    if (answer.kind === "misconfigured") throw answer.error;
    return answer;
  }

  /** Sends a write that must get a definite answer, and throws without one. */
  async settle(write: Write): Promise<Settled> {
    const answer = await this.write(write);
    if (answer.kind === "applied" || answer.kind === "refused") return answer;
    throw unsettled(answer.kind);
  }

  /** Claims an absent record, and returns the new item. Throws if the record exists. */
  async claimed(ref: RecordRef): Promise<Item> {
    const answer = await this.settle(this.claim(ref, this.grant()));
    if (answer.kind === "applied") return answer.item ?? {};
    throw new HoldfastError("misconfigured", "The engine refused to create an absent record.");
  }

  /** Creates a record with these attributes, for TTL to delete if nothing else does. */
  async create(ref: RecordRef, attributes: Item): Promise<void> {
    const set = { ...attributes, expiresAt: expiresAt(systemClock.wallMs(), LEASE_MS) };
    const condition = { kind: "absent", attribute: this.#schema.keys.pk } as const;
    await this.settle({ key: ref.key, condition, change: { set, remove: [] } });
  }

  /** Sends a transaction. */
  transact(transaction: Transaction): Promise<TransactionAnswer> {
    return this.#count(this.#table.transact(transaction, CALL));
  }

  /** Reads a record, strongly consistent. */
  async read(ref: RecordRef): Promise<Item | undefined> {
    const { item } = await this.readDated(ref);
    return item;
  }

  /** As {@link Probe.read}, with the `Date` of the answer. */
  async readDated(ref: RecordRef): Promise<Dated & { readonly item: Item | undefined }> {
    const reading = this.#table.read({ key: ref.key, consistent: true }, CALL);
    const answer = await this.#count(reading);
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "found") return answer;
    throw unsettled(answer.kind);
  }

  /** Reads a record by a strongly consistent query. Undefined for a table without a sort key. */
  async queried(ref: RecordRef): Promise<readonly Item[] | undefined> {
    const { pk, sk } = this.#schema.keys;
    if (sk === null) return undefined;
    const [value, at] = [textIn(ref.key, pk), textIn(ref.key, sk)];
    const query = {
      partition: { attribute: pk, value },
      sort: { attribute: sk, from: at, to: at },
      consistent: true,
    };
    const answer: ScanAnswer = await this.#count(this.#table.query(query, CALL));
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "page") return answer.items;
    throw unsettled(answer.kind);
  }

  /**
   * Deletes all records. Returns the number of records that are left, for example because the caller may not delete.
   * Ignores the caller's signal: after an abort, the records still have to go. First waits for the requests in flight,
   * because a claim that arrives after the deletion of its record would create the record again.
   */
  async cleanUp(): Promise<number> {
    await Promise.allSettled(this.#inFlight);
    const present = { kind: "present", attribute: this.#schema.keys.pk } as const;
    const deleted = [...this.#keys.values()].map(async (key) => {
      this.#requests += 1;
      const write: Write = { key, condition: present, change: NO_CHANGE, as: "delete" };
      const { kind } = await this.#table.write(write, CALL);
      return kind === "applied" || kind === "refused";
    });
    return (await Promise.all(deleted)).filter((isGone) => !isGone).length;
  }

  async #count<A>(answer: Promise<A>): Promise<A> {
    this.#requests += 1;
    this.#inFlight.add(answer);
    const answered = await answer.finally(() => this.#inFlight.delete(answer));
    if (this.#signal?.aborted === true) throw this.#signal.reason;
    return answered;
  }
}

function unsettled(kind: "unknown" | "throttled" | "conflict" | "skewed"): HoldfastError {
  return kind === "unknown"
    ? new HoldfastError("unreachable", `The engine did not answer within ${REQUEST_MS} ms.`)
    : new HoldfastError("throttled", `The engine refused a request (${kind}).`);
}

/** The holder of a record, or undefined. */
export function holderIn(item: Item | undefined): string | undefined {
  const value = item?.["holder"];
  return value !== undefined && "S" in value ? value.S : undefined;
}

/** The digits of a number in a record; "0" if there is none. */
export function numberIn(item: Item | undefined, attribute: string): string {
  const value = item?.[attribute];
  return value !== undefined && "N" in value ? value.N : "0";
}

function textIn(key: Item, attribute: string): string {
  const value = key[attribute];
  return value !== undefined && "S" in value ? value.S : "";
}
