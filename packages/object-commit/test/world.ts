import type { HoldfastError } from "../../holdfast/src/errors.js";
import type { Random } from "../../holdfast/src/platform/random.js";
import { FaultyTable, type Latency } from "../../testing/src/faults/faults.js";
import { FaultyObjects } from "../../testing/src/objects/faulty-objects.js";
import {
  MemoryObjects,
  type MemoryObjectsOptions,
} from "../../testing/src/objects/memory-objects.js";
import { MemoryTable } from "../../testing/src/table/memory-table.js";
import { seededRandom } from "../../testing/src/time/seeded-random.js";
import type { ProcessOptions, VirtualProcess } from "../../testing/src/time/virtual-process.js";
import { VirtualTime } from "../../testing/src/time/virtual-time.js";
import { type ObjectCommitter, objectCommitter } from "../src/committer.js";
import { type CommitTarget, commitKeyOf } from "../src/format.js";
import type { CommitTableOptions, ObjectCommitterOptions } from "../src/options.js";

/** A writer: its committer and clocks, and faulty networks before store and table. */
export interface Writer {
  readonly committer: ObjectCommitter;
  readonly process: VirtualProcess;
  readonly store: FaultyObjects;
  readonly table: FaultyTable;
}

export interface WriterOptions extends Partial<Omit<ObjectCommitterOptions, "s3" | "dynamodb">> {
  readonly dynamodb?: Partial<Omit<CommitTableOptions, "client">>;
  readonly process?: ProcessOptions;
  readonly latency?: () => Latency;
  readonly random?: Random;
}

/** The requests of an operation. */
export interface Requests {
  readonly objects: string;
  readonly writes: number;
  readonly reads: number;
}

const NO_LATENCY: Latency = { requestMs: 0, responseMs: 0 };

/** A bucket and a table in memory, virtual time, and any number of writers. */
export class CommitWorld {
  readonly time = new VirtualTime();
  readonly objects: MemoryObjects;
  readonly table = new MemoryTable({ keyAttributes: ["path", "etag"], time: this.time });
  readonly #random = seededRandom(1);

  constructor(options: MemoryObjectsOptions = {}) {
    this.objects = new MemoryObjects(options);
  }

  writer(options: WriterOptions = {}): Writer {
    const { process: clocks, latency = () => NO_LATENCY, dynamodb, random, ...rest } = options;
    const process = this.time.process(clocks);
    const store = new FaultyObjects(this.objects, process, { latency });
    const table = new FaultyTable(this.table, process, { latency });
    const committer = objectCommitter({
      s3: store,
      bucket: "bucket",
      strategy: "dynamo",
      owner: "writer",
      ...rest,
      dynamodb: { client: table, table: "commits", ...dynamodb },
      environment: {
        clock: process.clock,
        timers: process.timers,
        random: random ?? this.#random.fork(),
      },
    });
    return { committer, process, store, table };
  }

  /** Advances time until the promise settles. */
  until<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    return this.time.runUntil(promise, { limitMs });
  }

  /** As `until`, for a promise that must reject; returns the error. */
  error(promise: Promise<unknown>, limitMs = 600_000): Promise<HoldfastError> {
    return this.until(errorOf(promise), limitMs);
  }

  text(key: string): string | undefined {
    const object = this.objects.object(key);
    return object && Buffer.from(object.body).toString();
  }

  /** A record, as numbers and strings. */
  record(key: string, etag?: string): Record<string, string> | undefined {
    const target: CommitTarget = { key, etag };
    const item = this.table.item(commitKeyOf(target));
    if (item === undefined) return undefined;
    const entries = Object.entries(item).map(([name, value]) => [name, Object.values(value)[0]]);
    return Object.fromEntries(entries);
  }

  /** Puts a record of a dead writer. */
  putRecord(key: string, etag?: string, generation = 0, timeoutMs = 20_000): void {
    this.table.putItem(commitKeyOf({ key, etag }), {
      generation: { N: String(generation) },
      timeout: { N: String(timeoutMs) },
      ttl: { N: "4000000000" },
    });
  }

  /** Formats the requests that a writer sends during an operation. */
  async requests<T>(
    { store, table }: Writer,
    work: () => Promise<T>,
  ): Promise<Requests & { result: T }> {
    const before = { ...store.requests };
    const { write, read } = table.requests;
    const result = await this.until(work());
    const after = store.requests;
    const objects = (["head", "get", "put", "copy", "remove"] as const)
      .map((kind) => [kind, after[kind] - before[kind]] as const)
      .filter(([, times]) => times > 0)
      .map(([kind, times]) => `${times} ${kind}`)
      .join(", ");
    return {
      result,
      objects,
      writes: table.requests.write - write,
      reads: table.requests.read - read,
    };
  }
}

/** Returns the rejection of a promise that is not awaited at once. */
export function errorOf(promise: Promise<unknown>): Promise<HoldfastError> {
  return promise.then(
    () => {
      throw new Error("It did not fail.");
    },
    (error: HoldfastError) => error,
  );
}
