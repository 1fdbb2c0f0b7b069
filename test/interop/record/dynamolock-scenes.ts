import type { Opening } from "../driver.js";
import { NAME, type Scene, SORT, type Stage } from "./stage.js";

const A: Partial<Opening> = { owner: "worker-1", leaseMs: 2_000, beats: false };
const B: Partial<Opening> = { ...A, owner: "worker-2", leaseMs: 90_000 };
const WITH_SORT = { partitionKey: "key", sortKey: "sort" };
const DATA = { data: "first", attributes: { team: { S: "blue" }, shards: { N: "7" } } };
const WAIT = { wait: 10_000, pollMs: 250 };

async function held(stage: Stage, more: object = {}, opening = A) {
  const first = await stage.open(opening);
  const { hold = "" } = await stage.does("acquire", () => first.acquire({ name: NAME, ...more }));
  return { first, hold };
}

async function keptAndAcquired(stage: Stage, how: object): Promise<void> {
  const { first, hold } = await held(stage, DATA);
  await stage.does("release", () => first.release(hold));
  const second = await stage.open(B);
  await stage.does("acquire by another", () => second.acquire({ name: NAME, ...how }));
}

const acquiring: readonly Scene[] = [
  { state: "held", play: async (stage) => void (await held(stage)) },
  {
    state: "held, with the client's own defaults",
    play: async (stage) => void (await held(stage, {}, {})),
  },
  { state: "held, with data", play: async (stage) => void (await held(stage, DATA)) },
  {
    state: "held, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => void (await held(stage, { sort: SORT })),
  },
  {
    state: "refused, without waiting",
    play: async (stage) => {
      await held(stage);
      const second = await stage.open(B);
      await stage.does("acquire by another", () => second.acquire({ name: NAME, wait: false }));
    },
  },
  {
    state: "waited for, then released",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      const second = await stage.open(B);
      const waiting = second.acquire({ name: NAME, ...WAIT });
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
    state: "renewed, by its owner's name alone",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      await stage.does("heartbeat", () => first.beat(hold, { ownerOnly: true }));
    },
  },
  {
    state: "renewed in the background, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => {
      await held(stage, { sort: SORT }, { ...A, beats: true, beatMs: 500 });
      await stage.does("heartbeat by itself", () => stage.answered("UpdateItem"));
    },
  },
];

const releasing: readonly Scene[] = [
  {
    state: "released and kept",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "released and kept, with new data",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      await stage.does("release", () => first.release(hold, { data: "last" }));
    },
  },
  {
    state: "released and kept, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => {
      const { first, hold } = await held(stage, { sort: SORT });
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "released and deleted",
    play: async (stage) => {
      const { first, hold } = await held(stage, { deleteOnRelease: true });
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "released by closing the client",
    play: async (stage) => {
      const { first } = await held(stage, DATA);
      await stage.does("close", () => first.step("close"));
    },
  },
  { state: "acquired again", play: (stage) => keptAndAcquired(stage, {}) },
  {
    state: "acquired again, with other data",
    play: (stage) => keptAndAcquired(stage, { data: "second", replaceData: true }),
  },
];

const rest: readonly Scene[] = [
  {
    state: "expired and taken over",
    play: async (stage) => {
      const { first, hold } = await held(stage, DATA);
      const second = await stage.open(B);
      const taken = await stage.does("acquire by another, after the lease", () =>
        second.acquire({ name: NAME, ...WAIT }),
      );
      if (!taken.granted) throw new Error(`not granted: ${taken.because}`);
      await stage.does("late heartbeat of the former holder", () => first.beat(hold));
      await stage.does("late release of the former holder", () => first.release(hold));
    },
  },
  {
    state: "read",
    play: async (stage) => {
      await held(stage, DATA);
      const second = await stage.open(B);
      await stage.does("read", () => second.read(NAME));
    },
  },
];

const FOREIGN = {
  ownerName: { S: "worker-9" },
  recordVersionNumber: { S: "1" },
  leaseDuration: { S: "60s" },
};

const finding: readonly Scene[] = [
  {
    state: "found: a lease in milliseconds",
    play: async (stage) => {
      await stage.finds("put", { ...FOREIGN, leaseDuration: { S: "60000" } });
      const first = await stage.open(A);
      await stage.tries("acquire", () => first.acquire({ name: NAME, ...WAIT }));
    },
  },
  {
    state: "found: without a lease",
    play: async (stage) => {
      const { leaseDuration: _, ...rest } = FOREIGN;
      await stage.finds("put", rest);
      const first = await stage.open(A);
      await stage.tries("acquire", () => first.acquire({ name: NAME, ...WAIT }));
    },
  },
];

/** cirello-io/dynamolock, in Go. */
export const dynamolockScenes: readonly Scene[] = [
  ...acquiring,
  ...beating,
  ...releasing,
  ...rest,
  ...finding,
];
