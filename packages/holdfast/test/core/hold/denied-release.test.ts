import { beforeEach, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import {
  all,
  fairLock,
  type Holdfast,
  HoldfastError,
  mutex,
  semaphore,
} from "../../../src/index.js";

const TIMEOUT_MS = 2_000;
const LEASE_MS = 60_000;

const EXPIRED = new HoldfastError(
  "access-denied",
  "DynamoDB refused the token, which has expired.",
);

let world: World;
let mine: Inhabitant;
let told: HoldfastError[];
beforeEach(() => {
  world = new World();
  told = [];
  mine = world.inhabitant({
    lease: LEASE_MS,
    requestTimeout: TIMEOUT_MS,
    onError: (error) => void told.push(error),
  });
});

const deny = (error = EXPIRED): void => {
  mine.network.script(() => ({ fault: "misconfigured", error }));
};

const WAYS: readonly (readonly [string, (locks: Holdfast) => ReturnType<typeof one>])[] = [
  ["a mutex", one],
  ["a fair lock", (locks) => fairLock(locks, "a").acquire()],
  ["several locks", (locks) => all(locks, ["a", "b"]).acquire()],
  ["a permit", (locks) => semaphore(locks, "a", { permits: 1 }).acquire()],
];

async function one(locks: Holdfast): Promise<AsyncDisposable & { release(): Promise<void> }> {
  return mutex(locks, "a").acquire();
}

for (const [title, acquire] of WAYS) {
  const isFreeFor = async (): Promise<boolean> => {
    const other = world.inhabitant();
    const fromMs = world.time.nowMs;
    const lease = await world.until(acquire(other.locks));
    await world.until(lease.release());
    return world.time.nowMs - fromMs < 1_000;
  };

  it(`a release of ${title} outlives refused credentials, and tells once`, async () => {
    const lease = await world.until(acquire(mine.locks));
    deny();
    const releasing = lease.release();
    await world.time.advance(1_000);
    expect(told).toMatchObject([{ code: "access-denied" }]);
    mine.network.clear();
    await world.until(releasing);
    expect(await isFreeFor()).toBe(true);
    expect(told).toHaveLength(1);
  });

  it(`a release of ${title} rejects with the refusal, and goes on`, async () => {
    const lease = await world.until(acquire(mine.locks));
    deny();
    const fromMs = world.time.nowMs;
    await expect(world.until(lease.release())).rejects.toMatchObject({
      code: "access-denied",
      cause: EXPIRED,
      message: expect.stringContaining(EXPIRED.message),
    });
    expect(world.time.nowMs - fromMs).toBe(2 * TIMEOUT_MS);
    await world.time.advance(5_000);
    mine.network.clear();
    await world.time.advance(11_000);
    expect(await isFreeFor()).toBe(true);
  });

  it(`a release of ${title} rejects at once with a wrong configuration that lasts`, async () => {
    const lease = await world.until(acquire(mine.locks));
    deny(new HoldfastError("misconfigured", "There is no table."));
    const fromMs = world.time.nowMs;
    await expect(world.until(lease.release())).rejects.toMatchObject({ code: "misconfigured" });
    expect(world.time.nowMs - fromMs).toBeLessThan(100);
  });

  it(`the end of a client with ${title} outlives refused credentials`, async () => {
    await world.until(acquire(mine.locks));
    deny();
    const closing = mine.locks.close();
    await world.time.advance(1_000);
    mine.network.clear();
    await world.until(closing);
    expect(await isFreeFor()).toBe(true);
  });
}
