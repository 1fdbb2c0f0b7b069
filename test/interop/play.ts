import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../src/testing/proxy/proxy.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { eventually, freshTable, pause, sdkClient } from "../support/sdk.js";
import type { Acquired, Driver } from "./driver.js";
import { contend, type FormatCase, type Lack, overlaps, type Side, Stage } from "./scenes.js";
import { createForeignTable, KEYS } from "./tables.js";

const GRANTS = process.env["INTEROP_FULL"] === "1" ? 200 : 20;
const CONTENDERS = 5;

// What a loaded machine may take on top: processes of two languages, and DynamoDB Local, share it.
const SLACK_MS = 1_500;

const DIRECTIONS: readonly (readonly [Side, Side])[] = [
  ["theirs", "ours"],
  ["ours", "theirs"],
];

/** Plays every scene in one format: their client and ours, each in both roles. */
export function playFormat(one: FormatCase): void {
  describeOnDynamoDBLocal(`in format ${one.format}, beside the original,`, (endpoint) => {
    const client = sdkClient(endpoint());
    const table = freshTable();
    const { partitionKey } = KEYS[one.format];
    const stage = new Stage(client, endpoint(), table, one, partitionKey);
    let proxy: FaultProxy;

    beforeAll(async () => {
      await createForeignTable(client, table, one.format);
      proxy = await startFaultProxy({ target: endpoint() });
    });
    afterEach(async () => {
      proxy.script(undefined);
      await stage.clear();
    });
    afterAll(async () => {
      await proxy.close();
      client.destroy();
    });

    const can = (side: Side, what: Lack): boolean => one[side].cannot?.includes(what) !== true;

    /** Without beats, or with so rare ones that none comes while requests are counted. */
    const quietly = (side: Side) =>
      can(side, "stop its beats") ? { beats: false } : { leaseMs: 60_000, beatMs: 20_000 };

    async function believes(
      side: Side,
      driver: Driver,
      hold: string,
      expected: boolean,
    ): Promise<void> {
      if (can(side, "held")) expect(await driver.held(hold)).toBe(expected);
    }

    /** The release of one that was followed changes nothing, beats of the follower aside. */
    async function leavesAlone(
      side: Side,
      driver: Driver,
      hold: string,
      name: string,
    ): Promise<void> {
      const before = await stage.ownerOf(name);
      expect(before).toBeDefined();
      const released = await driver.release(hold);
      if (can(side, "tell a lost release")) expect(released).toBe(false);
      await pause(one.leaseMs / 2);
      expect(await stage.ownerOf(name)).toEqual(before);
    }

    function holdOf(acquired: Acquired): string {
      if (acquired.hold === undefined) throw new Error(`Not granted: ${acquired.because}`);
      return acquired.hold;
    }

    describe.each(DIRECTIONS)("%s hold and %s wait", (holders, waiters) => {
      const both = async (): Promise<[Driver, Driver]> => [
        await stage.enter(holders),
        await stage.enter(waiters),
      ];
      const waiting = (driver: Driver, name: string, forMs: number): Promise<Acquired> =>
        driver.acquire({ name, ...one[waiters].wait(forMs) }, forMs + 30_000);

      it("nobody gets what is held and renewed", async () => {
        const [holder, waiter] = await both();
        const name = stage.name();
        const hold = holdOf(await holder.acquire({ name, ...one[holders].once }));
        expect(await waiter.acquire({ name, ...one[waiters].once })).toMatchObject({
          granted: false,
        });
        expect(await waiting(waiter, name, 2.5 * one.leaseMs)).toMatchObject({ granted: false });
        await believes(holders, holder, hold, true);
      });

      it("each way of release lets the waiter in as soon as it looks", async () => {
        const [holder, waiter] = await both();
        for (const [way, release] of Object.entries(one[holders].releases)) {
          const name = stage.name();
          const hold = holdOf(await holder.acquire({ name, ...one[holders].once }));
          const answer = waiting(waiter, name, 5 * one.leaseMs);
          await pause(2 * one.pollMs);
          // A handle that is let go tells nobody what becomes of it.
          const told = release.drop === true ? undefined : true;
          expect(await holder.release(hold, release), way).toBe(told);
          const releasedMs = performance.now();
          expect(await answer, way).toMatchObject({ granted: true });
          const tookMs = performance.now() - releasedMs;
          expect(tookMs, way).toBeLessThan(one[waiters].noticesWithinMs + SLACK_MS);
        }
      });

      it("a holder that dies is followed after its lease, not before", async () => {
        const [holder, waiter] = await both();
        const name = stage.name();
        await holder.acquire({ name, ...one[holders].once });
        const seen = await stage.item(name);
        await holder.kill();
        const diedMs = performance.now();
        expect(await waiting(waiter, name, 3 * one.leaseMs)).toMatchObject({ granted: true });
        const tookMs = performance.now() - diedMs;
        const [leastMs, mostMs] = one[waiters].followsMs ?? [one.leaseMs, one.leaseMs * 1.1];
        expect(tookMs).toBeGreaterThan(leastMs);
        expect(tookMs).toBeLessThan(mostMs + SLACK_MS);
        expect(await stage.item(name)).not.toEqual(seen);
      });

      // A client whose beats cannot be left out would have to be stopped, which is the scene after this.
      if (can(holders, "stop its beats"))
        it("a holder that was followed can neither renew nor release", async () => {
          const waiter = await stage.enter(waiters);
          const holder = await stage.enter(holders, { beats: false });
          const name = stage.name();
          const hold = holdOf(await holder.acquire({ name, ...one[holders].once }));
          const next = holdOf(await waiting(waiter, name, 3 * one.leaseMs));
          await believes(holders, holder, hold, false);
          if (can(holders, "beat")) expect(await holder.beat(hold)).toBe(false);
          await leavesAlone(holders, holder, hold, name);
          await believes(waiters, waiter, next, true);
        });

      it("a holder that is stopped past its lease is followed, and believes it no longer", async () => {
        const [holder, waiter] = await both();
        const name = stage.name();
        const hold = holdOf(await holder.acquire({ name, ...one[holders].once }));
        holder.pause();
        const next = holdOf(await waiting(waiter, name, 3 * one.leaseMs));
        holder.resume();
        await believes(holders, holder, hold, false);
        await leavesAlone(holders, holder, hold, name);
        await believes(waiters, waiter, next, true);
      });

      it("a waiter that is stopped past the lease takes nothing that is renewed", async () => {
        const [holder, waiter] = await both();
        const name = stage.name();
        const hold = holdOf(await holder.acquire({ name, ...one[holders].once }));
        const answer = waiting(waiter, name, 4 * one.leaseMs);
        await pause(one.leaseMs / 2);
        waiter.pause();
        await pause(1.5 * one.leaseMs);
        waiter.resume();
        expect(await answer).toMatchObject({ granted: false });
        await believes(holders, holder, hold, true);
      });

      // A format that has no room for data has nothing to ask here.
      if (can("theirs", "carry data"))
        it("data and further attributes are read, and both list them", async () => {
          const [holder, reader] = await both();
          const name = stage.name();
          const attributes = { team: { S: "blue" }, shards: { N: "3" }, live: { BOOL: true } };
          await holder.acquire({ name, data: "job 7", attributes, ...one[holders].once });
          const expected = { data: "job 7", attributes };
          expect(await reader.read(name)).toMatchObject(expected);
          for (const [side, driver] of [
            [holders, holder],
            [waiters, reader],
          ] as const) {
            if (!can(side, "list")) continue;
            const listed = await driver.list();
            expect(listed.find((lock) => lock["name"] === name)).toMatchObject({
              name,
              ...expected,
            });
          }
        });
    });

    it(
      "five of each contend: no two hold at once, and none is left out",
      async () => {
        const name = stage.name();
        const contenders = await Promise.all(
          (["theirs", "ours"] as const).flatMap((side) =>
            Array.from({ length: CONTENDERS }, async (_, index) => ({
              who: `${side} ${index}`,
              driver: await stage.enter(side),
              how: one[side].wait(60_000),
            })),
          ),
        );
        const tenures = await contend(name, contenders, GRANTS);
        expect(tenures.length).toBeGreaterThanOrEqual(GRANTS);
        expect(overlaps(tenures)).toEqual([]);
        const winners = new Set(tenures.map(({ who }) => who));
        expect(winners.size).toBe(2 * CONTENDERS);
      },
      60_000 + GRANTS * 3_000,
    );

    describe("a lost answer of ours", () => {
      const dropped = (operations: readonly string[]) => {
        let left = 1;
        proxy.script((request) => {
          if (left === 0 || !operations.includes(request.operation)) return undefined;
          left -= 1;
          return { fault: "response-lost" };
        });
      };
      const WRITES = ["PutItem", "UpdateItem", "DeleteItem"];

      it("of a claim leaves the lock with us", async () => {
        const [theirs, ours] = [await stage.enter("theirs"), await stage.enter("ours", {}, proxy)];
        const name = stage.name();
        dropped(WRITES);
        const before = proxy.injected("response-lost");
        const hold = holdOf(await ours.acquire({ name, ...one.ours.once }));
        expect(proxy.injected("response-lost")).toBe(before + 1);
        expect(await theirs.acquire({ name, ...one.theirs.once })).toMatchObject({
          granted: false,
        });
        expect(await ours.held(hold)).toBe(true);
      });

      it("of a takeover leaves the lock with us", async () => {
        const [theirs, ours] = [await stage.enter("theirs"), await stage.enter("ours", {}, proxy)];
        const name = stage.name();
        await theirs.acquire({ name, ...one.theirs.once });
        const answer = ours.acquire({ name, ...one.ours.wait(4 * one.leaseMs) });
        await pause(one.pollMs * 3);
        await theirs.kill();
        const before = proxy.injected("response-lost");
        dropped(WRITES);
        const hold = holdOf(await answer);
        expect(proxy.injected("response-lost")).toBe(before + 1);
        expect(await ours.held(hold)).toBe(true);
      });

      it("of a renewal keeps the lock with us", async () => {
        const [theirs, ours] = [await stage.enter("theirs"), await stage.enter("ours", {}, proxy)];
        const name = stage.name();
        const hold = holdOf(await ours.acquire({ name, ...one.ours.once }));
        const before = proxy.injected("response-lost");
        dropped(["UpdateItem"]);
        const answer = theirs.acquire({ name, ...one.theirs.wait(2 * one.leaseMs) });
        await eventually(() => proxy.injected("response-lost") === before + 1);
        expect(await answer).toMatchObject({ granted: false });
        expect(await ours.held(hold)).toBe(true);
      });

      it.each(Object.entries(one.ours.releases))("of a release, %s, frees it", async (_, how) => {
        const theirs = await stage.enter("theirs");
        // With beats so rare that the next write is the release.
        const ours = await stage.enter("ours", { leaseMs: 60_000, beatMs: 20_000 }, proxy);
        const name = stage.name();
        const hold = holdOf(await ours.acquire({ name, ...one.ours.once }));
        dropped(WRITES);
        expect(await ours.release(hold, how)).toBe(true);
        expect(await theirs.acquire({ name, ...one.theirs.once })).toMatchObject({ granted: true });
      });
    });

    it.each(Object.entries(one.costs))("to %s costs what the page says", async (what, costs) => {
      for (const side of ["theirs", "ours"] as const) {
        const driver = await stage.enter(side, quietly(side), proxy);
        const name = stage.name();
        const requestsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
          proxy.forgetRequests();
          await work();
          return proxy.requests.map(({ operation }) => operation);
        };
        const acquire = () => driver.acquire({ name, ...one[side].once });
        let hold = "";
        const seen = await (what === "acquire"
          ? requestsOf(acquire)
          : acquire().then((acquired) => {
              hold = holdOf(acquired);
              if (what === "renew") return requestsOf(() => driver.beat(hold));
              if (what === "be refused at once") return refusal(side, name, requestsOf);
              return requestsOf(() =>
                driver.release(hold, what === "release" ? {} : { delete: what.endsWith("delete") }),
              );
            }));
        expect(seen, side).toEqual(costs[side]);
      }
    });

    async function refusal(
      side: Side,
      name: string,
      requestsOf: (work: () => Promise<unknown>) => Promise<string[]>,
    ): Promise<string[]> {
      const other = await stage.enter(side, quietly(side), proxy);
      return requestsOf(() => other.acquire({ name, ...one[side].once }));
    }
  });
}
