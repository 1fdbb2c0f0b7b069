import { describe, expect, it } from "vitest";
import { expectErrorToBe } from "../../../../test/support/errors.js";
import { local } from "../../../testing/src/index.js";
import {
  forceRelease,
  history,
  listLocks,
  listQueue,
  listSessions,
  releaseByHolder,
  setLimit,
  survey,
} from "../../src/admin/index.js";
import { election, leaderTasks } from "../../src/election/index.js";
import {
  adoptLease,
  all,
  fairLock,
  type Holdfast,
  inspect,
  mutex,
  once,
  openSession,
  readLock,
  semaphore,
  writeLock,
} from "../../src/index.js";

const task = { name: "t", every: "1m", run: () => undefined } as const;

/** Every function over a client. */
const FUNCTIONS: Readonly<Record<string, (client: Holdfast) => unknown>> = {
  mutex: (client) => mutex(client, "a"),
  fairLock: (client) => fairLock(client, "a"),
  all: (client) => all(client, ["a"]),
  semaphore: (client) => semaphore(client, "a", { permits: 1 }),
  readLock: (client) => readLock(client, "a"),
  writeLock: (client) => writeLock(client, "a"),
  election: (client) => election(client, "a"),
  leaderTasks: (client) => leaderTasks(client, { name: "a", tasks: [task] }),
  once: (client) => once(client, "a", { occurrence: "1" }, () => undefined),
  openSession: (client) => openSession(client),
  inspect: (client) => inspect(client, "a"),
  adoptLease: (client) => adoptLease(client, undefined as never),
  listLocks: (client) => listLocks(client),
  listQueue: (client) => listQueue(client, "a"),
  listSessions: (client) => listSessions(client),
  survey: (client) => survey(client),
  history: (client) => history(client, "a"),
  releaseByHolder: (client) => releaseByHolder(client, "a", "h"),
  setLimit: (client) => setLimit(client, "a", 1),
  forceRelease: (client) => forceRelease(client, "a", { reason: "r" }),
};

/** Returns what a call threw, or rejected with. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("the first argument", () => {
  it.each(Object.entries(FUNCTIONS))("of %s must be a client", async (name, call) => {
    await using locks = local();
    const lease = await mutex(locks, "a").acquire();
    for (const wrong of [undefined, null, {}, "locks", lease]) {
      const error = await errorOf(() => call(wrong as never));
      expectErrorToBe(error, {
        code: "invalid-argument",
        mentions: [`${name}()`, "new Holdfast({ client, table })"],
      });
    }
  });

  it("may be a client of another copy of the package", async () => {
    const locks = local();
    const { parts } = locks;
    const lease = await mutex({ parts } as Holdfast, "a").acquire();
    expect(lease.isHeld).toBe(true);
    await lease.release();
    await locks.close();
  });
});
