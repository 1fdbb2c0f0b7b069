import { describe, expect, it } from "vitest";
import { objectCommitter } from "../src/index.js";
import { CommitWorld, errorOf } from "./world.js";

describe("the wait of a commit", () => {
  it("is not for the record of another writer with `wait: 0`, and long enough for slow answers", async () => {
    const world = new CommitWorld();
    const latency = () => ({ requestMs: 1_500, responseMs: 500 });
    const { committer } = world.writer({ wait: 0, latency });
    world.putRecord("taken");
    const error = await world.error(committer.putIfAbsent("taken", "1"));
    expect(error).toMatchObject({ code: "not-acquired", objectKey: "taken" });
    expect(world.time.nowMs).toBeLessThan(10_000);
    expect(await world.until(committer.putIfAbsent("free", "1"))).toMatchObject({ key: "free" });
    // A record that no writer acts on any more needs no wait.
    world.putRecord("ended", undefined, 0, 0);
    expect(await world.until(committer.putIfAbsent("ended", "1"))).toMatchObject({ key: "ended" });
  });

  it("is at most `timeout` with `wait: 0` while the table does not answer", async () => {
    const world = new CommitWorld();
    const { committer, table } = world.writer({ wait: 0 });
    table.script(() => ({ fault: "request-lost" }));
    expect(await world.error(committer.putIfAbsent("a", "1"))).toMatchObject({
      code: "unreachable",
    });
    expect(world.time.nowMs).toBeGreaterThan(10_000);
    expect(world.time.nowMs).toBeLessThan(26_000);
  });

  it("has no end with `wait: Infinity`", async () => {
    const world = new CommitWorld();
    const { committer } = world.writer({ wait: Number.POSITIVE_INFINITY });
    world.putRecord("a", undefined, 0, 3_600_000);
    const written = world.until(committer.putIfAbsent("a", "1"), 20_000_000);
    expect(await written).toMatchObject({ key: "a" });
    expect(world.time.nowMs).toBeGreaterThan(3 * 3_600_000);
  });

  it("outlasts the timeout in another writer's record with `beyondLease`", async () => {
    const world = new CommitWorld();
    const { committer } = world.writer({ wait: { beyondLease: "5s" } });
    world.putRecord("a", undefined, 0, 60_000);
    expect(await world.until(committer.putIfAbsent("a", "1"))).toMatchObject({ key: "a" });
    expect(world.time.nowMs).toBeGreaterThan(180_000);
    expect(world.time.nowMs).toBeLessThan(185_000);
  });

  it.each([
    { wait: "1ms" },
    { wait: "999ms" },
    { wait: -1 },
    { wait: {} },
    { wait: { beyondLease: 0 } },
  ])("is refused: %j", (options) => {
    const world = new CommitWorld();
    expect(() => world.writer(options as never)).toThrow(/wait/);
  });
});

describe("an inspection, while it reads the records,", () => {
  it("reads again after a throttled read", async () => {
    const world = new CommitWorld();
    const { committer, table } = world.writer();
    world.putRecord("a");
    table.next("read", { fault: "throttled" });
    const { records } = await world.until(committer.inspect("a"));
    expect(records).toMatchObject([{ timeoutMs: 20_000 }]);
  });

  it("rejects with the reason of an abort", async () => {
    const world = new CommitWorld();
    const { committer, table } = world.writer();
    table.script(() => ({ fault: "request-lost" }));
    const abort = new AbortController();
    const failed = errorOf(committer.inspect("a", { signal: abort.signal }));
    await world.time.advance(1_000);
    abort.abort(new Error("enough"));
    expect(await world.until(failed)).toBe(abort.signal.reason);
    expect(world.time.nowMs).toBe(1_000);
  });
});

describe.each(["conditional", "dynamo", "both"] as const)("with %s", (strategy) => {
  it("a store that throttles every put for the whole wait is told so", async () => {
    const world = new CommitWorld();
    const { committer, store } = world.writer({ strategy });
    store.script((kind) => (kind === "put" ? { fault: "throttled" } : undefined));
    expect((await world.error(committer.putIfAbsent("a", "1"))).code).toBe("throttled");
    expect(world.time.nowMs).toBeGreaterThanOrEqual(80_000);
  });

  it("a store that answers nothing after the first read or write is told so", async () => {
    const world = new CommitWorld({ conditions: "honoured" });
    const { committer, store } = world.writer({ strategy });
    world.objects.putByHand("a", "1");
    store.script((kind, _key, ordinal) =>
      kind === "head" && (strategy === "conditional" || ordinal > 1)
        ? { fault: "request-lost" }
        : undefined,
    );
    const { etag } = world.objects.object("a")?.head ?? {};
    const expected = strategy === "conditional" ? '"other"' : (etag ?? "");
    expect((await world.error(committer.putIfMatch("a", expected, "2"))).code).toBe("unreachable");
    expect(world.time.nowMs).toBeGreaterThanOrEqual(80_000);
  });
});

describe("a store that declines every request", () => {
  const committerOn = (name: string, httpStatusCode: number) =>
    objectCommitter({
      s3: {
        config: {},
        send: async (command: object) => {
          const isHead = command.constructor.name.startsWith("Head");
          const status = isHead ? 404 : httpStatusCode;
          const error = Object.assign(new Error("declined"), { name: isHead ? "NotFound" : name });
          throw Object.assign(error, { $metadata: { httpStatusCode: status, attempts: 1 } });
        },
      } as never,
      bucket: "b",
      strategy: "conditional",
      wait: "1s",
    });

  it.each([
    ["ConditionalRequestConflict", 409, "conflict"],
    ["PreconditionFailed", 412, "although the condition was true"],
    ["SlowDown", 503, "throttled every request"],
  ])("is told with the status: %s", async (name, status, what) => {
    const error = await errorOf(committerOn(name, status).putIfAbsent("a", "1"));
    expect(error.code).toBe("throttled");
    expect(error.message).toContain(what);
    expect(error.message).toContain(`HTTP status ${status}`);
    expect(error.message).toContain(name);
  });
});

describe("the probe of a store that ignores If-Match on an absent object", () => {
  it("finds the fault, so that `auto` creates no deleted object again", async () => {
    const world = new CommitWorld();
    const { committer, store } = world.writer({ strategy: "auto" });
    const put = store.put.bind(store);
    store.put = (request, call) =>
      world.objects.object(request.key) === undefined
        ? put({ ...request, ifMatch: undefined } as never, call)
        : put(request, call);
    expect(await world.until(committer.probe())).toMatchObject({
      put: "ignored",
      strategy: "dynamo",
    });
    const first = await world.until(committer.putIfAbsent("a", "1"));
    await world.until(committer.delete("a", { ifMatch: first.etag }));
    const error = await world.error(committer.putIfMatch("a", first.etag, "2"));
    expect(error.code).toBe("precondition-failed");
    expect(world.objects.object("a")).toBeUndefined();
  });
});
