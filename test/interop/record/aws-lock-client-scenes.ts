import type { Opening } from "../driver.js";
import { NAME, type Scene, SORT, type Stage } from "./stage.js";

const A: Partial<Opening> = { owner: "worker-1", leaseMs: 2_000, beats: false, beatMs: 500 };
const B: Partial<Opening> = { ...A, owner: "worker-2", leaseMs: 3_000 };
const WITH_SORT = { partitionKey: "key", sortKey: "sort" };
const DATA = { data: "first", attributes: { team: { S: "blue" }, shards: { N: "7" } } };
/** In addition to the dead holder's lease: enough for a slow machine. */
const WAIT = { wait: 10_000, pollMs: 250 };

/** One process acquires the lock, with optional extras. */
const acquired = (more: object = {}) => ({ name: NAME, ...more });

async function held(stage: Stage, more: object = {}, opening = A) {
  const first = await stage.open(opening);
  const { hold = "" } = await stage.does("acquire", () => first.acquire(acquired(more)));
  return { first, hold };
}

async function keptAndAcquired(stage: Stage, how: object): Promise<void> {
  const { first, hold } = await held(stage, DATA);
  await stage.does("release, keep", () => first.release(hold, { delete: false }));
  const second = await stage.open(B);
  await stage.does("acquire by another", () => second.acquire(acquired(how)));
}

async function takenOver(stage: Stage, how: object): Promise<void> {
  const { first, hold } = await held(stage, DATA);
  const second = await stage.open(B);
  const taken = await stage.does("acquire by another, after the lease", () =>
    second.acquire(acquired({ ...WAIT, ...how })),
  );
  if (!taken.granted) throw new Error(`not granted: ${taken.because}`);
  await stage.does("late heartbeat of the former holder", () => first.beat(hold));
  await stage.does("late release of the former holder", () => first.release(hold));
}

/** Acquire: absent, with data, with a sort key; refused. */
const acquiring: readonly Scene[] = [
  { state: "held", play: async (stage) => void (await held(stage)) },
  { state: "held, with data", play: async (stage) => void (await held(stage, DATA)) },
  {
    state: "held, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => void (await held(stage, { sort: SORT })),
  },
  {
    state: "held, by an update",
    play: async (s) => void (await held(s, { update: true, ...DATA })),
  },
  {
    state: "refused, as nothing is there and it must be",
    play: async (stage) => void (await held(stage, { onlyIfExists: true, wait: 0, pollMs: 100 })),
  },
  {
    state: "refused, without waiting",
    play: async (stage) => {
      await held(stage);
      const second = await stage.open(B);
      await stage.does("acquire by another", () => second.acquire(acquired({ wait: false })));
    },
  },
  {
    state: "waited for, then released",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      const second = await stage.open(B);
      const waiting = second.acquire(acquired(WAIT));
      await stage.does("wait of another", () => stage.answered("GetItem", 3));
      await stage.does("release", () => first.release(hold));
      await stage.does("acquire by the other", () => waiting);
    },
  },
];

const beating: readonly Scene[] = [
  {
    state: "renewed",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      await stage.does("heartbeat", () => first.beat(hold));
    },
  },
  {
    state: "renewed, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => {
      const { first, hold } = await held(stage, { sort: SORT });
      await stage.does("heartbeat", () => first.beat(hold));
    },
  },
  {
    state: "renewed, with new data",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      await stage.does("heartbeat", () => first.beat(hold, { data: "second" }));
    },
  },
  {
    state: "renewed, its data deleted",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      await stage.does("heartbeat", () => first.beat(hold, { deleteData: true }));
    },
  },
  {
    state: "renewed, for a longer lease",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      await stage.does("heartbeat", () => first.beat(hold, { ensureMs: 60_000 }));
      await stage.does("plain heartbeat", () => first.beat(hold));
    },
  },
  {
    state: "renewed in the background",
    play: async (stage) => {
      await held(stage, {}, { ...A, beats: true });
      await stage.does("heartbeat by itself", () => stage.answered("UpdateItem"));
    },
  },
];

const releasing: readonly Scene[] = [
  {
    state: "released and deleted",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "released and kept",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      await stage.does("release, keep", () => first.release(hold, { delete: false }));
    },
  },
  {
    state: "released and kept, with new data",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      const how = { delete: false, data: "last" };
      await stage.does("release, keep", () => first.release(hold, how));
    },
  },
  {
    state: "released and kept, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => {
      const { first, hold } = await held(stage, { sort: SORT });
      await stage.does("release, keep", () => first.release(hold, { delete: false }));
    },
  },
  { state: "acquired again", play: (stage) => keptAndAcquired(stage, {}) },
  {
    state: "acquired again, keeping data",
    play: (s) => keptAndAcquired(s, { replaceData: false }),
  },
  { state: "acquired again, consistently", play: (s) => keptAndAcquired(s, { consistent: true }) },
  { state: "acquired again, by an update", play: (s) => keptAndAcquired(s, { update: true }) },
  {
    state: "acquired again, by an update, consistently",
    play: (stage) => keptAndAcquired(stage, { update: true, consistent: true }),
  },
];

const takingOver: readonly Scene[] = [
  { state: "expired and taken over", play: (stage) => takenOver(stage, {}) },
  { state: "expired and taken over, by an update", play: (s) => takenOver(s, { update: true }) },
  {
    state: "taken over by an update while its holder released it: held, and looks released",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      const second = await stage.open(B);
      const taking = second.acquire(acquired({ wait: 3_000, pollMs: 1_000, update: true }));
      await stage.does("wait of another", () => stage.answered("GetItem", 3));
      // The answer to the read at the end of the lease is late, and outdated on arrival.
      stage.proxy.script(({ operation }) =>
        operation === "GetItem" ? { fault: "delayed", delayMs: 1_500 } : undefined,
      );
      await stage.does("look of the other, on its way", () => stage.proxyHas("GetItem", 4));
      await stage.does("release, keep", () => first.release(hold, { delete: false }));
      const taken = await stage.does("acquire by the other", () => taking);
      stage.proxy.clear();
      const third = await stage.open({ ...A, owner: "worker-3" });
      await stage.does("acquire by a third", () => third.acquire(acquired({ wait: false })));
      await stage.does("what the other believes", () => second.held(taken.hold ?? ""));
    },
  },
];

const looking: readonly Scene[] = [
  {
    state: "read and listed",
    keys: WITH_SORT,
    play: async (stage) => {
      await held(stage, { sort: SORT, ...DATA });
      const second = await stage.open(B);
      await stage.does("read", () => second.read(NAME, { sort: SORT }));
      await stage.does("read from the table", () =>
        second.read(NAME, { sort: SORT, fromTable: true }),
      );
      await stage.does("list", () => second.list());
      await stage.does("list of one partition key", () => second.list(NAME));
      await stage.does("check of the table", () => second.step("check"));
    },
  },
];

const FOREIGN = {
  ownerName: { S: "worker-9" },
  recordVersionNumber: { S: "1" },
  leaseDuration: { S: "500" },
};

const finding: readonly Scene[] = [
  {
    state: "found: a lease in Go's text",
    play: async (stage) => {
      await stage.finds("put", { ...FOREIGN, leaseDuration: { S: "500ms" } });
      const first = await stage.open(A);
      await stage.tries("acquire", () => first.acquire(acquired(WAIT)));
      await stage.tries("list", () => first.step("list"));
    },
  },
  {
    state: "found: without a lease",
    play: async (stage) => {
      const { leaseDuration: _, ...rest } = FOREIGN;
      await stage.finds("put", rest);
      const first = await stage.open(A);
      await stage.tries("acquire", () => first.acquire(acquired(WAIT)));
      await stage.tries("list", () => first.step("list"));
    },
  },
  {
    state: "found: released in a way of its own",
    play: async (stage) => {
      await stage.finds("put", { ...FOREIGN, isReleased: { BOOL: true } });
      const first = await stage.open(A);
      const wait = { wait: 1_500, pollMs: 500 };
      await stage.tries("acquire", () => first.acquire(acquired(wait)));
    },
  },
];

/** The AWS lock client for Java. */
export const awsLockClientScenes: readonly Scene[] = [
  ...acquiring,
  ...beating,
  ...releasing,
  ...takingOver,
  ...looking,
  ...finding,
];
