import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type InspectedPermit,
  listQueue,
  type PermitInspection,
} from "../../../holdfast/src/admin/index.js";
import { Holdfast, inspect, readLock, semaphore } from "../../../holdfast/src/index.js";
import { permitsOf, rowOfPermits } from "../../src/serve/permits.js";
import type { Detail, DetailAnswer, TableAnswer } from "../../src/serve/view-types.js";
import { wordsOf } from "../../src/serve/words.js";
import { pause, shell, until } from "../support.js";
import { ServeWorld } from "./world.js";

const PERMIT: InspectedPermit = {
  ...{ holder: "h1", owner: "ann", fence: 7n, weight: 1, session: "s1", leaseMs: 30_000 },
  ...{ endsAt: undefined, endsInMs: 26_000, appearsExpired: false, acquirableInMs: 36_000 },
};
const SEMAPHORE: PermitInspection = {
  ...{ kind: "semaphore", name: "stripe", state: "held", limit: 5, used: 1, permits: [PERMIT] },
  ...{
    isQueued: false,
    fence: 7n,
    version: 3n,
    forced: undefined,
    request: undefined,
    parts: undefined,
  },
  ...{ namespace: undefined, holder: undefined, owner: undefined, session: undefined },
  ...{ acquiredAt: undefined, leaseMs: undefined, data: undefined, attributes: undefined },
  ...{ endsAt: undefined, endsInMs: undefined, appearsExpired: false, acquirableInMs: 0 },
};
const NONE_WAIT = { waiters: 0, longestWaitMs: 0 };
const rowOf = (change: Partial<PermitInspection>) =>
  rowOfPermits({ ...SEMAPHORE, ...change }, NONE_WAIT);
const permit = (change: Partial<InspectedPermit>): InspectedPermit => ({ ...PERMIT, ...change });
const SILENT = permit({ holder: "h2", owner: "bob", fence: 9n, appearsExpired: true });
const LATE = permit({ holder: "h3", owner: "cy", fence: 8n, endsInMs: -2_000 });

describe("the row of a semaphore", () => {
  it("shows the silence of the longest silent permit, and counts the silent permits", () => {
    const row = rowOf({ used: 3, permits: [PERMIT, LATE, SILENT] });
    expect(row).toMatchObject({ state: "silent", owner: "ann, cy, bob" });
    expect(row.permits).toEqual({ used: 3, limit: 5, holders: 3, silent: 2 });
    expect(rowOf({ permits: [PERMIT, LATE] })).toMatchObject({ state: "late", silentMs: 32_000 });
    expect(rowOf({})).toMatchObject({ state: "held", silentMs: 4_000, leaseMs: 30_000 });
  });

  it("compares silences as parts of different leases", () => {
    const long = permit({ leaseMs: 600_000, endsInMs: 540_000, acquirableInMs: 550_000 });
    const short = permit({ leaseMs: 30_000, endsInMs: 5_000 });
    expect(rowOf({ permits: [long, short] })).toMatchObject({ silentMs: 25_000, leaseMs: 30_000 });
  });

  it("measures the silence by the watch of this client when that is longer", () => {
    const watched = permit({ endsInMs: 26_000, acquirableInMs: 10_000 });
    expect(rowOf({ permits: [watched] })).toMatchObject({ state: "held", silentMs: 20_000 });
  });

  it("names the first owners of many, and an unnamed holder by its id", () => {
    const permits = ["a", "b", "b", undefined, "d", "e"].map((owner, at) =>
      permit({ owner, holder: `h${at}` }),
    );
    expect(rowOf({ permits }).owner).toBe("a, b, h3 and 2 more");
  });

  it("is free without permits", () => {
    const row = rowOf({ state: "free", used: 0, permits: [] });
    expect(row).toMatchObject({ state: "free", acquirableInMs: 0, permits: { silent: 0 } });
    expect(row.owner).toBeUndefined();
  });
});

describe("the permits of a record", () => {
  it("come with the longest silent permit first", () => {
    const permits = permitsOf({ permits: [PERMIT, LATE, SILENT] });
    expect(permits.map(({ holder, state }) => [holder, state])).toEqual([
      ["h2", "silent"],
      ["h3", "late"],
      ["h1", "held"],
    ]);
  });
});

describe("the words about permits", () => {
  it("name the weight in use, and the owners", () => {
    expect(wordsOf(rowOf({ used: 2, permits: [permit({ weight: 2 })] }))).toBe(
      "2 of 5 in use, by 1 permit: ann; its session was last renewed 4 s ago; it can be taken over in 36 s if the holder stays silent.",
    );
    expect(wordsOf(rowOf({ used: 2, permits: [PERMIT, permit({ owner: "bob" })] }))).toMatch(
      /^2 of 5 in use, by 2 permits: ann, bob; the session silent for longest was .*; that permit can/,
    );
    expect(wordsOf(rowOf({ used: 0, permits: [] }))).toBe("Free. The limit is 5.");
  });

  it("tell readers from a writer", () => {
    const shared = { kind: "read-write", limit: 1_000 } as const;
    expect(wordsOf(rowOf({ ...shared, used: 1 }))).toMatch(/^Held by 1 reader: ann;/);
    const two = [PERMIT, permit({ holder: "h2" })];
    expect(wordsOf(rowOf({ ...shared, used: 2, permits: two }))).toMatch(
      /^Held by 2 readers: ann;/,
    );
    const writer = [permit({ weight: 1_000 })];
    expect(wordsOf(rowOf({ ...shared, used: 1_000, permits: writer }))).toMatch(
      /^Held by a writer/,
    );
    expect(wordsOf(rowOf({ ...shared, used: 0, permits: [] }))).toBe("Free.");
  });
});

describe("the server over a table with permits", () => {
  let world: ServeWorld;
  beforeEach(async () => {
    world = await ServeWorld.start({ allowRelease: true });
  });
  afterEach(() => world.close());

  const table = async (): Promise<TableAnswer> =>
    JSON.parse((await world.send("/api/table?after=0")).body);
  const detail = async (kind: string, name: string): Promise<Detail | undefined> => {
    const { body } = await world.send(`/api/record?${new URLSearchParams({ kind, name })}`);
    return (JSON.parse(body) as DetailAnswer).detail;
  };

  it("lists semaphores and read-write locks with their waiters, and counts them by kind", async () => {
    const { locks } = world.cli;
    const stripe = semaphore(locks, "pay/stripe", { permits: 3, owner: "ann" });
    await using _ = await stripe.acquire({ weight: 2 });
    await using __ = await readLock(locks, "pay/config", { owner: "bob" }).acquire();
    const stop = new AbortController();
    const waits = { wait: "1m", signal: stop.signal } as const;
    const waiting = stripe.acquire({ weight: 2, ...waits }).catch(() => undefined);
    while ((await listQueue(locks, "pay/stripe", { kind: "semaphore" })).waiters.length === 0)
      await pause(50);
    expect((await table()).view?.rows).toMatchObject([
      {
        ...{ name: "pay/config", kind: "read-write", state: "held", owner: "bob", waiters: 0 },
        permits: { used: 1, holders: 1, silent: 0 },
      },
      {
        ...{ name: "pay/stripe", kind: "semaphore", state: "held", owner: "ann", waiters: 1 },
        permits: { used: 2, limit: 3, holders: 1, silent: 0 },
      },
    ]);
    await pause(1_100);
    const { body } = await world.send("/metrics");
    const longest = /^holdfast_longest_wait_seconds\{prefix="pay\/",kind="semaphore"\} (\S+)/m;
    const waitedS = Number(longest.exec(body)?.[1]);
    expect(waitedS).toBeGreaterThan(1);
    expect(waitedS).toBeLessThan(10);
    for (const [metric, kind] of [
      ["held", "semaphore"],
      ["held", "read-write"],
      ["waiting", "semaphore"],
    ])
      expect(body).toContain(`holdfast_${metric}{prefix="pay/",kind="${kind}"} 1`);
    expect(body).toContain('holdfast_waiting{prefix="pay/",kind="read-write"} 0');
    expect(body).not.toContain('holdfast_oldest_hold_seconds{prefix="pay/",kind="semaphore"}');
    stop.abort();
    await waiting;
  });

  it("shows the permits, the queue and commands that work", async () => {
    const { locks } = world.cli;
    const name = "it's $(x)";
    const limited = semaphore(locks, name, { permits: 2, owner: "ann" });
    const [kept, freed] = [await limited.acquire(), await limited.acquire()];
    const found = await detail("semaphore", name);
    expect(found?.permits.map((one) => [one.holder, one.owner, one.weight, one.fence])).toEqual([
      [kept.holder, "ann", 1, String(kept.fence)],
      [freed.holder, "ann", 1, String(freed.fence)],
    ]);
    const asked = found?.actions.map(({ what }) => what);
    expect(asked).toEqual(["Inspect", "Show the history", "List the queue", "Change the limit"]);
    const ofFreed = found?.permits.find(({ holder }) => holder === freed.holder)?.actions ?? [];
    expect(ofFreed.map(({ command }) => command)).toEqual([
      `holdfast release 'it'\\''s $(x)' --table locks --kind semaphore --holder ${freed.holder} --force --reason 'WHY'`,
      `holdfast release 'it'\\''s $(x)' --table locks --kind semaphore --holder ${freed.holder}`,
    ]);
    for (const { command } of [...(found?.actions ?? []), ...ofFreed.slice(1)])
      expect(await shell(world.cli, command)).toMatchObject({ status: 0 });
    const { permits } = await inspect(locks, name, { kind: "semaphore" });
    expect(permits.map(({ holder }) => holder)).toEqual([kept.holder]);
    await kept.release();
    await freed.release().catch(() => undefined);
  });

  it("releases by force only the named permit", async () => {
    // The holder reads the request at its next renewal.
    await using client = new Holdfast({ client: world.cli.client, table: "locks", lease: "3s" });
    const limited = semaphore(client, "s", { permits: 2 });
    const [kept, asked] = [await limited.acquire(), await limited.acquire()];
    const before = (await detail("semaphore", "s"))?.events ?? [];
    expect(before.filter(({ what }) => what === "forced")).toEqual([]);
    const post = (change: object) =>
      world.send("/api/release", {
        method: "POST",
        body: { kind: "semaphore", name: "s", reason: "it hangs", confirm: "s", ...change },
      });
    expect((await post({})).status).toBe(400);
    expect((await post({ holder: asked.holder, namespace: "n" })).status).toBe(400);
    expect((await inspect(world.cli.locks, "s", { kind: "semaphore" })).forced).toBeUndefined();
    expect((await post({ holder: asked.holder })).status).toBe(200);
    await until(() => asked.signal.aborted, "the holder is asked");
    expect(String(asked.signal.reason)).toContain("it hangs");
    const { events } = (await detail("semaphore", "s")) as Detail;
    expect(events).toMatchObject([{ what: "forced", reason: "it hangs" }]);
    await asked.release().catch(() => undefined);
    expect(kept.isHeld).toBe(true);
    await kept.release();
  });
});
