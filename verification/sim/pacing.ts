import type { Item, TablePort } from "../../packages/holdfast/src/platform/table.js";
import { around, type Sent } from "./observed.js";

/**
 * The number of requests which a process may send about an item without a pause. A correct client needs fewer: an
 * acquisition has few steps, and few acquisitions of one process coincide.
 */
const MOST_WITHOUT_PAUSE = 24;

/** Shorter than the shortest pause of a correct client, and longer than a timer which is due at once. */
const NO_PAUSE_MS = 2;

/**
 * A waiter sends its next poll at once if an answer took longer than its pause: that is no loop without a pause. The longest
 * pause of the polls of a world.
 */
const SLOW_MS = 400;

/** Consecutive requests of a process for a lock and its queue, each sent right after the previous answer. */
interface Run {
  sentMs: number;
  answeredMs: number;
  readonly sent: Map<string, number>;
}

/**
 * Wraps one process's table. Calls `tooOften` when the process keeps sending about one item, each time right after an
 * answer: in virtual time only requests take time, so this is a loop without a pause.
 */
export function paced(
  table: TablePort,
  nowMs: () => number,
  tooOften: (what: string) => void,
): TablePort {
  const runs = new Map<string, Run>();
  const sending = (partition: string, item: string): void => {
    const known = runs.get(partition);
    const atMs = nowMs();
    const goesOn =
      known !== undefined &&
      atMs - known.answeredMs <= NO_PAUSE_MS &&
      atMs - known.sentMs < SLOW_MS;
    const run = goesOn
      ? known
      : { sentMs: atMs, answeredMs: Number.NEGATIVE_INFINITY, sent: new Map<string, number>() };
    run.sentMs = atMs;
    const times = (run.sent.get(item) ?? 0) + 1;
    run.sent.set(item, times);
    runs.set(partition, run);
    if (times === MOST_WITHOUT_PAUSE + 1) tooOften(`${times} requests about ${item}`);
  };
  return around(table, async (request, send) => {
    const keys = keysOf(request);
    const partitions = keys.map(partitionOf);
    const what = request.kind === "query" ? "query" : "item";
    for (const [index, partition] of partitions.entries()) {
      sending(partition, `${what} ${JSON.stringify(keys[index])}`);
    }
    try {
      return await send();
    } finally {
      for (const partition of partitions) {
        const run = runs.get(partition);
        if (run !== undefined) run.answeredMs = nowMs();
      }
    }
  });
}

/** The keys that a request names; of a query, its partition. */
export function keysOf(request: Sent): readonly Item[] {
  switch (request.kind) {
    case "write":
      return [request.write.key];
    case "read":
      return [request.read.key];
    case "query": {
      const { attribute, value } = request.query.partition;
      return [{ [attribute]: { S: value } }];
    }
    case "transact":
      return request.transaction.writes.map(({ key }) => key);
    case "scan":
      return [];
  }
}

// A lock's record and its queue have partition keys of their own, and one loop may send to both in turn.
function partitionOf(key: Item): string {
  return JSON.stringify(key["pk"]).replace('"queue#', '"lock#');
}
