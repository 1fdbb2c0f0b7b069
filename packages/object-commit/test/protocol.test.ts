import { beforeEach, describe, expect, it } from "vitest";
import { commitKeyOf } from "../src/format.js";
import { CommitWorld, errorOf } from "./world.js";

const TIMEOUT_MS = 20_000;
const TAKEOVER_MS = 3 * TIMEOUT_MS;

let world: CommitWorld;
beforeEach(() => {
  // The protocol's target: a store that accepts conditions, and ignores them.
  world = new CommitWorld({ conditions: "ignored" });
});

describe("the scenarios of the Rust crate's own tests", () => {
  it("create, refuse a second create, replace, refuse a stale tag and a missing object", async () => {
    const { committer } = world.writer();
    const created = await world.until(committer.putIfAbsent("a", "1"));
    const second = await world.error(committer.putIfAbsent("a", "2"));
    expect(second).toMatchObject({ code: "already-exists", objectKey: "a", etag: created.etag });
    expect(world.text("a")).toBe("1");
    const replaced = await world.until(committer.putIfMatch("a", created.etag, "2"));
    const stale = await world.error(committer.putIfMatch("a", created.etag, "3"));
    expect(stale).toMatchObject({ code: "precondition-failed", etag: replaced.etag });
    await world.until(committer.putIfMatch("a", replaced.etag, "3"));
    const missing = await world.error(committer.putIfMatch("b", created.etag, "1"));
    expect(missing).toMatchObject({ code: "precondition-failed", etag: undefined });
    expect(world.text("a")).toBe("3");
  });

  // rule: object-commit 3
  it("copy only to an absent destination, and take over a dead writer's record", async () => {
    const { committer } = world.writer();
    world.objects.putByHand("from", "content");
    world.objects.putByHand("to", "other");
    const there = await world.error(committer.copyIfAbsent("from", "to"));
    expect(there.code).toBe("already-exists");
    expect(await world.until(committer.delete("to"))).toBe(true);
    world.putRecord("to", undefined, 4);
    const startMs = world.time.nowMs;
    await world.until(committer.copyIfAbsent("from", "to"));
    expect(world.time.nowMs - startMs).toBeGreaterThan(TAKEOVER_MS);
    expect(world.text("to")).toBe("content");
    // Exactly one generation more.
    expect(world.record("to")).toMatchObject({ generation: "5", timeout: "0" });
    expect(await world.until(committer.delete("from"))).toBe(true);
    expect(await world.until(committer.read("from"))).toBeUndefined();
  });

  it("count to 50 when five workers increment an object ten times each", async () => {
    const workers = Array.from({ length: 5 }, () =>
      world.writer({ latency: () => ({ requestMs: 3, responseMs: 3 }) }),
    );
    const all = workers.map(async ({ committer }) => {
      for (let turn = 0; turn < 10; turn += 1) {
        await committer.update(
          "counter",
          (now) => String(Number(Buffer.from(now?.body ?? []).toString()) + 1),
          { attempts: Number.POSITIVE_INFINITY },
        );
      }
    });
    await world.until(Promise.all(all));
    expect(world.text("counter")).toBe("50");
  });
});

describe("a commit record", () => {
  // rule: object-commit 1
  it("has the attributes of the Rust crate, in the crate's types and units", async () => {
    const writer = world.writer({ dynamodb: { timeout: "7s", ttl: "2h" } });
    writer.store.next("put", { fault: "request-lost" });
    const failed = errorOf(writer.committer.putIfAbsent("dir/a b.txt", "1"));
    await world.time.advance(100);
    const item = world.table.item(commitKeyOf({ key: "dir/a b.txt", etag: undefined })) ?? {};
    const nowS = Math.floor(world.time.wallMs / 1000);
    expect(item).toEqual({
      path: { S: "dir/a b.txt" },
      etag: { S: "*" },
      generation: { N: "0" },
      timeout: { N: "7000" },
      ttl: { N: String(nowS + 7_200) },
      token: { S: expect.any(String) },
      owner: { S: "writer" },
    });
    expect((await world.until(failed)).code).toBe("outcome-unknown");
  });

  it("names the ETag as returned by the store, with its quotation marks", async () => {
    const { committer } = world.writer();
    const { etag } = world.objects.putByHand("a", "1");
    await world.until(committer.putIfMatch("a", etag, "2"));
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(world.record("a", etag)).toMatchObject({ etag });
  });

  // rule: object-commit 4
  it("keeps rivals out for the record's timeout times the rivals' rate, counted from their first read", async () => {
    world.putRecord("a", undefined, 0, 5_000);
    await world.time.advance(3_600_000);
    const { committer } = world.writer({
      dynamodb: { maxClockSkewRate: 2, timeout: "1s" },
      wait: "1m",
    });
    const startMs = world.time.nowMs;
    await world.until(committer.putIfAbsent("a", "1"));
    const tookMs = world.time.nowMs - startMs;
    expect(tookMs).toBeGreaterThan(10_000);
    expect(tookMs).toBeLessThan(10_500);
    expect(world.record("a")).toMatchObject({ generation: "1", timeout: "0" });
  });

  it("is taken at once if its timeout is 0", async () => {
    world.putRecord("a", undefined, 7, 0);
    const { committer } = world.writer();
    await world.until(committer.putIfAbsent("a", "1"), 100);
    expect(world.record("a")).toMatchObject({ generation: "8" });
  });

  // rule: object-commit 5
  it("restarts the wait when another writer takes the record", async () => {
    world.putRecord("a", undefined, 0);
    const { committer } = world.writer({ wait: "10m" });
    const startMs = world.time.nowMs;
    const waiting = committer.putIfAbsent("a", "1");
    waiting.catch(() => undefined);
    await world.time.advance(TAKEOVER_MS - 5_000);
    world.putRecord("a", undefined, 1);
    await world.until(waiting);
    expect(world.time.nowMs - startMs).toBeGreaterThan(2 * TAKEOVER_MS - 5_000);
    expect(world.record("a")).toMatchObject({ generation: "2" });
  });

  // rule: object-commit 2
  it("restarts the wait when a new record has the same generation", async () => {
    world.putRecord("a", undefined, 0);
    const rival = world.writer();
    const { committer } = world.writer({ wait: "10m" });
    const waiting = errorOf(committer.putIfAbsent("a", "late"));
    await world.time.advance(TAKEOVER_MS - 5_000);
    // Deleted by TTL, and created again by an active writer.
    world.table.deleteItem(commitKeyOf({ key: "a", etag: undefined }));
    rival.store.next("put", { fault: "delayed", delayMs: 15_000 });
    const working = rival.committer.putIfAbsent("a", "rival");
    await world.time.advance(0);
    expect(world.record("a")).toMatchObject({ generation: "0" });
    expect((await world.until(waiting)).code).toBe("already-exists");
    await world.until(working);
    expect(world.text("a")).toBe("rival");
  });

  it("is created again at generation 0, without further wait, when the record vanishes during a wait", async () => {
    world.putRecord("a", undefined, 9);
    const { committer } = world.writer();
    const waiting = committer.putIfAbsent("a", "1");
    await world.time.advance(5_000);
    world.table.deleteItem(commitKeyOf({ key: "a", etag: undefined }));
    await world.until(waiting, 2_500);
    expect(world.record("a")).toMatchObject({ generation: "0" });
  });

  it("is created again when the record vanishes between the last read and the takeover", async () => {
    world.putRecord("a", undefined, 9);
    const writer = world.writer();
    const waiting = writer.committer.putIfAbsent("a", "1");
    await world.time.advance(30_000);
    writer.table.next("write", { fault: "item-gone" });
    await world.until(waiting);
    expect(world.record("a")).toMatchObject({ generation: "0" });
  });

  it("is read, observed and replaced when the server refuses without showing the record", async () => {
    const write = world.table.write.bind(world.table);
    world.table.write = async (...args) => {
      const answer = await write(...args);
      return answer.kind === "refused" ? { kind: "refused", item: undefined } : answer;
    };
    world.putRecord("a", undefined, 9);
    const { committer } = world.writer();
    const waiting = committer.putIfAbsent("a", "1");
    await world.time.advance(59_000);
    expect(world.text("a")).toBeUndefined();
    await world.until(waiting, 3_500);
    expect(world.record("a")).toMatchObject({ generation: "10" });
    // A writer's own claim with a lost answer does not block the writer either.
    const unheard = world.writer();
    unheard.table.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    await world.until(unheard.committer.putIfAbsent("b", "1"), 2_000);
    expect(world.record("b")).toMatchObject({ generation: "0" });
  });

  // rule: object-commit 11
  it("is left alone and reported if foreign", async () => {
    const item = { colour: { S: "red" } };
    world.table.putItem(commitKeyOf({ key: "a", etag: undefined }), item);
    const { committer } = world.writer();
    const error = await world.error(committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("foreign-record");
    expect(world.record("a")).toMatchObject({ colour: "red" });
    expect(world.text("a")).toBeUndefined();
  });

  it("keeps unknown attributes", async () => {
    world.table.putItem(commitKeyOf({ key: "a", etag: undefined }), {
      generation: { N: "3" },
      timeout: { N: "0" },
      ttl: { N: "4000000000" },
      note: { S: "kept" },
    });
    const { committer } = world.writer();
    await world.until(committer.putIfAbsent("a", "1"));
    expect(world.record("a")).toMatchObject({ generation: "4", note: "kept" });
  });

  it("goes to one of two waiters, and the second waiter then finds the object", async () => {
    world.putRecord("a");
    const writers = [world.writer(), world.writer()];
    const results = writers.map(({ committer }, index) =>
      committer.putIfAbsent("a", String(index)).then(
        () => "committed",
        (error: { code: string }) => error.code,
      ),
    );
    expect((await world.until(Promise.all(results))).sort()).toEqual([
      "already-exists",
      "committed",
    ]);
    expect(world.record("a")).toMatchObject({ generation: "1" });
  });
});

describe("a waiter", () => {
  it("polls the object, and ends as soon as the object was written", async () => {
    world.putRecord("a");
    const { committer } = world.writer();
    const waiting = errorOf(committer.putIfAbsent("a", "1"));
    await world.time.advance(3_000);
    world.objects.putByHand("a", "by the record's writer");
    expect((await world.until(waiting)).code).toBe("already-exists");
    expect(world.time.nowMs).toBeLessThan(6_000);
  });

  it("polls far less often than ten times a second", async () => {
    world.putRecord("a");
    const writer = world.writer();
    await world.until(writer.committer.putIfAbsent("a", "1"));
    expect(writer.store.requests.head).toBeLessThan(60);
  });

  it("gives up after the wait, with nothing written", async () => {
    world.putRecord("a");
    const { committer } = world.writer({ wait: "5s" });
    const error = await world.error(committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("not-acquired");
    expect(world.time.nowMs).toBeLessThan(5_500);
    expect(world.record("a")).toMatchObject({ generation: "0" });
  });

  // A store in memory answers within the last millisecond of the wait; a real store does not.
  it.each([5, 40, 300])("gives up as not acquired when each answer takes %i ms", async (ms) => {
    world.putRecord("a");
    const latency = () => ({ requestMs: ms / 2, responseMs: ms / 2 });
    for (let waitMs = 3_000; waitMs < 4_000; waitMs += 90) {
      const { committer } = world.writer({ wait: waitMs, latency });
      const startMs = world.time.nowMs;
      const error = await world.error(committer.putIfAbsent("a", "1"));
      expect(error.code, String(waitMs)).toBe("not-acquired");
      expect(world.time.nowMs - startMs).toBeLessThan(waitMs + 5);
    }
  });

  it("gives up as not acquired when the wait ends during a claim", async () => {
    world.putRecord("a", undefined, 0, 1_000);
    const writer = world.writer({ wait: "4s", dynamodb: { timeout: "1s" } });
    // The claim after the watch of 3 s is never answered.
    writer.table.script(({ kind }, ordinal) =>
      kind === "write" && ordinal >= 2 ? { fault: "request-lost" } : undefined,
    );
    const slow = { fault: "delayed", delayMs: 300 } as const;
    writer.store.script(() => slow);
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("not-acquired");
  });

  it("reports a store that stops answering during the wait as unreachable", async () => {
    world.putRecord("a");
    const writer = world.writer({ wait: "30s", requestTimeout: "2s" });
    writer.store.script((_, __, ordinal) => (ordinal > 2 ? { fault: "request-lost" } : undefined));
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("unreachable");
  });

  it("rejects with the signal's reason when the caller aborts", async () => {
    world.putRecord("a");
    const { committer } = world.writer();
    const abort = new AbortController();
    const waiting = errorOf(committer.putIfAbsent("a", "1", { signal: abort.signal }));
    await world.time.advance(1_000);
    abort.abort(new Error("enough"));
    expect((await world.until(waiting)).message).toBe("enough");
    expect(world.time.nowMs).toBe(1_000);
  });
});

describe("the writer that takes the record", () => {
  // rule: object-commit 6
  it("reads once more, and writes nothing if a rival wrote in between", async () => {
    const writer = world.writer();
    // Written after the first read, by a rival whose record is gone again.
    writer.table.script(() => {
      world.objects.putByHand("a", "in between");
      return undefined;
    });
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("already-exists");
    expect(world.text("a")).toBe("in between");
    expect(world.record("a")).toMatchObject({ timeout: "0" });
  });

  // rule: object-commit 8
  it("never sends a write after the deadline: takes its own record again, at once", async () => {
    const writer = world.writer({ dynamodb: { timeout: "1s" }, wait: "1m" });
    writer.table.next("write", { fault: "response-lost" });
    await world.until(writer.committer.putIfAbsent("a", "1"), 10_000);
    // The claim was answered 5 s late, so its timeout of 1 s was over.
    expect(world.record("a")).toMatchObject({ generation: "1", timeout: "0" });
    expect(writer.store.requests.put).toBe(1);
  });

  it("rejects with lost when the deadline and the wait are over", async () => {
    const writer = world.writer({
      dynamodb: { timeout: "1s" },
      wait: "2s",
      requestTimeout: "2s",
    });
    writer.store.script((kind, _, ordinal) =>
      kind === "head" && ordinal > 1 ? { fault: "request-lost" } : undefined,
    );
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error).toMatchObject({ code: "lost", reason: "expired" });
    expect(writer.store.requests.put).toBe(0);
    expect(world.record("a")).toMatchObject({ timeout: "0" });
  });

  it("ends its own record if it does not get the record again", async () => {
    const writer = world.writer({ dynamodb: { timeout: "1s" }, wait: "6s" });
    writer.table.next("write", { fault: "response-lost" });
    // The claim is answered 5 s late, and then nothing until the wait is over.
    writer.table.script(({ kind }) =>
      kind === "write" && writer.table.requests.write > 2 && world.time.nowMs < 6_000
        ? { fault: "throttled" }
        : undefined,
    );
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("throttled");
    expect(world.record("a")).toMatchObject({ generation: "0", timeout: "0" });
  });

  it("answers an abort within a requestTimeout while it takes the record again from a silent table", async () => {
    const writer = world.writer({ dynamodb: { timeout: "1s" }, wait: "1m" });
    writer.store.script((kind) => (kind === "put" ? { fault: "throttled" } : undefined));
    writer.table.script(() =>
      writer.table.requests.write > 1 ? { fault: "request-lost" } : undefined,
    );
    const stop = new AbortController();
    const stopped = errorOf(writer.committer.putIfAbsent("a", "1", { signal: stop.signal }));
    await world.time.advance(10_000);
    stop.abort(new Error("enough"));
    expect((await world.until(stopped, 5_000)).message).toBe("enough");
  });

  it("ends no record of a rival that has replaced its own", async () => {
    const writer = world.writer({ dynamodb: { timeout: "1s" }, wait: "1m" });
    writer.store.script((kind) => (kind === "put" ? { fault: "throttled" } : undefined));
    writer.table.script(({ kind }) => {
      if (kind !== "write" || writer.table.requests.write !== 2) return undefined;
      world.objects.putByHand("a", "of the rival");
      world.putRecord("a", undefined, 1);
      return undefined;
    });
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("already-exists");
    expect(writer.table.requests.write).toBe(2);
  });

  it("counts the deadline by the clock with the longest time", async () => {
    const writer = world.writer();
    let isSuspended = false;
    writer.store.script((kind, _, ordinal) => {
      if (kind !== "head" || ordinal !== 2 || isSuspended) return undefined;
      isSuspended = true;
      // A suspended machine: the monotonic clock stands still, the wall clock continues.
      writer.process.stepWall(TIMEOUT_MS + 1);
      return undefined;
    });
    await world.until(writer.committer.putIfAbsent("a", "1"));
    expect(writer.store.requests.put).toBe(1);
    expect(world.record("a")).toMatchObject({ generation: "1" });
  });
});

describe("a key", () => {
  it("can be created again at once after a delete by a committer, also with earlier content", async () => {
    const { committer } = world.writer();
    for (let turn = 0; turn < 3; turn += 1) {
      await world.until(committer.putIfAbsent("a", "same"), 1_000);
      await world.until(
        committer.update("a", () => "other"),
        1_000,
      );
      await world.until(
        committer.update("a", () => "same"),
        1_000,
      );
      expect(await world.until(committer.delete("a"), 1_000)).toBe(true);
    }
    expect(await world.until(committer.delete("a"), 1_000)).toBe(false);
  });

  it("causes no wait after a certain failure", async () => {
    const { committer } = world.writer();
    world.objects.putByHand("from", "1");
    const writer = world.writer();
    writer.store.next("head", { fault: "delayed", delayMs: 0 });
    const gone = committer.copyIfAbsent("nothing", "to");
    expect((await world.error(gone, 1_000)).code).toBe("not-found");
    expect(world.record("to")).toBeUndefined();
    await world.until(committer.copyIfAbsent("from", "to"), 1_000);
  });

  it("causes no wait after the source of a copy vanished under the record", async () => {
    const writer = world.writer();
    world.objects.putByHand("from", "1");
    writer.store.script((kind) => {
      if (kind === "copy") void world.objects.remove({ key: "from" }, { timeoutMs: 1 });
      return undefined;
    });
    const error = await world.error(writer.committer.copyIfAbsent("from", "to"), 1_000);
    expect(error).toMatchObject({ code: "not-found", objectKey: "from" });
    expect(world.record("to")).toMatchObject({ timeout: "0" });
  });
});

describe("a delete", () => {
  it("deletes only the object with the given ETag, and reports a different ETag", async () => {
    const { committer } = world.writer();
    const { etag } = world.objects.putByHand("a", "1");
    const other = world.objects.putByHand("a", "2").etag;
    const error = await world.error(committer.delete("a", { ifMatch: etag }));
    expect(error).toMatchObject({ code: "precondition-failed", etag: other });
    expect(await world.until(committer.delete("a", { ifMatch: other }))).toBe(true);
    expect(world.text("a")).toBeUndefined();
  });
});

describe("a rename", () => {
  it("keeps a source that was replaced after the copy", async () => {
    const writer = world.writer();
    world.objects.putByHand("from", "1");
    let isCopied = false;
    writer.store.script((kind, key) => {
      if (kind === "copy") isCopied = true;
      if (isCopied && kind === "head" && key === "from") world.objects.putByHand("from", "2");
      return undefined;
    });
    const error = await world.error(writer.committer.renameIfAbsent("from", "to"));
    expect(error).toMatchObject({ code: "precondition-failed", objectKey: "from" });
    expect([world.text("from"), world.text("to")]).toEqual(["2", "1"]);
  });

  it("keeps type and metadata, and gives the copy a new commit id", async () => {
    const { committer } = world.writer();
    const put = await world.until(
      committer.putIfAbsent("from", "1", { contentType: "text/csv", metadata: { by: "me" } }),
    );
    const renamed = await world.until(committer.renameIfAbsent("from", "to"));
    expect(world.objects.keys()).toEqual(["to"]);
    expect(await world.until(committer.read("to"))).toMatchObject({
      contentType: "text/csv",
      metadata: { by: "me" },
      commitId: renamed.commitId,
    });
    expect(renamed.commitId).not.toBe(put.commitId);
  });
});

describe("two writers with the same random ids", () => {
  it("do not both write under one record: the first writer's record refuses the second", async () => {
    const random = () => ({ id: () => "drawn by both", fraction: () => 0.5 });
    const slow = () => ({ requestMs: 1_000, responseMs: 0 });
    const [first, second] = [
      world.writer({ random: random(), latency: slow }),
      world.writer({ random: random() }),
    ];
    const writing = first.committer.putIfAbsent("a", "first");
    // The first writer has the record, and has not written.
    await world.time.advance(2_500);
    expect(world.record("a")).toBeDefined();
    const error = await world.error(second.committer.putIfAbsent("a", "second"));
    expect(error).toMatchObject({ code: "already-exists", objectKey: "a" });
    await world.until(writing);
    expect(world.text("a")).toBe("first");
  });
});
