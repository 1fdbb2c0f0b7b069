import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../holdfast/src/errors.js";
import type { StreamBody } from "../../holdfast/src/platform/objects.js";
import { CommitWorld, errorOf, type Writer, type WriterOptions } from "./world.js";

const STRATEGIES = [["conditional"], ["dynamo"], ["both"]] as const;

function worldOf(strategy: string): CommitWorld {
  return new CommitWorld({ conditions: strategy === "dynamo" ? "ignored" : "honoured" });
}

const DENIED = {
  fault: "misconfigured",
  error: new HoldfastError("access-denied", "The token has expired."),
} as const;

describe.each(STRATEGIES)("with %s, a writer recognises its own write", (strategy) => {
  it("when the answer is lost", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    writer.store.next("put", { fault: "response-lost", unknownAfterMs: 10 });
    const created = await world.until(writer.committer.putIfAbsent("a", "1"), 1_000);
    expect(created.etag).toBe(world.objects.object("a")?.head.etag);
    expect(world.objects.counts.put).toBe(1);
    writer.store.next("put", { fault: "response-lost", unknownAfterMs: 10 });
    await world.until(writer.committer.putIfMatch("a", created.etag, "2"), 1_000);
    expect(world.text("a")).toBe("2");
    if (strategy !== "conditional") {
      // Applied, and no send is pending: rivals need not wait.
      expect(world.record("a", created.etag)).toMatchObject({ timeout: "0" });
    }
  });

  it("when the SDK client has retried, and the retry was refused", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    writer.store.next("put", { fault: "response-lost-and-retried" });
    await world.until(writer.committer.putIfAbsent("a", "1"), 1_000);
    writer.store.next("remove", { fault: "response-lost-and-retried" });
    expect(await world.until(writer.committer.delete("a"), 1_000)).toBe(true);
  });

  it("when the answers to a copy and to the delete of the source are lost", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    world.objects.putByHand("from", "1");
    await world.until(writer.committer.copyIfAbsent("from", "warm-up"), 1_000);
    writer.store.next("copy", { fault: "response-lost", unknownAfterMs: 10 });
    writer.store.next("remove", { fault: "response-lost", unknownAfterMs: 10 });
    const renamed = writer.committer.renameIfAbsent("from", "to").then(
      () => "renamed",
      ({ code }: HoldfastError) => code,
    );
    // Only under a record it was certainly this writer that deleted the source.
    expect(await world.until(renamed, 1_000)).toBe(
      strategy === "conditional" ? "outcome-unknown" : "renamed",
    );
    expect(world.objects.keys()).toEqual(["to", "warm-up"]);
  });

  it("when the reads after a lost answer are denied for a while, as with expired credentials", async () => {
    const world = worldOf(strategy);
    const { committer, store } = world.writer({ strategy });
    store.next("put", { fault: "response-lost", unknownAfterMs: 10 });
    store.script((kind) => {
      const isDenied = kind === "head" && store.requests.put > 0 && world.time.nowMs < 2_000;
      return isDenied ? DENIED : undefined;
    });
    await world.until(committer.putIfAbsent("a", "1"), 4_000);
    expect(world.text("a")).toBe("1");
  });

  it("when the write is applied late, but within the wait", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    writer.store.next("put", { fault: "applied-late", delayMs: 5_000, unknownAfterMs: 10 });
    await world.until(writer.committer.putIfAbsent("a", "1"), 20_000);
    expect(world.text("a")).toBe("1");
  });
});

describe.each([["dynamo"], ["both"]] as const)("with %s, the record", (strategy) => {
  // rule: object-commit 12
  it("shows whose delete it was only until it expires", async () => {
    const world = worldOf(strategy);
    const { etag } = world.objects.putByHand("a", "1");
    const [one, other] = [world.writer({ strategy }), world.writer({ strategy, wait: "2m" })];
    one.store.next("remove", { fault: "request-lost" });
    const error = errorOf(one.committer.delete("a", { ifMatch: etag }));
    await world.time.advance(10);
    one.process.pause();
    expect(await world.until(other.committer.delete("a", { ifMatch: etag }))).toBe(true);
    one.process.resume({ first: "timers" });
    expect(await world.until(error)).toMatchObject({ code: "outcome-unknown", objectKey: "a" });
  });

  // rule: object-commit 7
  it("is recognised when the answer to the claim was lost, without a wait", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    writer.table.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    await world.until(writer.committer.putIfAbsent("a", "1"), 1_000);
    expect(world.record("a")).toMatchObject({ generation: "0", timeout: "0" });
  });

  it("is recognised when the SDK client has retried the claim", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    writer.table.next("write", { fault: "response-lost-and-retried" });
    await world.until(writer.committer.putIfAbsent("a", "1"), 1_000);
    expect(world.record("a")).toMatchObject({ generation: "0" });
  });

  it("is recognised when the answer to a takeover was lost", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    world.putRecord("a", undefined, 4);
    writer.table.script(({ kind }, ordinal) =>
      kind === "write" && ordinal === 2
        ? { fault: "response-lost", unknownAfterMs: 10 }
        : undefined,
    );
    await world.until(writer.committer.putIfAbsent("a", "1"), 61_000);
    expect(world.record("a")).toMatchObject({ generation: "5", timeout: "0" });
  });

  it("remains when the end was lost, and the next writer waits out the record once", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    writer.table.script((_, ordinal) => (ordinal === 2 ? { fault: "request-lost" } : undefined));
    await world.until(writer.committer.putIfAbsent("a", "1"));
    expect(world.record("a")).toMatchObject({ timeout: "20000" });
    await world.until(writer.committer.delete("a"));
    const startMs = world.time.nowMs;
    await world.until(writer.committer.putIfAbsent("a", "1"));
    expect(world.time.nowMs - startMs).toBeGreaterThan(60_000);
  });

  it("is ended when the claim was given up without an answer", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy, wait: "3s" });
    writer.table.script((_, ordinal) => (ordinal === 1 ? { fault: "response-lost" } : undefined));
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("unreachable");
    expect(world.record("a")).toMatchObject({ timeout: "0" });
  });

  it("is ended when the claim was given up after a lost answer and a denied repetition", async () => {
    const world = worldOf(strategy);
    const { committer, table } = world.writer({ strategy });
    table.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    table.next("write", DENIED);
    expect(await world.error(committer.putIfAbsent("a", "1"))).toBe(DENIED.error);
    expect(world.record("a")).toMatchObject({ timeout: "0" });
  });

  it("is ended when the claim was given up after a lost answer and throttled repetitions", async () => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy });
    const abort = new AbortController();
    writer.table.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    writer.table.next("write", { fault: "throttled" }, 1_000);
    const { signal } = abort;
    const failed = errorOf(writer.committer.putIfAbsent("a", "1", { signal }));
    await world.time.advance(3_000);
    writer.table.clear();
    abort.abort(new Error("enough"));
    expect((await world.until(failed, 1_000)).message).toBe("enough");
    expect(world.record("a")).toMatchObject({ timeout: "0" });
  });

  it.each([
    ["is denied", DENIED],
    ["gets no answer", { fault: "request-lost" }],
  ] as const)(
    "is ended when the repetition is refused without the record, and its read %s",
    async (_what, fault) => {
      const world = worldOf(strategy);
      const write = world.table.write.bind(world.table);
      world.table.write = async (...args) => {
        const answer = await write(...args);
        return answer.kind === "refused" ? { kind: "refused", item: undefined } : answer;
      };
      const { committer, table } = world.writer({ strategy, wait: "3s" });
      table.next("write", { fault: "response-lost", unknownAfterMs: 10 });
      table.script(({ kind }) => (kind === "read" ? fault : undefined));
      const error = await world.error(committer.putIfAbsent("a", "1"));
      expect(error.code).toBe(fault === DENIED ? "access-denied" : "not-acquired");
      expect(world.record("a")).toMatchObject({ timeout: "0" });
    },
  );
});

it("ends the record after a refused write, also if the read that should explain it is denied", async () => {
  const world = worldOf("both");
  const { committer, store } = world.writer({ strategy: "both" });
  store.script((kind) => {
    if (kind === "put") world.objects.putByHand("a", "other");
    return store.requests.put > 0 && kind === "head" ? DENIED : undefined;
  });
  expect(await world.error(committer.putIfAbsent("a", "1"))).toBe(DENIED.error);
  expect(world.record("a")).toMatchObject({ timeout: "0" });
});

describe("an unknown outcome", () => {
  it.each(STRATEGIES)("is reported with %s, with the commit id to look for", async (strategy) => {
    const world = worldOf(strategy);
    const writer = world.writer({ strategy, wait: "30s" });
    // Applied without an answer, and replaced before any read.
    writer.store.script((kind) => {
      if (kind === "head" && world.text("a") === "1") world.objects.putByHand("a", "2");
      return kind === "put" ? { fault: "response-lost", unknownAfterMs: 10 } : undefined;
    });
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error).toMatchObject({ code: "outcome-unknown", objectKey: "a" });
    expect(error.message).toContain(error.commitId);
  });

  it.each(STRATEGIES)(
    "is reported with %s, and not the denial of every later read",
    async (strategy) => {
      const world = worldOf(strategy);
      const { committer, store } = world.writer({ strategy });
      const { etag } = world.objects.putByHand("a", "1");
      store.script((kind) => {
        if (kind === "put") return { fault: "response-lost", unknownAfterMs: 10 };
        return store.requests.put > 0 ? DENIED : undefined;
      });
      const replaced = await world.error(committer.putIfMatch("a", etag, "2"));
      expect(replaced).toMatchObject({ code: "outcome-unknown", cause: DENIED.error });
      expect(world.text("a")).toBe("2");
    },
  );

  // rule: object-commit 10
  it("is found by a later read when the write was applied after all", async () => {
    const world = worldOf("dynamo");
    const writer = world.writer();
    writer.store.next("put", { fault: "applied-late", delayMs: 30_000, unknownAfterMs: 10 });
    const error = await world.error(writer.committer.putIfAbsent("a", "1"));
    expect(error.code).toBe("outcome-unknown");
    expect(world.time.nowMs).toBeLessThan(22_000);
    // The write may still be applied, so the record keeps rivals out.
    expect(world.record("a")).toMatchObject({ timeout: "20000" });
    await world.time.advance(20_000);
    const read = await world.until(writer.committer.read("a"));
    expect(read?.commitId).toBe(error.commitId);
  });

  // rule: object-commit 9
  it.each([["dynamo"], ["both"]] as const)(
    "is never resolved by a second send under a record, with %s",
    async (strategy) => {
      const world = new CommitWorld({ conditions: "ignored" });
      const writer = world.writer({ strategy });
      writer.store.script((kind) => (kind === "put" ? { fault: "request-lost" } : undefined));
      const error = await world.error(writer.committer.putIfAbsent("a", "1"));
      expect(error.code).toBe("outcome-unknown");
      expect(writer.store.requests.put).toBe(1);
    },
  );

  it("is reported when the caller aborts a pending write, and not before the first send", async () => {
    for (const strategy of ["conditional", "dynamo", "both"] as const) {
      const world = worldOf(strategy);
      const writer = world.writer({ strategy });
      const abort = new AbortController();
      writer.store.script((kind) => (kind === "put" ? { fault: "request-lost" } : undefined));
      const { signal } = abort;
      const ended = errorOf(writer.committer.putIfAbsent("a", "1", { signal }));
      await world.time.advance(1_000);
      abort.abort(new Error("enough"));
      const error = await world.until(ended, 1_000);
      expect(error).toMatchObject({ code: "outcome-unknown", cause: new Error("enough") });
      const none = await world.error(writer.committer.putIfAbsent("a", "1", { signal }));
      expect(none.message).toBe("enough");
    }
  });
});

describe.each(STRATEGIES)("with %s, a rename that has made its copy", (strategy) => {
  it.each<[string, (abort: AbortController) => typeof DENIED | undefined]>([
    ["is aborted", (abort) => void abort.abort(new Error("enough"))],
    ["is denied the delete", () => DENIED],
  ])("and %s does not say that nothing was written", async (_what, meet) => {
    const world = worldOf(strategy);
    const { committer, store } = world.writer({ strategy });
    world.objects.putByHand("from", "1");
    await world.until(committer.copyIfAbsent("from", "warm-up"));
    const abort = new AbortController();
    store.script((kind, key) =>
      kind === "head" && key === "from" && world.text("to") === "1" ? meet(abort) : undefined,
    );
    const { signal } = abort;
    const error = await world.error(committer.renameIfAbsent("from", "to", { signal }));
    expect(world.objects.keys()).toEqual(["from", "to", "warm-up"]);
    expect(error).toMatchObject({
      code: "outcome-unknown",
      message: expect.stringContaining('copied to "to"'),
      commitId: world.objects.object("to")?.head.commitId,
      cause: signal.aborted ? signal.reason : DENIED.error,
    });
  });
});

describe("a write that stays on the wire for longer than any wait", () => {
  async function lateWrite(strategy: "conditional" | "dynamo" | "both"): Promise<string[]> {
    const world = worldOf(strategy);
    const [slow, next] = [world.writer({ strategy }), world.writer({ strategy, wait: "5m" })];
    world.objects.putByHand("a", "0");
    slow.store.next("put", { fault: "applied-late", delayMs: 100_000 });
    const lost = errorOf(slow.committer.update("a", () => "slow"));
    await world.time.advance(1_000);
    await world.until(next.committer.update("a", () => "next"));
    const before = world.text("a") ?? "";
    await world.time.advance(200_000);
    await lost;
    return [before, world.text("a") ?? ""];
  }

  it("undoes later writes with dynamo, as documented", async () => {
    expect(await lateWrite("dynamo")).toEqual(["next", "slow"]);
  });

  it.each([["conditional"], ["both"]] as const)("is refused with %s", async (strategy) => {
    expect(await lateWrite(strategy)).toEqual(["next", "next"]);
  });
});

describe("a stream", () => {
  async function* stream(chunks: readonly string[], times: { read: number }) {
    times.read += 1;
    for (const chunk of chunks) yield Buffer.from(chunk);
  }

  it.each(STRATEGIES)("is sent once with %s, and reports progress", async (strategy) => {
    const world = worldOf(strategy);
    const { committer } = world.writer({ strategy });
    const times = { read: 0 };
    const told: number[] = [];
    await world.until(
      committer.putIfAbsent(
        "a",
        { stream: stream(["12", "345"], times), length: 5 },
        { onProgress: ({ sentBytes, totalBytes }) => told.push(sentBytes, totalBytes) },
      ),
    );
    expect(world.text("a")).toBe("12345");
    expect(told).toEqual([2, 5, 5, 5]);
    expect(times.read).toBe(1);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("enough");
      },
    ],
    ["rejects", () => Promise.reject(new Error("enough"))],
  ])("and bytes are put although the listener %s, which is a warning", async (_how, onProgress) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const world = worldOf("conditional");
    const { committer } = world.writer({ strategy: "conditional" });
    const put = { stream: stream(["12", "345"], { read: 0 }), length: 5 };
    await world.until(committer.putIfAbsent("a", put, { onProgress }));
    await world.until(committer.putIfAbsent("b", "678", { onProgress }));
    expect([world.text("a"), world.text("b")]).toEqual(["12345", "678"]);
    await new Promise(setImmediate);
    process.off("warning", onWarning);
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toMatchObject({ message: expect.stringContaining("onProgress") });
  });

  async function* failing() {
    yield Buffer.from("12");
    throw new Error("The disk is gone.");
  }

  it.each([
    ["is shorter than announced", () => stream(["12"], { read: 0 })],
    ["is longer than announced", () => stream(["12", "34", "56"], { read: 0 })],
    ["fails", failing],
  ])("that %s is refused, and stores nothing", async (_what, made) => {
    for (const [strategy] of STRATEGIES) {
      const world = worldOf(strategy);
      const { committer } = world.writer({ strategy });
      const error = await world.error(committer.putIfAbsent("a", { stream: made(), length: 4 }));
      expect(error).toMatchObject({ code: "invalid-argument", objectKey: "a" });
      expect(world.text("a")).toBeUndefined();
    }
  });

  it.each(STRATEGIES)(
    "that fails before it is read fails only its put, with %s",
    async (strategy) => {
      const world = worldOf(strategy);
      const latency = () => ({ requestMs: 50, responseMs: 50 });
      const { committer } = world.writer({ strategy, latency });
      const missing = createReadStream("/nonexistent/file");
      const failed = errorOf(committer.putIfAbsent("a", { stream: missing, length: 4 }));
      // Without a listener, this event ends the process.
      await new Promise<void>((resolve) => missing.once("close", () => resolve()));
      expect(await world.until(failed)).toMatchObject({
        code: "invalid-argument",
        cause: { code: "ENOENT" },
      });
      expect(world.text("a")).toBeUndefined();
    },
  );

  it("of texts is sent as UTF-8, as by an `S3Client`", async () => {
    const world = worldOf("conditional");
    const { committer } = world.writer({ strategy: "conditional" });
    const stream = Readable.from(["hé", "llo"]);
    await world.until(committer.putIfAbsent("a", { stream, length: 6 }));
    expect(world.text("a")).toBe("héllo");
  });

  type Prepare = (world: CommitWorld, writer: Writer, aborting: AbortController) => unknown;

  it.each<[string, WriterOptions["strategy"], Prepare]>([
    ["an object exists, with dynamo", "dynamo", (world) => world.objects.putByHand("a", "1")],
    ["an object exists, with both", "both", (world) => world.objects.putByHand("a", "1")],
    ["a probe fails", "auto", (_, { store }) => store.script(() => ({ fault: "request-lost" }))],
    [
      "the caller aborts before the put",
      "dynamo",
      (_, { store }, aborting) => store.script(() => void aborting.abort(new Error("enough"))),
    ],
  ])("that is never sent is closed: %s", async (_, strategy, prepare) => {
    const world = worldOf("conditional");
    const writer = world.writer({ strategy });
    const aborting = new AbortController();
    prepare(world, writer, aborting);
    const unread = new Readable({ read() {} });
    const { signal } = aborting;
    await world.error(writer.committer.putIfAbsent("a", { stream: unread, length: 4 }, { signal }));
    expect(world.objects.counts.put).toBe(0);
    expect(unread.destroyed).toBe(true);
  });

  it("that is refused before its first request is closed", async () => {
    const world = worldOf("conditional");
    const { committer } = world.writer({ strategy: "conditional" });
    const aborting = new AbortController();
    const { signal } = aborting;
    const streams: Readable[] = [];
    const made = (length: number): StreamBody => {
      const stream = new Readable({ read() {} });
      streams.push(stream);
      return { stream, length };
    };
    const abortAndMake = (): StreamBody => {
      aborting.abort(new Error("enough"));
      return made(4);
    };
    await world.error(committer.update("a", abortAndMake, { signal }));
    await world.error(committer.putIfAbsent("a", made(4), { signal }));
    await world.error(committer.putIfMatch("a", "", made(4)));
    await world.error(committer.putIfAbsent("a", made(-1)));
    expect(world.objects.counts.put).toBe(0);
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, true, true, true]);
  });

  it.each(STRATEGIES)("is not sent again with %s after any fault", async (strategy) => {
    const faults = [
      ["request-lost", "outcome-unknown"],
      ["throttled", "throttled"],
    ] as const;
    for (const [fault, code] of faults) {
      const world = worldOf(strategy);
      const writer = world.writer({ strategy });
      const times = { read: 0 };
      writer.store.next("put", { fault });
      const put = writer.committer.putIfAbsent("a", { stream: stream(["1"], times), length: 1 });
      expect((await world.error(put)).code).toBe(code);
      expect(writer.store.requests.put).toBe(1);
    }
  });

  it.each([
    { fault: "response-lost", unknownAfterMs: 10 },
    { fault: "response-lost-and-retried" },
  ] as const)("is recognised by reading back when the answer was lost: %o", async (fault) => {
    const world = worldOf("conditional");
    const writer = world.writer({ strategy: "conditional" });
    const times = { read: 0 };
    writer.store.next("put", fault);
    await world.until(
      writer.committer.putIfAbsent("a", { stream: stream(["1"], times), length: 1 }),
      1_000,
    );
    expect([times.read, world.text("a")]).toEqual([1, "1"]);
  });
});
