import { pause } from "../../support/sdk.js";
import { NAME, type Scene, type Stage } from "./stage.js";

// Two seconds are the client's shortest lease; the first renewal comes after one period.
const A = { leaseMs: 2_000, beatMs: 1_000, pollMs: 500 };
const SLOW = { leaseMs: 60_000, beatMs: 30_000, pollMs: 500 };

async function held(stage: Stage, opening = SLOW) {
  const first = await stage.does("open", () => stage.open(opening));
  const { hold = "" } = await stage.does("acquire", () => first.acquire({ name: NAME }));
  return { first, hold };
}

/** dynamodb-lease, in Rust. */
export const dynamodbLeaseScenes: readonly Scene[] = [
  { state: "held", play: async (stage) => void (await held(stage)) },
  {
    state: "held, with the client's own defaults",
    play: async (stage) => {
      const first = await stage.open();
      await stage.does("acquire", () => first.acquire({ name: NAME }));
    },
  },
  {
    state: "refused, without waiting",
    play: async (stage) => {
      await held(stage);
      const second = await stage.open(SLOW);
      await stage.does("acquire by another", () => second.acquire({ name: NAME, wait: false }));
    },
  },
  {
    state: "refused in its own process",
    play: async (stage) => {
      const { first } = await held(stage);
      await stage.does("acquire", () => first.acquire({ name: NAME, wait: false }));
    },
  },
  {
    state: "waited for, then released",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      const second = await stage.open(SLOW);
      const waiting = second.acquire({ name: NAME, wait: "forever" });
      await stage.does("wait of another", () => stage.answered("PutItem", 3));
      await stage.does("release", () => first.release(hold));
      await stage.does("acquire by the other", () => waiting);
    },
  },
  {
    state: "renewed",
    play: async (stage) => {
      await held(stage, A);
      await stage.does("heartbeat by itself", () => stage.answered("UpdateItem"));
    },
  },
  {
    state: "released",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      await stage.does("release", () => first.release(hold));
    },
  },
  {
    state: "released by dropping the handle",
    play: async (stage) => {
      const { first, hold } = await held(stage);
      await stage.does("drop", async () => {
        await first.release(hold, { drop: true });
        await stage.answered("DeleteItem");
      });
    },
  },
  {
    state: "expired and taken over",
    play: async (stage) => {
      const { first } = await held(stage, A);
      first.pause();
      const second = await stage.open(SLOW);
      await stage.does("acquire by another, after the lease", () =>
        second.acquire({ name: NAME, wait: 20_000 }),
      );
      first.resume();
      await stage.does("late heartbeat of the former holder", () => stage.answered("UpdateItem"));
      await stage.does("what the former holder believes", () => first.held("1"));
      await stage.does("late release of the former holder", () => first.release("1"));
    },
  },
  {
    state: "expired, and renewed after all",
    play: async (stage) => {
      const { first } = await held(stage, A);
      first.pause();
      await stage.does("pause of two leases", () => pause(4_000));
      first.resume();
      await stage.does("late heartbeat", () => stage.answered("UpdateItem"));
    },
  },
];
