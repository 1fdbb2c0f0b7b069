import type {
  AttributeValue,
  Call,
  Condition,
  Item,
  Query,
  Read,
  ReadAnswer,
  Removal,
  RemovalAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Write,
  WriteAnswer,
} from "../src/platform/table.js";
import type { Event, RequestKind } from "./history.js";

type NoteOf = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/** Who listens to a witness. */
export interface Listener {
  readonly trueNowMs: number;
  note(event: NoteOf): void;
  /** Every request, whether or not it is noted. */
  sent(): void;
}

/**
 * Stands between one process and its network, and sees what the process itself sees: which of its
 * requests were answered, and when it had sent them first, in true time.
 */
export class Witness implements TablePort {
  readonly #network: TablePort;
  readonly #listener: Listener;
  readonly #notesRequests: boolean;
  /** When each write was first sent that may have been applied, by the mark that tells it apart. */
  readonly #firstSent = new Map<string, { readonly sentMs: number; isUnanswered: boolean }>();

  constructor(network: TablePort, listener: Listener, notesRequests: boolean) {
    this.#network = network;
    this.#listener = listener;
    this.#notesRequests = notesRequests;
  }

  get clockCorrectionMs(): number {
    return this.#network.clockCorrectionMs;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    this.#listener.sent();
    const mark = stringIn(write.change.set["mark"]);
    if (mark !== undefined && !this.#firstSent.has(mark)) {
      this.#firstSent.set(mark, { sentMs: this.#listener.trueNowMs, isUnanswered: false });
    }
    const answer = await this.#network.write(write, call);
    if (this.#notesRequests) {
      this.#note(write.key, kindOf(write), answer.kind === "applied");
    }
    if (mark !== undefined) this.#see(write, mark, answer);
    return answer;
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

  query(query: Query, call: Call): Promise<ScanAnswer> {
    this.#listener.sent();
    return this.#network.query(query, call);
  }

  remove(removal: Removal, call: Call): Promise<RemovalAnswer> {
    this.#listener.sent();
    return this.#network.remove(removal, call);
  }

  #note(key: Item, what: RequestKind, isApplied: boolean): void {
    this.#listener.note({ kind: "request", name: nameIn(key), what, isApplied });
  }

  #see(write: Write, mark: string, answer: WriteAnswer): void {
    const first = this.#firstSent.get(mark);
    if (first === undefined) return;
    if (answer.kind === "unknown") first.isUnanswered = true;
    // Certainly not applied: unless an earlier copy may have been, the lease counts from the next.
    else if (!first.isUnanswered || answer.kind === "applied") this.#firstSent.delete(mark);
    if (answer.kind !== "applied" && answer.kind !== "refused") return;
    const { item } = answer;
    if (item?.["holder"] === undefined || !shows(item, write, mark)) return;
    const fence = numberIn(item["fence"]);
    const leaseMs = numberIn(item["leaseMs"]);
    if (fence === undefined || leaseMs === undefined) return;
    this.#listener.note({
      kind: "kept",
      name: nameIn(write.key),
      fence: BigInt(fence),
      sentMs: first.sentMs,
      leaseMs: Number(leaseMs),
    });
  }
}

/**
 * Whether an item shows this very write applied: by its mark; or, if a renewal that was sent earlier
 * landed later and changed that, by the number of its data, which no other write of the holder has.
 */
function shows(item: Item, write: Write, mark: string): boolean {
  if (stringIn(item["mark"]) === mark) return true;
  const seq = numberIn(write.change.set["dataSeq"]);
  const holder = stringIn(item["holder"]);
  if (seq === undefined || holder === undefined || write.change.set["holder"] !== undefined)
    return false;
  return numberIn(item["dataSeq"]) === seq && asksFor(write.condition, "holder") === holder;
}

/** The text that a condition requires of an attribute. */
function asksFor(condition: Condition, attribute: string): string | undefined {
  if (condition.kind === "equals" && condition.attribute === attribute) {
    return stringIn(condition.value);
  }
  if (condition.kind !== "all") return undefined;
  for (const part of condition.of) {
    const text = asksFor(part, attribute);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** What a write is for, by its shape. */
function kindOf({ change }: Write): RequestKind {
  if (change.set["holder"] !== undefined) return "grant";
  if (change.remove.includes("holder")) return "release";
  return change.set["mark"] === undefined ? "data" : "renewal";
}

/** The lock's name in a record's key. */
export function nameIn(key: Item): string {
  return stringIn(key["pk"])?.slice("lock#".length) ?? "?";
}

function numberIn(value: object | undefined): string | undefined {
  return value !== undefined && "N" in value && typeof value.N === "string" ? value.N : undefined;
}

function stringIn(value: AttributeValue | object | undefined): string | undefined {
  return value !== undefined && "S" in value && typeof value.S === "string" ? value.S : undefined;
}
