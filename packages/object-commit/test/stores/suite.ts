import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProbeReport, Strategy } from "../../src/index.js";
import { increment, type Stores, turnsOf } from "./kit.js";

/** A store, with the functions that the suite needs. */
export interface StoreUnderTest {
  readonly open: () => Promise<Stores>;
  readonly strategies: readonly Strategy[];
  /** The expected result of a probe. */
  readonly probe: ProbeReport;
}

/** The tests for every real store, in each strategy that the store allows. */
export function storeSuite({ open, strategies, probe }: StoreUnderTest): void {
  let stores: Stores;
  beforeAll(async () => {
    stores = await open();
  });
  afterAll(() => stores.close());

  it("is recognised by a probe, which deletes its objects", async () => {
    const committer = stores.committer({ strategy: "auto" });
    expect(await committer.probe()).toEqual(probe);
    const { strategy } = await committer.putIfAbsent("by-auto", "1");
    expect(strategy).toBe(probe.strategy);
  });

  describe.each(strategies.map((strategy) => [strategy] as const))("with %s", (strategy) => {
    it("creates once, replaces an unchanged object, and reports the present ETag", async () => {
      const committer = stores.committer({ strategy });
      const key = `${strategy}/dir/a b+ü.txt`;
      const first = await committer.putIfAbsent(key, "1", {
        contentType: "text/plain",
        metadata: { by: "me" },
      });
      await expect(committer.putIfAbsent(key, "2")).rejects.toMatchObject({
        code: "already-exists",
        etag: first.etag,
      });
      const second = await committer.putIfMatch(key, first.etag, "2");
      await expect(committer.putIfMatch(key, first.etag, "3")).rejects.toMatchObject({
        code: "precondition-failed",
        etag: second.etag,
      });
      await expect(committer.putIfMatch(`${key}.no`, first.etag, "1")).rejects.toMatchObject({
        code: "precondition-failed",
        etag: undefined,
      });
      expect(await committer.read(key)).toMatchObject({
        etag: second.etag,
        commitId: second.commitId,
        body: new Uint8Array([50]),
      });
    });

    it("copies and renames only to a free key, with type and metadata", async () => {
      const committer = stores.committer({ strategy });
      const [from, to, there] = ["from ü", "to", "there"].map((key) => `${strategy}/${key}`) as [
        string,
        string,
        string,
      ];
      const options = { contentType: "text/csv", metadata: { by: "me" } };
      await committer.putIfAbsent(from, "content", options);
      await committer.putIfAbsent(there, "other");
      await expect(committer.copyIfAbsent(from, there)).rejects.toMatchObject({
        code: "already-exists",
      });
      expect(await stores.text(there)).toBe("other");
      await committer.copyIfAbsent(from, to);
      await committer.delete(there);
      await committer.renameIfAbsent(from, there);
      for (const key of [to, there]) {
        expect(await committer.read(key)).toMatchObject(options);
        expect(await stores.text(key)).toBe("content");
      }
      await expect(committer.copyIfAbsent(from, to)).rejects.toMatchObject({ code: "not-found" });
    });

    it("creates a key again at once, repeatedly", async () => {
      const committer = stores.committer({ strategy, dynamodb: { timeout: "1m" } });
      const key = `${strategy}/again`;
      const startMs = performance.now();
      for (let turn = 0; turn < 3; turn += 1) {
        await committer.putIfAbsent(key, "same");
        expect(await committer.delete(key)).toBe(true);
      }
      expect(await committer.delete(key)).toBe(false);
      expect(performance.now() - startMs).toBeLessThan(20_000);
    });

    it("creates once when 20 writers try at the same time", async () => {
      const key = `${strategy}/race`;
      const tries = Array.from({ length: 20 }, (_, index) =>
        stores
          .committer({ strategy })
          .putIfAbsent(key, `by ${index}`)
          .then(
            () => `by ${index}`,
            (error: { code: string }) => error.code,
          ),
      );
      const ended = await Promise.all(tries);
      const winners = ended.filter((one) => one.startsWith("by"));
      expect(winners).toHaveLength(1);
      expect(ended.filter((one) => one === "already-exists")).toHaveLength(19);
      expect(await stores.text(key)).toBe(winners[0]);
    });

    it("counts exactly with five writers of 10 increments each when answers are lost", async () => {
      const key = `${strategy}/counter`;
      const names = ["a", "b", "c", "d", "e"];
      const count = async (name: string, index: number): Promise<void> => {
        const store = stores.faulty();
        const committer = stores.committer({ s3: store, strategy, dynamodb: { timeout: "20s" } });
        // A probe with lost answers rejects, and nothing is committed.
        await committer.strategy();
        let lostPuts = 0;
        store.script((kind, _key, ordinal) => {
          if ((ordinal + index) % 9 !== 0 || (kind !== "put" && kind !== "head")) return undefined;
          if (kind === "put") lostPuts += 1;
          return { fault: "response-lost", unknownAfterMs: 20 };
        });
        const unknown = await increment(committer, key, name, 10);
        expect(store.injected).toBeGreaterThan(0);
        // An unknown put cannot be resolved after another writer has written; all further outcomes can.
        expect(unknown).toBeLessThanOrEqual(lostPuts);
      };
      await Promise.all(names.map(count));
      const counted = turnsOf((await stores.committer().read(key))?.body);
      expect(counted).toEqual(Object.fromEntries(names.map((name) => [name, 10])));
    }, 120_000);

    it("sends a stream, and reports progress", async () => {
      const committer = stores.committer({ strategy });
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < 8; index += 1) yield Buffer.alloc(65_536, index);
      }
      const told: number[] = [];
      const { etag } = await committer.putIfAbsent(
        `${strategy}/stream`,
        { stream: chunks(), length: 524_288 },
        { onProgress: ({ sentBytes }) => told.push(sentBytes) },
      );
      expect(told.at(-1)).toBe(524_288);
      expect(await committer.read(`${strategy}/stream`)).toMatchObject({ etag });
    });
  });

  if (!strategies.includes("dynamo")) return;
  it("takes over a dead writer's record, with the next generation", async () => {
    const dead = stores.faulty();
    dead.script((kind) => (kind === "put" ? { fault: "request-lost" } : undefined));
    const short = { s3: dead, strategy: "dynamo", dynamodb: { timeout: "1s" } } as const;
    const died = stores.committer(short).putIfAbsent("taken", "dead");
    await expect(died).rejects.toMatchObject({ code: "outcome-unknown" });
    const startMs = performance.now();
    // Waits for three times the timeout in the record.
    const committer = stores.committer({ strategy: "dynamo" });
    await committer.putIfAbsent("taken", "alive");
    expect(performance.now() - startMs).toBeGreaterThan(3_000);
    const { records } = await committer.inspect("taken");
    expect(records).toMatchObject([{ etag: undefined, generation: 1n, timeoutMs: 0 }]);
  });
}
