import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../../holdfast/src/errors.js";
import type { Call, Item, TablePort, Write } from "../../../holdfast/src/platform/table.js";
import { systemTimers } from "../../../holdfast/src/platform/timers.js";
import type { Fault, FaultProbabilities } from "../../src/faults/fault-plan.js";
import { FaultyTable, type FaultyTableOptions } from "../../src/faults/faults.js";
import { FaultyObjects } from "../../src/objects/faulty-objects.js";
import { MemoryObjects } from "../../src/objects/memory-objects.js";
import { DatedTable } from "../../src/table/dated-table.js";
import { MemoryTable } from "../../src/table/memory-table.js";
import { seededRandom } from "../../src/time/seeded-random.js";
import { VirtualTime } from "../../src/time/virtual-time.js";

const KEY: Item = { pk: { S: "a" } };
const CALL: Call = { timeoutMs: 1000 };
const CLAIM: Write = {
  key: KEY,
  condition: { kind: "absent", attribute: "holder" },
  change: { set: { holder: { S: "me" }, version: { incrementFrom: "0" } }, remove: [] },
};
const BUMP: Write = {
  key: KEY,
  condition: { kind: "all", of: [] },
  change: { set: { version: { incrementFrom: "0" } }, remove: [] },
};

function setUp(options?: FaultyTableOptions) {
  const time = new VirtualTime();
  const memory = new MemoryTable({ time, tellsDate: false });
  const process = time.process();
  const faulty = new FaultyTable(memory, process, options);
  /** Sends the claim. Returns the answer, its time, and whether the claim was applied by then. */
  const claim = async (call: Call = CALL) => {
    const fromMs = time.nowMs;
    const answer = await time.runUntil(faulty.write(CLAIM, call));
    const tookMs = time.nowMs - fromMs;
    return { kind: answer.kind, tookMs, applied: memory.item(KEY) !== undefined, answer };
  };
  return { time, memory, process, faulty, claim };
}

describe("FaultyTable", () => {
  it("changes nothing and takes no time without a plan", async () => {
    const { memory, faulty, claim, time } = setUp();
    expect(await claim()).toMatchObject({ kind: "applied", tookMs: 0, applied: true });
    const read = faulty.read({ key: KEY, consistent: true }, CALL);
    expect(await time.runUntil(read)).toEqual({ kind: "found", item: memory.item(KEY) });
    const scan = faulty.scan({ prefixes: [{ attribute: "pk", value: "a" }] }, CALL);
    expect(await time.runUntil(scan)).toMatchObject({ kind: "page", items: [memory.item(KEY)] });
    expect(faulty.requests).toEqual({
      write: 1,
      transact: 0,
      read: 1,
      scan: 1,
      query: 0,
    });
    expect(Object.values(faulty.injected).every((count) => count === 0)).toBe(true);
    memory.clockCorrectionMs = 7;
    expect(faulty.clockCorrectionMs).toBe(7);
  });

  it("injects no fault that is planned for no request", async () => {
    const { faulty, claim } = setUp();
    for (const times of [0, -1, Number.NaN]) faulty.next("write", { fault: "throttled" }, times);
    expect((await claim()).kind).toBe("applied");
  });

  it("delays requests by the given latency", async () => {
    const { time, memory, faulty } = setUp({ latency: () => ({ requestMs: 30, responseMs: 20 }) });
    const answer = faulty.write(CLAIM, CALL);
    await time.advance(29);
    expect(memory.item(KEY)).toBeUndefined();
    await time.advance(1);
    expect(memory.item(KEY)).toBeDefined();
    expect((await time.runUntil(answer)).kind).toBe("applied");
    expect(time.nowMs).toBe(50);
  });

  const unknownAt = (tookMs: number, applied: boolean) => ({ kind: "unknown", tookMs, applied });
  const cases: [Fault, object][] = [
    [{ fault: "request-lost" }, unknownAt(1000, false)],
    [{ fault: "request-lost", unknownAfterMs: 5 }, unknownAt(5, false)],
    [{ fault: "response-lost" }, unknownAt(1000, true)],
    [{ fault: "response-lost", unknownAfterMs: 5 }, unknownAt(5, true)],
    [
      { fault: "response-lost-and-retried", retryAfterMs: 200 },
      { kind: "refused", tookMs: 200, applied: true },
    ],
    [{ fault: "applied-late", delayMs: 400 }, unknownAt(1000, true)],
    [{ fault: "applied-late", delayMs: 400, unknownAfterMs: 5 }, unknownAt(5, false)],
    [{ fault: "applied-late", delayMs: 4000 }, unknownAt(1000, false)],
    [
      { fault: "delayed", delayMs: 300 },
      { kind: "applied", tookMs: 300, applied: true },
    ],
    [{ fault: "delayed", delayMs: 3000 }, unknownAt(1000, true)],
    [
      { fault: "duplicated", delayMs: 300 },
      { kind: "applied", tookMs: 0, applied: true },
    ],
    [
      { fault: "reordered", delayMs: 300 },
      { kind: "applied", tookMs: 300, applied: true },
    ],
    [{ fault: "reordered", delayMs: 3000 }, unknownAt(1000, false)],
    [{ fault: "throttled" }, { kind: "throttled", tookMs: 0, applied: false }],
    [{ fault: "conflict" }, { kind: "conflict", tookMs: 0, applied: false }],
    [
      { fault: "misconfigured", error: new HoldfastError("access-denied", "no") },
      { kind: "misconfigured", answer: { error: { code: "access-denied" } }, applied: false },
    ],
  ];

  it.each(cases)("injects %o", async (fault, expected) => {
    const { faulty, claim, time, process } = setUp();
    faulty.next("write", fault);
    expect(await claim()).toMatchObject(expected);
    expect(faulty.injected[fault.fault]).toBe(1);
    await time.advance(10_000);
    expect(process.pendingTimers()).toBe(0);
  });

  it("applies a delayed request after the delay, not earlier", async () => {
    const { time, memory, faulty, claim } = setUp();
    faulty.next("write", { fault: "applied-late", delayMs: 4000 });
    await claim();
    await time.advance(2999);
    expect(memory.item(KEY)).toBeUndefined();
    await time.advance(1);
    expect(memory.item(KEY)).toBeDefined();
    expect(memory.log[0]?.atMs).toBe(4000);
  });

  it("applies a duplicate later", async () => {
    const { time, memory, faulty } = setUp();
    faulty.next("write", { fault: "duplicated", delayMs: 400 });
    await time.runUntil(faulty.write(BUMP, CALL));
    expect(memory.log).toHaveLength(1);
    await time.advance(400);
    expect(memory.log.map(({ atMs }) => atMs)).toEqual([0, 400]);
  });

  it("lets later requests overtake a reordered request", async () => {
    const { time, memory, faulty } = setUp();
    faulty.next("write", { fault: "reordered", delayMs: 50 });
    const first = faulty.write(CLAIM, CALL);
    const second = faulty.write(BUMP, CALL);
    expect((await time.runUntil(second)).kind).toBe("applied");
    await time.runUntil(first);
    expect(memory.log.map(({ write }) => write)).toEqual([BUMP, CLAIM]);
  });

  it("gives eventually consistent reads an earlier state", async () => {
    const { time, memory, faulty } = setUp();
    for (let n = 0; n < 3; n += 1) memory.apply(BUMP);
    faulty.next("read", { fault: "stale" });
    faulty.next("read", { fault: "stale", changesAgo: 2 });
    const read = () => time.runUntil(faulty.read({ key: KEY, consistent: false }, CALL));
    expect(await read()).toMatchObject({ item: { version: { N: "2" } } });
    expect(await read()).toMatchObject({ item: { version: { N: "1" } } });
    expect(await read()).toMatchObject({ item: { version: { N: "3" } } });
  });

  it("deletes the item just before the request", async () => {
    const { memory, faulty, claim } = setUp();
    memory.putItem(KEY, { holder: { S: "another" } });
    faulty.next("any", { fault: "item-gone" });
    expect(await claim()).toMatchObject({ kind: "applied" });
    expect(memory.log.map(({ by }) => by)).toEqual(["hand", "hand", "write"]);
  });

  it.each([
    { fault: "delayed", delayMs: "8s" },
    { fault: "delayed" },
    { fault: "applied-late" },
    { fault: "duplicated", delayMs: -1 },
    { fault: "reordered", delayMs: Number.POSITIVE_INFINITY },
    { fault: "request-lost", unknownAfterMs: Number.NaN },
    { fault: "response-lost-and-retried", retryAfterMs: "1" },
    { fault: "stale", changesAgo: null },
    { fault: "request-lost", unknownAfterMS: 10 },
    { fault: "throttled", delayMs: "8s" },
    { fault: "misconfigured" },
  ])("refuses a fault whose options would inject nothing: %j", async (wrong) => {
    const { faulty } = setUp();
    const code = "invalid-argument";
    const refused = expect.objectContaining({
      code,
      message: expect.stringContaining(wrong.fault),
    });
    expect(() => faulty.next("read", wrong as never)).toThrow(refused);
    faulty.script(() => wrong as never);
    await expect(faulty.read({ key: KEY, consistent: false }, CALL)).rejects.toMatchObject({
      code,
    });
    expect(faulty.requests.read).toBe(1);
  });

  it("refuses impossible faults", async () => {
    const { time, faulty } = setUp();
    const impossible = (answer: Promise<unknown>) =>
      expect(time.runUntil(answer)).rejects.toMatchObject({ code: "invalid-argument" });
    faulty.script(() => ({ fault: "stale" }));
    await impossible(faulty.read({ key: KEY, consistent: true }, CALL));
    await impossible(faulty.write(CLAIM, CALL));
    faulty.script(() => ({ fault: "conflict" }));
    await impossible(faulty.read({ key: KEY, consistent: false }, CALL));
    faulty.script(() => ({ fault: "item-gone" }));
    await impossible(faulty.scan({ prefixes: [{ attribute: "pk", value: "" }] }, CALL));
    const plain = new FaultyTable(new FaultyTable(new MemoryTable()), time.process());
    plain.script(() => ({ fault: "stale" }));
    await impossible(plain.read({ key: KEY, consistent: false }, CALL));
    expect(faulty.injected.stale).toBe(0);
    expect(plain.injected.stale).toBe(0);
  });

  it("answers at once when the caller aborts, and lets the request continue", async () => {
    const { time, memory, process, faulty } = setUp({
      latency: () => ({ requestMs: 100, responseMs: 0 }),
    });
    const controller = new AbortController();
    const answer = faulty.write(CLAIM, { ...CALL, signal: controller.signal });
    await time.advance(50);
    controller.abort("enough");
    expect(await answer).toEqual({ kind: "unknown", cause: "enough" });
    expect(process.pendingTimers()).toBe(0);
    await time.advance(50);
    expect(memory.item(KEY)).toBeDefined();
    const again = await faulty.write(CLAIM, { ...CALL, signal: controller.signal });
    expect(again.kind).toBe("unknown");
    expect(faulty.requests.write).toBe(1);
  });

  it("holds answers for a paused process, and times out only if timers run first", async () => {
    for (const first of ["timers", "io"] as const) {
      const { time, memory, process, faulty } = setUp({
        latency: () => ({ requestMs: 1, responseMs: 1 }),
      });
      let kind: string | undefined;
      faulty.write(CLAIM, CALL).then((answer) => {
        kind = answer.kind;
      });
      process.pause();
      await time.advance(5000);
      expect(memory.item(KEY)).toBeDefined();
      expect(kind).toBeUndefined();
      process.resume({ first });
      await time.advance(0);
      expect(kind).toBe(first === "timers" ? "unknown" : "applied");
    }
  });

  it("rejects with the table's exception and leaves no timer behind", async () => {
    const time = new VirtualTime();
    const process = time.process();
    const broken = { write: () => Promise.reject(new Error("broken")) } as unknown as TablePort;
    const faulty = new FaultyTable(broken, process);
    await expect(time.runUntil(faulty.write(CLAIM, CALL))).rejects.toThrow("broken");
    expect(process.pendingTimers()).toBe(0);
  });

  it("works on real timers too", async () => {
    const faulty = new FaultyTable(new MemoryTable(), { timers: systemTimers });
    faulty.next("write", { fault: "response-lost" });
    expect(await faulty.write(CLAIM, { timeoutMs: 5 })).toMatchObject({ kind: "unknown" });
    expect(await faulty.write(CLAIM, { timeoutMs: 500 })).toMatchObject({ kind: "refused" });
  });
});

describe("a fault plan", () => {
  it("uses queued faults first, as often as requested, and then the script", async () => {
    const { time, faulty, claim } = setUp();
    const ordinals: [string, number][] = [];
    faulty.next("read", { fault: "throttled" });
    faulty.next("write", { fault: "conflict" }, 2);
    faulty.script((request, ordinal) => {
      ordinals.push([request.kind, ordinal]);
      return ordinal === 3 ? { fault: "throttled" } : undefined;
    });
    const kinds = [];
    for (let n = 0; n < 4; n += 1) kinds.push((await claim()).kind);
    expect(kinds).toEqual(["conflict", "conflict", "throttled", "applied"]);
    const read = await time.runUntil(faulty.read({ key: KEY, consistent: true }, CALL));
    expect(read.kind).toBe("throttled");
    expect(ordinals).toEqual([
      ["write", 3],
      ["write", 4],
    ]);
  });

  it("injects no fault after clear()", async () => {
    const { faulty, claim } = setUp();
    faulty.next("any", { fault: "throttled" });
    faulty.script(() => ({ fault: "throttled" }));
    faulty.random(seededRandom(1), { faults: { throttled: 1 } });
    faulty.clear();
    expect((await claim()).kind).toBe("applied");
  });

  it("injects random faults at the given rates, equal for equal seeds", async () => {
    const run = async (seed: number) => {
      const { time, memory, faulty } = setUp();
      const probabilities: FaultProbabilities = {
        faults: {
          "request-lost": 0.05,
          "response-lost": 0.05,
          "response-lost-and-retried": 0.05,
          "applied-late": 0.05,
          delayed: 0.05,
          throttled: 0.05,
          conflict: 0.05,
          stale: 0.1,
          "item-gone": 0.05,
        },
        longestDelayMs: 500,
      };
      faulty.random(seededRandom(seed), probabilities);
      for (let n = 0; n < 1000; n += 1) {
        await time.runUntil(faulty.write(BUMP, { timeoutMs: 100 }));
        await time.runUntil(faulty.read({ key: KEY, consistent: n % 2 === 0 }, { timeoutMs: 100 }));
      }
      return { injected: faulty.injected, log: memory.log.map(({ atMs }) => atMs) };
    };
    const first = await run(1);
    expect(first.injected["request-lost"]).toBeGreaterThan(60);
    expect(first.injected["request-lost"]).toBeLessThan(140);
    expect(first.injected.conflict).toBeGreaterThan(30);
    expect(first.injected.conflict).toBeLessThan(75);
    expect(first.injected.stale).toBeGreaterThan(30);
    expect(first.injected.stale).toBeLessThan(75);
    expect(first.injected.misconfigured).toBe(0);
    expect(await run(1)).toEqual(first);
    expect(await run(2)).not.toEqual(first);
  });

  it("refuses invalid probabilities", () => {
    const { faulty } = setUp();
    for (const faults of [{ throttled: 1.1 }, { throttled: -0.1 }, { throttled: Number.NaN }]) {
      expect(() => faulty.random(seededRandom(1), { faults })).toThrow("Probabilities");
    }
  });
});

describe("FaultyObjects", () => {
  const faulty = new FaultyObjects(new MemoryObjects());
  const random = (faults: object) =>
    faulty.random(seededRandom(1), { faults: faults as never, longestDelayMs: 1 });

  it.each<[string, () => void, string]>([
    ["fault", () => faulty.next("put", { fault: "throtled" as never }), '"throtled"'],
    ["fault of the table", () => faulty.next("put", { fault: "stale" as never }), '"stale"'],
    ["fault undefined", () => faulty.next("put", undefined as never), "undefined"],
    ["delay", () => faulty.next("put", { fault: "delayed", delayMs: "8s" as never }), "`delayMs`"],
    ["option", () => faulty.next("put", { fault: "delayed", delay: 8 } as never), '"delay"'],
    ["kind", () => faulty.next("puts" as never, { fault: "throttled" }), '"puts"'],
    ["random fault", () => random({ throtled: 0.5 }), '"throtled"'],
    ["sum", () => random({ throttled: 0.5, conflict: 0.6 }), "Probabilities"],
    ["probability", () => random({ throttled: -0.1 }), "Probabilities"],
    ["probability", () => random({ throttled: Number.NaN }), "Probabilities"],
  ])("refuses a wrong %s, which would inject nothing", (_what, plan, fact) => {
    expect(plan).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringContaining(fact),
      }),
    );
  });

  it.each([undefined, null, 5, {}])("refuses %o in place of a table or a bucket", (wrong) => {
    const refused = expect.objectContaining({ code: "invalid-argument" });
    expect(() => new FaultyTable(wrong as never)).toThrow(refused);
    expect(() => new FaultyObjects(wrong as never)).toThrow(refused);
    expect(() => new DatedTable(wrong as never, () => 0)).toThrow(refused);
  });

  it("refuses a fault of a script that does not exist", async () => {
    faulty.script(() => ({ fault: "throtled" }) as never);
    await expect(faulty.head("a", CALL)).rejects.toMatchObject({ code: "invalid-argument" });
    faulty.clear();
    expect(faulty.injected).toBe(0);
    expect(await faulty.head("a", CALL)).toEqual({ kind: "absent" });
  });
});

describe("faults of queries and deletions", () => {
  const query = {
    partition: { attribute: "pk", value: "lock#a" },
    sort: { attribute: "sk", from: "-", to: "~" },
    consistent: false,
  };
  const deletion = {
    key: KEY,
    condition: { kind: "present", attribute: "pk" },
    change: { set: {}, remove: [] },
    as: "delete",
  } as const;

  it("are injected as for other requests", async () => {
    const { time, memory, faulty, claim } = setUp();
    await claim();
    faulty.next("query", { fault: "throttled" });
    faulty.next("write", { fault: "response-lost", unknownAfterMs: 1 });
    expect((await time.runUntil(faulty.query(query, CALL))).kind).toBe("throttled");
    expect((await time.runUntil(faulty.query(query, CALL))).kind).toBe("page");
    expect((await time.runUntil(faulty.write(deletion, CALL))).kind).toBe("unknown");
    expect(memory.item(KEY)).toBeUndefined();
    expect(faulty.requests).toMatchObject({ query: 2, write: 2 });
  });

  it("are refused if they or their request do not exist: the test would prove nothing", async () => {
    const { faulty } = setUp();
    const fault = "response-lost";
    expect(() => faulty.next("wrtie" as never, { fault })).toThrow(/no kind of request "wrtie"/);
    expect(() => faulty.next("write", { fault: "respons-lost" as never })).toThrow(
      /no fault "respons-lost".* response-lost,/,
    );
    expect(() => faulty.next("write", undefined as never)).toThrow(/no fault undefined/);
    const faults = { "respons-lost": 0.5 } as never;
    expect(() => faulty.random(seededRandom(1), { faults })).toThrow(/no fault "respons-lost"/);
    faulty.script(() => ({ fault: "toString" as never }));
    await expect(faulty.query(query, CALL)).rejects.toThrow('no fault "toString"');
  });

  it("are refused if impossible", async () => {
    const { faulty } = setUp();
    faulty.next("query", { fault: "conflict" });
    await expect(faulty.query(query, CALL)).rejects.toThrow(
      'cannot happen to a request of kind "query"',
    );
    faulty.next("write", { fault: "stale" });
    await expect(faulty.write(deletion, CALL)).rejects.toThrow(
      'cannot happen to a request of kind "write"',
    );
  });
});
