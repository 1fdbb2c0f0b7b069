// The age of a table: the cost of a lock, an inspection and a listing beside the records of locks released long
// ago, and the memory that a client keeps for the names that it has used.
import { createOldTable, deleteTable, releasedRecord } from "../lib/old-records.mjs";
import { clientFor } from "../lib/servers.mjs";
import { median, pairedRatio, round, spread } from "../lib/statistics.mjs";
import { TABLES } from "../lib/tables.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Beside the records of locks released long ago";
export const isQuick = false;

const SUBJECT = "holdfast";
const SIZES = [0, 1_000, 10_000, 50_000];
const QUICK_SIZES = SIZES.slice(0, 2);
const COUNTED_CYCLES = 20;
const TIMED_CYCLES = 50;
const LOOKS = 50;
/** A cycle is two writes of one unit, and an inspection one strongly consistent read, at any age. */
const PROMISED = {
  cycle: { requests: 2, writeUnits: 2, readUnits: 0 },
  inspection: { requests: 1, writeUnits: 0, readUnits: 1 },
};

const tableOf = (size) => `age-${size}`;

const startAt = (context, size, more) =>
  Worker.start(context.subject(SUBJECT), context.servers, { table: tableOf(size) }, more);

/** The cost of a single step, if all steps cost the same. */
async function counted(worker, step, asked) {
  await worker.do("counts");
  await worker.do(step, asked);
  const { requests, writeUnits, readUnits } = await worker.do("counts");
  const { count } = asked;
  return {
    requests: requests / count,
    writeUnits: writeUnits / count,
    readUnits: readUnits / count,
  };
}

/** Requests and units; the listing first, while the table contains only the old records. */
async function countsAt(context, size) {
  const worker = await startAt(context, size, { meter: true });
  try {
    await worker.do("counts");
    const { locks } = await worker.do("lists");
    const { requests, readUnits } = await worker.do("counts");
    const names = { from: 0, count: COUNTED_CYCLES };
    return {
      listing: { found: locks, requests, readUnits },
      inspection: await counted(worker, "inspects", { name: "old-0", count: LOOKS }),
      newName: await counted(worker, "each", { prefix: "new", ...names }),
      oldName: size === 0 ? undefined : await counted(worker, "each", { prefix: "old", ...names }),
    };
  } finally {
    await worker.end();
  }
}

/** Blocks of each size without a meter; the tables take turns, and the first round is thrown away. */
async function inTurns(context, { sizes, rounds, block }) {
  const blocks = new Map(sizes.map((size) => [size, []]));
  const workers = [];
  try {
    for (const size of sizes) workers.push({ size, worker: await startAt(context, size) });
    for (let at = 0; at <= rounds; at += 1) {
      for (let turn = 0; turn < workers.length; turn += 1) {
        const { size, worker } = workers[(at + turn) % workers.length];
        const found = await block(worker, at);
        if (at > 0) blocks.get(size).push(found);
      }
    }
  } finally {
    await Promise.all(workers.map(({ worker }) => worker.end()));
  }
  return blocks;
}

async function lookAndLock(worker, at) {
  const looks = await worker.do("inspects", { name: "old-0", count: LOOKS });
  const names = { prefix: "timed", from: at * TIMED_CYCLES, count: TIMED_CYCLES };
  const { cycle } = await worker.do("each", names);
  return { inspectMs: median(looks.times), cycleMs: median(cycle) };
}

/** The growth of a separate process's heap with the number of used names. */
async function memoryOf(context) {
  const [few, many] = context.quick ? [100, 1_000] : [1_000, 10_000];
  const worker = await startAt(context, 0);
  const use = async (from, to) => {
    await worker.do("each", { prefix: "used", from, count: to - from });
    return (await worker.do("heap")).heapKb;
  };
  try {
    const [afterFew, afterMany] = [await use(0, few), await use(few, many)];
    return {
      names: [few, many],
      heapKb: [round(afterFew, 0), round(afterMany, 0)],
      kbAName: round((afterMany - afterFew) / (many - few)),
    };
  } finally {
    await worker.end();
  }
}

/**
 * Listings run before all steps that add records, and in separate processes, because clients remember them.
 */
async function figures(context, sizes) {
  // A listing of fifty thousand takes the server many seconds.
  const lists = await inTurns(context, {
    sizes,
    rounds: context.repetitions,
    block: (worker) => worker.do("lists"),
  });
  const counts = new Map();
  for (const size of sizes) counts.set(size, await countsAt(context, size));
  const rounds = (context.quick ? 2 : 5) * context.repetitions;
  const blocks = await inTurns(context, { sizes, rounds, block: lookAndLock });
  const of = (size, what) => blocks.get(size).map((block) => block[what]);
  const ofLists = (size, what) => lists.get(size).map((list) => list[what]);
  const rows = sizes.map((size) => ({
    records: size,
    ...counts.get(size),
    cycleMs: spread(of(size, "cycleMs")),
    cycleToEmpty: pairedRatio(of(size, "cycleMs"), of(0, "cycleMs")),
    inspectMs: spread(of(size, "inspectMs")),
    listMs: spread(ofLists(size, "elapsedMs"), 1),
    listCpuMs: spread(ofLists(size, "cpuMs"), 1),
  }));
  const settings = { subject: SUBJECT, cyclesABlock: TIMED_CYCLES, rounds };
  return { settings, rows, memory: await memoryOf(context) };
}

export async function run(context) {
  const sizes = context.quick ? QUICK_SIZES : SIZES;
  const client = clientFor(context.servers.endpoint);
  const made = [];
  try {
    const record = await releasedRecord(client, TABLES.holdfast);
    for (const count of sizes) {
      const table = tableOf(count);
      made.push(table);
      await createOldTable(client, { table, count, record });
    }
    return await figures(context, sizes);
  } finally {
    for (const table of made) await deleteTable(client, table);
    client.destroy();
  }
}

const wrongIn = (what, found, promised) =>
  Object.keys(promised)
    .filter((key) => found[key] !== promised[key])
    .map((key) => `${what}: ${found[key]} ${key}`);

/** Old records that increased the cost of a lock, and incomplete listings. */
export function isRight({ rows }) {
  return rows.flatMap(({ records, listing, inspection, newName, oldName }) => [
    ...wrongIn(`${records} records, a new name`, newName, PROMISED.cycle),
    ...(records === 0 ? [] : wrongIn(`${records} records, an old name`, oldName, PROMISED.cycle)),
    ...wrongIn(`${records} records, inspect`, inspection, PROMISED.inspection),
    ...wrongIn(`${records} records, list`, listing, { found: records }),
  ]);
}
