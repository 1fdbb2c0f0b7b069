import { afterEach, describe, expect, it, vi } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { partsOf } from "../../../src/client.js";
import { LocalQueues } from "../../../src/core/local-queues.js";
import { Observations } from "../../../src/core/record/observation.js";
import { semaphore } from "../../../src/index.js";

afterEach(() => {
  vi.restoreAllMocks();
});

async function use(permits: number, names: (at: number) => string): Promise<void> {
  const { world, locks } = inWorld();
  for (let at = 0; at < permits; at += 1) {
    const permit = await world.until(semaphore(locks, names(at), { permits: 2 }).acquire());
    await world.until(permit.release());
  }
  await world.until(locks.close());
}

describe("a client that has released its permits", () => {
  it("keeps no local queue for a name without waiters", async () => {
    const of = vi.spyOn(LocalQueues.prototype, "of");
    await use(3, (at) => `a-${at}`);
    expect(of.mock.calls.filter(([id]) => id.includes("semaphore"))).toEqual([]);
  });

  it("keeps no local queue for a caller that gave up in its `onWait`", async () => {
    const { world, locks } = inWorld();
    const { localQueues } = partsOf(locks, "test").context;
    const lock = semaphore(locks, "a", { permits: 1 });
    const permit = await world.until(lock.acquire());
    const of = vi.spyOn(LocalQueues.prototype, "of");
    const stop = new AbortController();
    const onWait = () => stop.abort("enough");
    const gaveUp = expect(lock.acquire({ signal: stop.signal, onWait })).rejects.toBe("enough");
    await world.until(gaveUp);
    const ids = of.mock.calls.map(([id]) => id).filter((id) => id.includes("semaphore"));
    const kept = of.mock.results.map(({ value }) => value as unknown);
    expect(ids.filter((id) => kept.includes(localQueues.of(id)))).toEqual([]);
    await world.until(permit.release());
  });

  it("keeps one observation for a name, and none for each permit", async () => {
    const see = vi.spyOn(Observations.prototype, "see");
    await use(5, () => "a");
    const ids = see.mock.calls.map(([id]) => id).filter((id) => id.includes("semaphore"));
    expect(new Set(ids).size).toBe(1);
  });
});

describe("a client with many names", () => {
  it("does not search the names that it remembers at each answer", () => {
    const observations = new Observations();
    const record = { state: "absent" } as const;
    for (let at = 0; at < 100; at += 1) observations.see(`a-${at}`, record, "strong", 0);
    const searches = vi.spyOn(Map.prototype, Symbol.iterator);
    observations.see("a-5", record, "strong", 1);
    expect(searches).not.toHaveBeenCalled();
  });
});
