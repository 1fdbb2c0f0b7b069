import { eventually } from "../../support/sdk.js";
import type { Driver, Opening } from "../driver.js";
import { NAME, type Scene, SORT, type Stage } from "./stage.js";

const A: Partial<Opening> = { owner: "worker-1", leaseMs: 1_000, beats: false };
const B: Partial<Opening> = { ...A, owner: "worker-2", leaseMs: 60_000 };
const BEATING: Partial<Opening> = { ...A, beats: true, beatMs: 700 };
const WITH_SORT = { partitionKey: "id", sortKey: "sort" };

async function held(stage: Stage, opening: Partial<Opening>, more: object = {}) {
  const first = await stage.open(opening);
  const { hold = "" } = await stage.does("acquire", () => first.acquire({ name: NAME, ...more }));
  return { first, hold };
}

/** Resolves when the client has reported a failed heartbeat. */
function hasFailed(driver: Driver): Promise<void> {
  return eventually(() => driver.events.some(({ event }) => event === "error"), 20_000);
}

const scenes: readonly Scene[] = [
  { state: "held", play: async (stage) => void (await held(stage, A)) },
  {
    state: "held, with a sort key",
    keys: WITH_SORT,
    play: async (stage) => void (await held(stage, A, { sort: SORT })),
  },
  {
    state: "held, by the local time",
    play: async (stage) => void (await held(stage, { ...A, trustLocalTime: true })),
  },
  {
    state: "renewed",
    play: async (stage) => {
      await held(stage, BEATING);
      await stage.does("heartbeat by itself", () => stage.answered("PutItem", 2));
    },
  },
  {
    state: "renewed, with a sort key, by the local time",
    keys: WITH_SORT,
    play: async (stage) => {
      await held(stage, { ...BEATING, trustLocalTime: true }, { sort: SORT });
      await stage.does("heartbeat by itself", () => stage.answered("PutItem", 2));
    },
  },
  {
    state: "refused, as it was renewed",
    play: async (stage) => {
      await held(stage, BEATING);
      const second = await stage.open(B);
      await stage.does("acquire by another", () => second.acquire({ name: NAME, retries: 0 }));
    },
  },
  {
    state: "released",
    play: async (stage) => {
      const { first, hold } = await held(stage, A);
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "released, with a sort key, by the local time",
    keys: WITH_SORT,
    play: async (stage) => {
      const { first, hold } = await held(stage, { ...A, trustLocalTime: true }, { sort: SORT });
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "acquired again",
    play: async (stage) => {
      const { first, hold } = await held(stage, A);
      await stage.does("release", () => first.release(hold));
      const second = await stage.open(B);
      await stage.does("acquire by another", () => second.acquire({ name: NAME }));
    },
  },
  {
    state: "expired and taken over",
    play: async (stage) => {
      const { first, hold } = await held(stage, { ...BEATING, beatMs: 3_000 });
      first.pause();
      const second = await stage.open(B);
      await stage.does("acquire by another, after the lease", () =>
        second.acquire({ name: NAME, retries: 5 }),
      );
      first.resume();
      await stage.does("late heartbeat of the former holder", () => hasFailed(first));
      await stage.does("late release of the former holder", () => first.release(hold));
    },
  },
];

const TRUSTING: Scene = {
  state: "found: alive, without a time, by a client that goes by it",
  play: async (stage) => {
    await held(stage, { ...A, leaseMs: 60_000 });
    const second = await stage.open({ ...B, trustLocalTime: true });
    await stage.does("acquire by another", () => second.acquire({ name: NAME }));
  },
};

/** dynamodb-lock-client, in JavaScript: locks with an expiry. */
export const failOpenScenes: readonly Scene[] = [...scenes, TRUSTING];

const CLOSED: Partial<Opening> = { owner: "worker-1", pollMs: 200 };

/** dynamodb-lock-client, in JavaScript: locks without an expiry. */
export const failClosedScenes: readonly Scene[] = [
  { state: "held", play: async (stage) => void (await held(stage, CLOSED)) },
  {
    state: "refused",
    play: async (stage) => {
      await held(stage, CLOSED);
      const second = await stage.open({ ...CLOSED, owner: "worker-2" });
      await stage.does("acquire by another", () => second.acquire({ name: NAME, retries: 0 }));
    },
  },
  {
    state: "waited for, then released",
    play: async (stage) => {
      const { first, hold } = await held(stage, CLOSED);
      const second = await stage.open({ ...CLOSED, owner: "worker-2" });
      const waiting = second.acquire({ name: NAME, retries: 50 });
      await stage.does("wait of another", () => stage.answered("PutItem", 3));
      await stage.does("release", () => first.release(hold));
      await stage.does("acquire by the other", () => waiting);
      await stage.does("second release of the former holder", () => first.release(hold));
    },
  },
  {
    state: "released",
    play: async (stage) => {
      const { first, hold } = await held(stage, CLOSED);
      await stage.does("release", () => first.release(hold));
    },
  },
];
