import type {
  AttributeValue,
  Call,
  Condition,
  Item,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Transacting,
  Write,
  WriteAnswer,
} from "../../packages/holdfast/src/platform/table.js";
import type { Event, RequestKind } from "./history.js";

type NoteOf = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/** Receives the observations of a witness. */
export interface Listener {
  readonly trueNowMs: number;
  note(event: NoteOf): void;
  /** Called for every request, noted or not; with the place in a queue that it removes. */
  sent(removed?: string): void;
  /** Called for a release of a lock after the answer to an earlier release of the same grant. */
  releasedAgain(name: string, holder: string | undefined): void;
}

/**
 * Records, between a process and its network, the information that the process has: the answered requests, and the true
 * time of the first send of each request.
 */
export class Witness implements TablePort {
  readonly #network: TablePort;
  readonly #listener: Listener;
  readonly #notesRequests: boolean;
  /** The first send of each write which may have been applied, by the write's unique mark. */
  readonly #firstSent = new Map<string, { readonly sentMs: number; isUnanswered: boolean }>();

  /** The releases that the table acknowledged, by their conditions. */
  readonly #released = new Set<string>();

  constructor(network: TablePort, listener: Listener, notesRequests: boolean) {
    this.#network = network;
    this.#listener = listener;
    this.#notesRequests = notesRequests;
  }

  get clockCorrectionMs(): number {
    return this.#network.clockCorrectionMs;
  }

  get tellsDate(): boolean {
    return this.#network.tellsDate === true;
  }

  get connections(): number | undefined {
    return this.#network.connections;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    const { kind, name } = recordIn(write.key);
    const isRemoval = write.as === "delete" && kind === "place";
    this.#listener.sent(isRemoval ? `${name} ${stringIn(write.key["sk"])}` : undefined);
    const mark = stringIn(write.change.set["mark"]);
    if (mark !== undefined && !this.#firstSent.has(mark)) {
      this.#firstSent.set(mark, { sentMs: this.#listener.trueNowMs, isUnanswered: false });
      this.#noteChange(write);
    }
    const released = releaseIn(write);
    if (released !== undefined && this.#released.has(released)) {
      this.#listener.releasedAgain(name, stringIn(write.change.set["lastHolder"]));
    }
    const answer = await this.#network.write(write, call);
    if (released !== undefined && answer.kind === "applied") this.#released.add(released);
    if (this.#notesRequests) {
      this.#note(write.key, kindOf(write), answer.kind === "applied");
    }
    if (mark !== undefined) this.#see(write, mark, answer);
    return answer;
  }

  /** Undefined if the network has no transactions. */
  get transact(): Transacting | undefined {
    const transact = this.#network.transact?.bind(this.#network);
    return (
      transact &&
      ((transaction, call) => {
        this.#listener.sent();
        return transact(transaction, call);
      })
    );
  }

  async read(read: Read, call: Call): Promise<ReadAnswer> {
    this.#listener.sent();
    const answer = await this.#network.read(read, call);
    if (this.#notesRequests) {
      this.#note(read.key, read.consistent ? "look" : "poll", answer.kind === "found");
    }
    return answer;
  }

  scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    this.#listener.sent();
    return this.#network.scan(scan, call);
  }

  async query(query: Query, call: Call): Promise<ScanAnswer> {
    this.#listener.sent();
    const answer = await this.#network.query(query, call);
    const { kind, name } = partitionIn(query.partition.value);
    if (this.#notesRequests && kind === "place") this.#listener.note({ kind: "queue read", name });
    return answer;
  }

  // A renewal is lost if the answer shows the session without a holder, or no session.
  #seeLoss({ key, condition, change }: Write, item: Item | undefined): void {
    const { kind, name } = recordIn(key);
    const isRenewal = kind === "session" && change.set["holder"] === undefined;
    if (!isRenewal || stringIn(item?.["holder"]) === asksFor(condition, "holder")) return;
    this.#listener.note({ kind: "session over", session: name, why: "lost" });
  }

  #note(key: Item, what: RequestKind, isApplied: boolean): void {
    const { kind, name } = recordIn(key);
    if (kind === "lock") this.#listener.note({ kind: "request", name, what, isApplied });
    else if (kind === "session")
      this.#listener.note({ kind: "session request", session: name, what, isApplied });
  }

  // From the first send on, only the table knows which deadline a rival goes by.
  #noteChange({ key, condition, change }: Write): void {
    if (!["lock", "session"].includes(recordIn(key).kind)) return;
    const leaseMs = numberIn(change.set["leaseMs"]);
    const fence = asksFor(condition, "fence");
    if (change.set["holder"] !== undefined || leaseMs === undefined || fence === undefined) return;
    this.#listener.note({
      kind: "changing",
      name: recordIn(key).name,
      fence: BigInt(fence),
      leaseMs: Number(leaseMs),
      ...sessionIn(change.set["session"]),
    });
  }

  #see(write: Write, mark: string, answer: WriteAnswer): void {
    const first = this.#firstSent.get(mark);
    if (first === undefined) return;
    if (answer.kind === "unknown") first.isUnanswered = true;
    // Certainly not applied: unless an earlier copy may have been, the lease counts from the next send.
    else if (!first.isUnanswered || answer.kind === "applied") this.#firstSent.delete(mark);
    if (answer.kind !== "applied" && answer.kind !== "refused") return;
    const { item } = answer;
    this.#seeLoss(write, item);
    if (item?.["holder"] === undefined || !shows(item, write, mark)) return;
    const fence = numberIn(item["fence"]);
    const leaseMs = numberIn(item["leaseMs"]);
    if (fence === undefined || leaseMs === undefined) return;
    const { kind, name } = recordIn(write.key);
    if (kind === "place" || kind === "permits") return;
    const kept = { sentMs: first.sentMs, leaseMs: Number(leaseMs) };
    this.#listener.note(
      kind === "session"
        ? { kind: "session kept", session: name, ...kept }
        : { kind: "kept", name, fence: BigInt(fence), ...kept, ...sessionIn(item["session"]) },
    );
  }
}

/**
 * Returns the condition of the release of a known grant; undefined for any other write. A rollback knows no fence, and is
 * sent more than once, against late copies of the claim.
 */
function releaseIn(write: Write): string | undefined {
  if (kindOf(write) !== "release" || recordIn(write.key).kind !== "lock") return undefined;
  const condition = JSON.stringify(write.condition);
  return condition.includes('"fence"') ? condition : undefined;
}

function sessionIn(value: object | undefined): { readonly session?: string } {
  const session = stringIn(value);
  return session === undefined ? {} : { session };
}

/**
 * Whether an item shows this very write applied: by its mark; or, if a late copy of an earlier renewal changed the
 * mark, by the number of its data, which is unique among the holder's writes.
 */
function shows(item: Item, write: Write, mark: string): boolean {
  if (stringIn(item["mark"]) === mark) return true;
  const seq = numberIn(write.change.set["dataSeq"]);
  const holder = stringIn(item["holder"]);
  if (seq === undefined || holder === undefined || write.change.set["holder"] !== undefined)
    return false;
  return numberIn(item["dataSeq"]) === seq && asksFor(write.condition, "holder") === holder;
}

/** Returns the text or the number which a condition requires of an attribute. */
function asksFor(condition: Condition, attribute: string): string | undefined {
  if (condition.kind === "equals" && condition.attribute === attribute) {
    return stringIn(condition.value) ?? numberIn(condition.value);
  }
  if (condition.kind !== "all") return undefined;
  for (const part of condition.of) {
    const text = asksFor(part, attribute);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns the purpose of a write, by shape. */
function kindOf({ change }: Write): RequestKind {
  if (change.set["holder"] !== undefined) return "grant";
  if (change.remove.includes("holder")) return "release";
  return change.set["mark"] === undefined ? "data" : "renewal";
}

/** The steps of a session. */
export const MOVE = "a move to a session";
export const ENDED = "a session is ended by a rival";
export const ENTOMBED = "an absent session is entombed";

/** Returns the session step of a write; undefined for a write without a session. */
export function sessionStepOf(write: Write): string | undefined {
  const { set, remove } = write.change;
  const { kind } = recordIn(write.key);
  if (kind === "place" || kind === "permits") return undefined;
  if (kind === "lock") {
    return set["session"] === undefined ? undefined : MOVE;
  }
  if (set["holder"] !== undefined) return "a session is made";
  if (set["mark"] !== undefined) return "a session is renewed";
  if (!remove.includes("holder")) return ENTOMBED;
  // Only a client which watched the session names the version.
  const isWatched = speaksOf(write.condition, "version");
  return isWatched ? ENDED : "a session is closed";
}

function speaksOf(condition: Condition, attribute: string): boolean {
  if ("of" in condition) return condition.of.some((part) => speaksOf(part, attribute));
  return condition.attribute === attribute;
}

interface Subject {
  /** `lock`: any record with one holder. `permits`: the record of a semaphore or a read-write lock. */
  readonly kind: "lock" | "session" | "place" | "permits";
  readonly name: string;
}

/** Returns a record's lock name or session id, by key. Other records than locks have their kind in the name. */
export function recordIn(key: Item): Subject {
  return partitionIn(stringIn(key["pk"]) ?? "?");
}

function partitionIn(pk: string): Subject {
  if (pk.startsWith("queue#")) return { kind: "place", name: pk.slice("queue#".length) };
  if (pk.startsWith("semaphore#") || pk.startsWith("read-write#"))
    return { kind: "permits", name: pk };
  if (pk.startsWith("session#")) return { kind: "session", name: pk.slice("session#".length) };
  return { kind: "lock", name: pk.startsWith("lock#") ? pk.slice("lock#".length) : pk };
}

function numberIn(value: object | undefined): string | undefined {
  return value !== undefined && "N" in value && typeof value.N === "string" ? value.N : undefined;
}

function stringIn(value: AttributeValue | object | undefined): string | undefined {
  return value !== undefined && "S" in value && typeof value.S === "string" ? value.S : undefined;
}
