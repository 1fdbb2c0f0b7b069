import type {
  AttributeValue,
  Call,
  Item,
  Read,
  ReadAnswer,
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
    const fence = item?.["fence"];
    const leaseMs = item?.["leaseMs"];
    if (item?.["holder"] === undefined || stringIn(item["mark"]) !== mark) return;
    if (fence === undefined || !("N" in fence) || leaseMs === undefined || !("N" in leaseMs))
      return;
    this.#listener.note({
      kind: "kept",
      name: nameIn(write.key),
      fence: BigInt(fence.N),
      sentMs: first.sentMs,
      leaseMs: Number(leaseMs.N),
    });
  }
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

function stringIn(value: AttributeValue | object | undefined): string | undefined {
  return value !== undefined && "S" in value && typeof value.S === "string" ? value.S : undefined;
}
