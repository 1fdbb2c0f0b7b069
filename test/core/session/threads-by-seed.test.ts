import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/testing/time/seeded-random.js";
import { requestsOf } from "../../support/requests.js";
import { threadedClient } from "../../support/threads.js";
import { World } from "../../support/world.js";

const LEASE_MS = 3_000;
const MAY_BLOCK_MS = 9_000;
const POLL_MS = 100;
const SEEDS = 60;
const SILENT = { fault: "request-lost", unknownAfterMs: 200 } as const;

/** Plays blocks, hangs, crashes, lost requests and stepped clocks, and checks the holder at random instants. */
async function play(seed: number) {
  const world = new World();
  const random = seededRandom(seed);
  const between = (least: number, most: number) => least + (most - least) * random.fraction();
  const client = threadedClient(world, { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS, seed });
  const lease = await world.until(client.mutex("a").acquire());
  const rival = world.inhabitant({ lease: LEASE_MS, poll: { min: POLL_MS, max: POLL_MS } });
  let grantedMs: number | undefined;
  let heldAtGrant: boolean | undefined;
  let lastRunMs = world.time.nowMs;
  void rival.locks
    .mutex("a")
    .acquire({ wait: "1h" })
    .then(() => {
      grantedMs = world.time.nowMs;
      heldAtGrant = lease.isHeld;
    });
  let wasLost = false;
  const look = () => {
    const { isHeld } = lease;
    expect(isHeld && (wasLost || grantedMs !== undefined), `seed ${seed}`).toBe(false);
    wasLost ||= !isHeld;
  };
  const steps = 1 + Math.floor(12 * random.fraction());
  for (let step = 0; step < steps; step += 1) {
    const thread = client.threads.at(-1);
    const isRunning = thread?.process.state === "running";
    const kind = random.fraction();
    const requests = thread && requestsOf(world, thread.network);
    if (kind < 0.06 && isRunning) thread.process.pause();
    else if (kind < 0.12 && isRunning) thread.events.onFailure(new Error("It throws."));
    else if (kind < 0.2 && requests)
      requests.fault = () => (random.chance(0.5) ? SILENT : undefined);
    else if (kind < 0.3) client.main.stepWall(between(-2_000, 2_000));
    const isBlocked = random.chance(0.6);
    if (isBlocked) {
      lastRunMs = world.time.nowMs;
      client.main.pause();
    }
    const longestMs = (random.chance(0.8) ? 0.8 : 2) * MAY_BLOCK_MS;
    const untilMs = world.time.nowMs + between(500, isBlocked ? longestMs : LEASE_MS);
    for (; world.time.nowMs < untilMs; ) {
      await world.time.advance(between(20, 400));
      // Code in a block may ask, too; it may also never ask before the rival's grant.
      if (random.chance(0.3)) look();
    }
    if (isBlocked) client.main.resume();
    if (thread?.process.state === "paused") thread.process.resume();
    await world.time.advance(1);
    look();
  }
  // The event loop blocks for good: the lock is available by the bound.
  const wasGranted = grantedMs !== undefined;
  if (!wasGranted) lastRunMs = world.time.nowMs;
  client.main.pause();
  await world.time.advance(MAY_BLOCK_MS + 1.1 * LEASE_MS + POLL_MS + 1_000);
  look();
  return { grantedMs, heldAtGrant, wasGranted, lastRunMs, isHeld: lease.isHeld };
}

describe("a two-thread client under faults, by seed", () => {
  // rule: R2, R8, protocol 113, protocol 114, protocol 115
  it("never holds with a rival, stays lost, and blocks others for the bound and a lease", async () => {
    const outcomes = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) outcomes.push(await play(seed));
    expect(outcomes.filter(({ grantedMs }) => grantedMs === undefined)).toEqual([]);
    expect(outcomes.filter(({ heldAtGrant, isHeld }) => heldAtGrant || isHeld)).toEqual([]);
    // Both kinds occur: losses in the faults, and leases that survive all of them.
    expect(outcomes.filter(({ wasGranted }) => wasGranted).length).toBeGreaterThan(SEEDS / 20);
    expect(outcomes.filter(({ wasGranted }) => !wasGranted).length).toBeGreaterThan(SEEDS / 20);
  }, 60_000);
});
