import { expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import type { Holdfast } from "../../../src/index.js";
import { all, fairLock, mutex, openSession, semaphore } from "../../../src/index.js";

const DAY_MS = 24 * 3_600_000;

type Use = (locks: Holdfast) => Promise<unknown>;

// rule: protocol 6
it.each<[string, number, Use]>([
  ["the claim of a mutex", 1, (locks) => mutex(locks, "a").acquire({ wait: "365d" })],
  ["the claim of a fair lock", 1, (locks) => fairLock(locks, "a").acquire({ wait: "365d" })],
  ["the claims of several locks", 1, (locks) => all(locks, ["a", "b"]).acquire({ wait: "365d" })],
  ["a session", 1, (locks) => openSession(locks, { wait: "365d" })],
  [
    "the claim of a permit",
    3,
    (locks) => semaphore(locks, "a", { permits: 1 }).acquire({ wait: "365d" }),
  ],
])("%s, sent again by a process that slept for days, has the dates of now", async (_, at, use) => {
  const { world, locks, process, network } = inWorld();
  let writes = 0;
  network.script(({ kind }) => {
    if (["write", "transact"].includes(kind)) writes += 1;
    return kind !== "read" && writes === at && network.injected.throttled === 0
      ? { fault: "throttled" }
      : undefined;
  });
  const using = use(locks);
  while (network.injected.throttled === 0) await world.time.advance(1);
  await world.time.advance(10);
  process.pause({ frozen: "monotonic" });
  await world.time.advance(30 * DAY_MS);
  process.resume();
  await world.until(using);
  expect(network.injected.throttled).toBe(1);
  // The session of the permit expired during the sleep.
  const items = world.table.items().filter(({ owner }) => at === 1 || owner === undefined);
  expect(items.length).toBeGreaterThan(0);
  for (const item of items) {
    const expiresMs = 1_000 * Number((item["expiresAt"] as { N: string }).N);
    expect(expiresMs, JSON.stringify(item)).toBeGreaterThan(world.time.wallMs + 6 * DAY_MS);
    const fence = Number((item["fence"] as { N: string }).N);
    expect(fence).toBeGreaterThan(world.time.wallMs - DAY_MS);
  }
});
