import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../holdfast/src/errors.js";
import { sleep } from "../../holdfast/src/internal/sleep.js";
import { MemoryObjects } from "../../testing/src/objects/memory-objects.js";
import { MemoryTable } from "../../testing/src/table/memory-table.js";
import { type ObjectCommitter, objectCommitter } from "../src/committer.js";
import type { ObjectCommitterOptions } from "../src/options.js";
import { CommitWorld, errorOf, type Writer } from "./world.js";

describe("a commit with conditional", () => {
  it("rejects the losing writer with the present ETag", async () => {
    const world = new CommitWorld();
    const { committer } = world.writer({ strategy: "conditional" });
    const other = world.objects.putByHand("a", "1").etag;
    const created = await world.error(committer.putIfAbsent("a", "2"));
    expect(created).toMatchObject({ code: "already-exists", etag: other });
    const replaced = await world.error(committer.putIfMatch("a", '"other"', "2"));
    expect(replaced).toMatchObject({ code: "precondition-failed", etag: other });
    const missing = await world.error(committer.putIfMatch("b", other, "2"));
    expect(missing).toMatchObject({ code: "precondition-failed", etag: undefined });
  });

  it("retries a conflict with a concurrent write", async () => {
    const world = new CommitWorld();
    const writer = world.writer({ strategy: "conditional" });
    writer.store.next("put", { fault: "conflict" }, 3);
    writer.store.next("put", { fault: "throttled" }, 2);
    await world.until(writer.committer.putIfAbsent("a", "1"));
    expect(writer.store.requests.put).toBe(6);
  });

  it("rejects at once on a wrong configuration", async () => {
    const world = new CommitWorld({ conditions: "rejected" });
    const { committer } = world.writer({ strategy: "conditional" });
    expect((await world.error(committer.putIfAbsent("a", "1"), 100)).code).toBe("misconfigured");
  });

  it("rejects after the wait if the store does not answer", async () => {
    const world = new CommitWorld();
    const writer = world.writer({ strategy: "conditional", wait: "10s" });
    writer.store.script(() => ({ fault: "throttled" }));
    expect((await world.error(writer.committer.putIfAbsent("a", "1"))).code).toBe("throttled");
    writer.store.script(() => ({ fault: "request-lost" }));
    for (const what of ["read", "inspect"] as const) {
      const error = await world.error(writer.committer[what]("a"));
      expect(error.code).toBe("unreachable");
      expect(error.message).toMatch('Object "a" was not read: the object store does not answer');
    }
  });

  it("gives a slow update the whole wait for its write", async () => {
    const world = new CommitWorld();
    const { committer, process } = world.writer({ strategy: "conditional", wait: "1s" });
    const slow = async () => {
      await sleep(process.timers, 2_000, true);
      return "slow";
    };
    await world.until(committer.update("a", slow));
    expect(world.text("a")).toBe("slow");
  });

  it("pauses between the attempts of an update, also after the wait of an attempt", async () => {
    const world = new CommitWorld();
    const { committer, process } = world.writer({ strategy: "conditional", wait: "1s" });
    const atMs: number[] = [];
    const overtaken = () => {
      atMs.push(process.clock.monotonicMs());
      world.objects.putByHand("a", String(atMs.length));
      return "mine";
    };
    await world.error(committer.update("a", overtaken, { attempts: 15 }));
    expect((atMs[14] ?? 0) - (atMs[13] ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  it("reads and decides again when an update is overtaken, up to the limit of attempts", async () => {
    const world = new CommitWorld();
    const { committer } = world.writer({ strategy: "conditional" });
    world.objects.putByHand("a", "0");
    let seen: string[] = [];
    const overtaken = (times: number) => () => {
      seen.push(world.text("a") ?? "");
      if (seen.length <= times) world.objects.putByHand("a", String(seen.length));
      return "mine";
    };
    await world.until(committer.update("a", overtaken(3)));
    expect(seen).toEqual(["0", "1", "2", "3"]);
    seen = [];
    const error = await world.error(committer.update("a", overtaken(3), { attempts: 3 }));
    expect(error).toMatchObject({ code: "precondition-failed" });
    expect(seen).toHaveLength(3);
    expect(await world.until(committer.update("a", () => undefined))).toBeUndefined();
  });

  it("copies through this process if the store ignores conditions on the destination", async () => {
    const world = new CommitWorld({ copyConditions: "ignored" });
    const { committer } = world.writer({ strategy: "conditional" });
    world.objects.putByHand("from", "1");
    world.objects.putByHand("to", "2");
    expect((await world.error(committer.copyIfAbsent("from", "to"))).code).toBe("already-exists");
    expect(world.text("to")).toBe("2");
    const before = world.objects.counts;
    await world.until(committer.copyIfAbsent("from", "new"));
    expect(world.objects.counts).toEqual({ ...before, get: before.get + 1, put: before.put + 1 });
  });
});

describe("of two writers of an object with conditional, at the same time,", () => {
  async function ended(work: (one: ObjectCommitter, etag: string, to: string) => Promise<unknown>) {
    const world = new CommitWorld();
    const { etag } = world.objects.putByHand("a", "1");
    const latency = () => ({ requestMs: 5, responseMs: 5 });
    const writers = [1, 2].map(() => world.writer({ strategy: "conditional", latency }).committer);
    // The probe of copies takes time.
    const warm = (committer: ObjectCommitter, n: number) => committer.copyIfAbsent("a", `warm${n}`);
    await world.until(Promise.all(writers.map(warm)));
    const told = (error: HoldfastError) => error.code;
    const both = writers.map((committer, n) => work(committer, etag, `b${n}`).catch(told));
    return (await world.until(Promise.all(both))).map(String).toSorted();
  }

  it.each<[string, string[], Parameters<typeof ended>[0]]>([
    ["deletes it", ["false", "true"], (one) => one.delete("a")],
    [
      "deletes it with its ETag",
      ["precondition-failed", "true"],
      (one, etag) => one.delete("a", { ifMatch: etag }),
    ],
    [
      "renames it",
      ["precondition-failed", "renamed"],
      (one, _, to) => one.renameIfAbsent("a", to).then(() => "renamed"),
    ],
  ])("one %s, and the other is told that it did not", async (_what, outcomes, work) => {
    expect(await ended(work)).toEqual(outcomes);
  });

  // The store tells nobody who deleted an object: only a delete of whatever there is has what it wanted.
  it.each<[string, string, Parameters<typeof ended>[0]]>([
    ["deletes it", "true", (one) => one.delete("a")],
    [
      "deletes it with its ETag",
      "outcome-unknown",
      (one, etag) => one.delete("a", { ifMatch: etag }),
    ],
    ["renames it", "outcome-unknown", (one, _, to) => one.renameIfAbsent("a", to)],
  ])("one %s, and one whose request was lost is told %s", async (_what, outcome, work) => {
    const world = new CommitWorld();
    const { etag } = world.objects.putByHand("a", "1");
    const [one, other] = [1, 2].map(() => world.writer({ strategy: "conditional" })) as [
      Writer,
      Writer,
    ];
    await world.until(one.committer.copyIfAbsent("a", "warm"));
    one.store.next("remove", { fault: "request-lost" });
    const told = work(one.committer, etag, "b").catch(({ code }: HoldfastError) => code);
    await world.time.advance(100);
    expect(await world.until(other.committer.delete("a", { ifMatch: etag }))).toBe(true);
    expect(String(await world.until(told))).toBe(outcome);
  });
});

describe("auto", () => {
  it.each([
    ["honoured", "atomic", "conditional"],
    ["unlocked", "ignored", "dynamo"],
    ["ignored", "ignored", "dynamo"],
    ["rejected", "rejected", "dynamo"],
  ] as const)("judges a store with %s conditions as %s: %s", async (kept, put, strategy) => {
    const world = new CommitWorld({ conditions: kept });
    const { committer } = world.writer({ strategy: "auto" });
    expect(await world.until(committer.probe())).toEqual({ put, copy: put, strategy });
    expect((await world.until(committer.putIfAbsent("a", "1"))).strategy).toBe(strategy);
    expect(await world.until(committer.strategy())).toBe(strategy);
    // The probe has deleted its objects.
    expect(world.objects.keys()).toEqual(["a"]);
  });

  it("rejects without a table if the store cannot decide", async () => {
    const committer = objectCommitter({
      s3: new MemoryObjects({ conditions: "ignored" }),
      bucket: "b",
    });
    await expect(committer.putIfAbsent("a", "1")).rejects.toMatchObject({ code: "misconfigured" });
  });

  it("decides nothing by an unanswered probe, and probes again", async () => {
    const world = new CommitWorld();
    const writer = world.writer({ strategy: "auto" });
    writer.store.script((_, __, ordinal) => (ordinal > 10 ? { fault: "request-lost" } : undefined));
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("unreachable");
    expect(error.message).toMatch(/gave no clear answer \(.+\)\. Check the endpoint/);
    writer.store.clear();
    const { strategy } = await world.until(writer.committer.putIfAbsent("a", "1"));
    expect(strategy).toBe("conditional");
  });

  it("takes no time of an operation from its wait, however slow the store is", async () => {
    const world = new CommitWorld();
    const latency = () => ({ requestMs: 100, responseMs: 100 });
    const { committer } = world.writer({ strategy: "auto", wait: "1s", latency });
    expect((await world.until(committer.putIfAbsent("a", "1"))).strategy).toBe("conditional");
    expect(world.time.nowMs).toBeGreaterThan(1_000);
  });

  it.each(["throttled", "response-lost"] as const)(
    "probes again within the wait if a request of the probe ends with %s",
    async (fault) => {
      const world = new CommitWorld();
      const { committer, store } = world.writer({ strategy: "auto" });
      store.next("put", { fault });
      expect((await world.until(committer.putIfAbsent("a", "1"))).strategy).toBe("conditional");
    },
  );

  it.each([
    ["creates", 5],
    ["replaces", 21],
  ])("probes again if the burst of %s is throttled", async (_what, first) => {
    const world = new CommitWorld();
    const { committer, store } = world.writer({ strategy: "auto" });
    store.script((kind, _key, ordinal) =>
      kind === "put" && ordinal >= first && ordinal < first + 16
        ? { fault: "throttled" }
        : undefined,
    );
    expect((await world.until(committer.putIfAbsent("a", "1"))).strategy).toBe("conditional");
  });

  it("decides by a burst of which one request wins and others are throttled", async () => {
    const world = new CommitWorld();
    const { committer, store } = world.writer({ strategy: "auto" });
    store.script((kind, _key, ordinal) =>
      kind === "put" && ordinal > 10 && ordinal <= 15 ? { fault: "throttled" } : undefined,
    );
    expect((await world.until(committer.putIfAbsent("a", "1"))).strategy).toBe("conditional");
    // One probe, and the put itself.
    expect(store.requests.put).toBe(37);
  });

  it("decides nothing by a burst with expired credentials, and probes again later", async () => {
    const world = new CommitWorld();
    const { committer, store } = world.writer({ strategy: "auto" });
    const error = new HoldfastError("access-denied", "The token has expired.");
    store.script((kind, _key, ordinal) =>
      kind === "put" && ordinal >= 5 ? { fault: "misconfigured", error } : undefined,
    );
    expect(await world.error(committer.putIfAbsent("a", "1"))).toBe(error);
    store.clear();
    expect((await world.until(committer.putIfAbsent("a", "1"))).strategy).toBe("conditional");
  });

  it("rejects with the reason of an abort during the probe, at once", async () => {
    const world = new CommitWorld();
    const { committer, store } = world.writer({ strategy: "auto" });
    store.script(() => ({ fault: "request-lost" }));
    const aborting = new AbortController();
    const failed = errorOf(committer.putIfAbsent("a", "1", { signal: aborting.signal }));
    await world.time.advance(100);
    const reason = new Error("The caller has gone.");
    aborting.abort(reason);
    expect(await world.until(failed)).toBe(reason);
    expect(world.time.nowMs).toBe(100);
    const { put } = store.requests;
    await world.time.advance(60_000);
    expect(store.requests.put).toBe(put);
  });
});

describe("the options of a committer", () => {
  const good: ObjectCommitterOptions = {
    s3: new MemoryObjects(),
    bucket: "b",
    dynamodb: { client: new MemoryTable(), table: "t" },
  };
  const dynamodb = { client: new MemoryTable(), table: "t" };

  it.each<[string, object]>([
    ["s3", { s3: {} }],
    ["s3", { s3: { config: {}, send: () => undefined } }],
    ["bucket", { bucket: "" }],
    ["strategy", { strategy: "native" }],
    ["dynamodb", { strategy: "dynamo", dynamodb: undefined }],
    ["dynamodb.client", { dynamodb: { ...dynamodb, client: null } }],
    ["dynamodb.table", { dynamodb: { ...dynamodb, table: "" } }],
    ["dynamodb.timeout", { dynamodb: { ...dynamodb, timeout: 1_000.5 } }],
    ["dynamodb.timeout", { dynamodb: { ...dynamodb, timeout: "20" } }],
    ["dynamodb.maxClockSkewRate", { dynamodb: { ...dynamodb, maxClockSkewRate: 1 } }],
    ["dynamodb.ttl", { dynamodb: { ...dynamodb, ttl: "59s" } }],
    ["dynamodb.poll", { dynamodb: { ...dynamodb, poll: 0 } }],
    ["wait", { wait: "1ms" }],
    ["requestTimeout", { requestTimeout: 0 }],
    ["owner", { owner: "" }],
  ])("refuse a wrong %s: %o", (option, wrong) => {
    expect(() => objectCommitter({ ...good, ...wrong })).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringContaining(`\`${option}\``),
      }),
    );
  });

  it("default to the protocol's values, and are shown without the client", () => {
    const credentials = { secretAccessKey: "hidden" };
    const secret = { config: { credentials }, middlewareStack: {}, send: () => {} };
    const committer = objectCommitter({
      s3: secret as never,
      bucket: "b",
      owner: "me",
      dynamodb: { client: secret as never, table: "t" },
    });
    expect(committer.settings).toEqual({
      bucket: "b",
      strategy: "auto",
      table: "t",
      timeoutMs: 20_000,
      maxClockSkewRate: 3,
      ttlMs: 3_600_000,
      pollMs: 100,
      maxPollMs: 2_000,
      waitMs: 80_000,
      requestTimeoutMs: 5_000,
      transferTimeoutMs: 60_000,
      owner: "me",
      probePrefix: ".holdfast-probe/",
    });
    for (const shown of [inspect(committer, { depth: 9 }), JSON.stringify(committer)]) {
      expect(shown).toContain("20000");
      expect(shown).not.toContain("hidden");
    }
  });

  it("are checked before any request, for each operation", async () => {
    const world = new CommitWorld();
    const writer = world.writer();
    const { committer } = writer;
    const wrong = [
      () => committer.putIfAbsent("", "1"),
      () => committer.putIfAbsent("a".repeat(1_025), "1"),
      () => committer.putIfAbsent("\ud800", "1"),
      () => committer.putIfMatch("a", "*", "1"),
      () => committer.putIfMatch("a", '"\u20ac"', "1"),
      () => committer.putIfAbsent("a", "1", { contentType: "text/plain\n" }),
      () => committer.putIfAbsent("a", { stream: [] as never, length: 1 }),
      () => committer.putIfAbsent("a", "1", { metadata: { "holdfast-commit": "x" } }),
      () => committer.putIfAbsent("a", "1", { metadata: { name: "é" } }),
      () => committer.putIfAbsent("a", "1", { metadata: { "a:b": "1" } }),
      () => committer.putIfAbsent("a", "1", { metadata: { name: undefined as never } }),
      () => committer.putIfAbsent("a", "1", { metadata: { name: "1", Name: "2" } }),
      () => committer.putIfAbsent("a", "1", { metadata: "name" as never }),
      () => committer.update("a", "1" as never),
      () => committer.update("a", () => "1", { metadata: { "a:b": "1" } }),
      () => committer.copyIfAbsent("a", "a"),
      () => committer.update("a", () => "1", { attempts: 0 }),
    ];
    for (const call of wrong) {
      expect((await world.error(call())).code).toBe("invalid-argument");
    }
    expect(writer.store.requests).toEqual({ head: 0, get: 0, put: 0, copy: 0, remove: 0 });
  });
});
