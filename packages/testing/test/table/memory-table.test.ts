import { describe, expect, it } from "vitest";
import type {
  AttributeValue,
  Condition,
  Item,
  Write,
  WriteAnswer,
} from "../../../holdfast/src/platform/table.js";
import { MemoryTable } from "../../src/table/memory-table.js";
import { VirtualTime } from "../../src/time/virtual-time.js";

const KEY: Item = { pk: { S: "lock#a" }, sk: { S: "-" } };
const CALL = { timeoutMs: 1000 };
const ALWAYS: Condition = { kind: "all", of: [] };
const ABSENT: Condition = { kind: "absent", attribute: "pk" };

const write = (
  set: Write["change"]["set"],
  condition: Condition = ALWAYS,
  remove: readonly string[] = [],
): Write => ({ key: KEY, condition, change: { set, remove } });

const N = (number: number | bigint | string): AttributeValue => ({ N: String(number) });

/** A condition of this odd number of operators: the comparisons, and each `AND` between two. */
const ofOperators = (operators: number): Condition => {
  const of = Array.from({ length: (operators + 1) / 2 }, () => ABSENT);
  return { kind: "all", of };
};

/** A value within so many lists. */
function nested(levels: number): AttributeValue {
  return levels === 0 ? { S: "x" } : { L: [nested(levels - 1)] };
}

describe("MemoryTable", () => {
  it("creates an item with the key, and refuses with the existing item", async () => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"], tellsDate: false });
    const created = await table.write(write({ holder: { S: "one" } }, ABSENT), CALL);
    const item = { ...KEY, holder: { S: "one" } };
    expect(created).toEqual({ kind: "applied", item });
    const refused = await table.write(write({ holder: { S: "two" } }, ABSENT), CALL);
    expect(refused).toEqual({ kind: "refused", item });
    expect(table.item(KEY)).toEqual(item);
    const present: Condition = { kind: "present", attribute: "pk" };
    const elsewhere = { ...write({}, present), key: { pk: { S: "b" }, sk: { S: "-" } } };
    expect(table.apply(elsewhere)).toEqual({ kind: "refused", item: undefined });
    expect(table.items()).toEqual([item]);
  });

  it("sets, keeps, increments and removes attributes of the old item", () => {
    const table = new MemoryTable();
    table.apply(write({ version: { incrementFrom: "0" }, tail: { orElse: N(5) } }));
    expect(table.item(KEY)).toMatchObject({ version: { N: "1" }, tail: { N: "5" } });
    table.apply(
      write({ version: { incrementFrom: "0" }, tail: { orElse: N(9) }, data: { S: "x" } }),
    );
    table.apply(write({ owner: { S: "me" } }, ALWAYS, ["data", "never there"]));
    expect(table.item(KEY)).toEqual({ ...KEY, version: N(2), tail: N(5), owner: { S: "me" } });
  });

  it("counts exactly beyond the precision of a double", () => {
    const table = new MemoryTable();
    table.apply(write({ fence: { incrementFrom: "9007199254740992" } }));
    expect(table.item(KEY)?.["fence"]).toEqual({ N: "9007199254740993" });
    const below: Condition = { kind: "below", attribute: "fence", value: N("9007199254740994") };
    expect(table.apply(write({}, below)).kind).toBe("applied");
    const above: Condition = { kind: "at-least", attribute: "fence", value: N("9007199254740994") };
    expect(table.apply(write({}, above)).kind).toBe("refused");
  });

  it("protects stored items from outside changes", async () => {
    const table = new MemoryTable();
    const bytes = new Uint8Array([1, 2]);
    table.apply(write({ data: { B: bytes } }));
    bytes[0] = 9;
    expect(table.item(KEY)?.["data"]).toEqual({ B: new Uint8Array([1, 2]) });
  });

  it("answers misconfigured to requests that DynamoDB refuses, without a cost", () => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
    table.apply(write({ holder: { S: "me" } }));
    table.resetCounts();
    const wrong: Write[] = [
      { ...write({}), key: { pk: { S: "a" } } },
      { ...write({}), key: { pk: { S: "" }, sk: { S: "-" } } },
      write({ pk: { S: "moved" } }),
      write({ a: N(1) }, ALWAYS, ["a"]),
      write({}, ALWAYS, ["a", "a"]),
      write({}, ALWAYS, ["sk"]),
      write({ holder: { incrementFrom: "0" } }),
      write({ a: N("twelve") }),
      write({ a: { SS: [] } }),
      write({ a: { SS: ["a", "a"] } }),
      write({ a: { NS: ["1", "1.0"] } }),
      write({ a: { BS: [new Uint8Array([1]), new Uint8Array([1])] } }),
      write({ a: nested(32) }),
      write({ a: { S: "x".repeat(500_000) } }),
      write({}, { kind: "any", of: [{ kind: "below", attribute: "a", value: { BOOL: true } }] }),
      write({}, ofOperators(301)),
    ];
    for (const request of wrong) {
      expect(table.apply(request)).toMatchObject({
        kind: "misconfigured",
        error: { code: "misconfigured" },
      });
    }
    expect(table.counts.writes).toBe(0);
    expect(table.log).toHaveLength(1);
  });

  it("applies a write of the deepest value that DynamoDB allows", () => {
    expect(new MemoryTable().apply(write({ a: nested(31) })).kind).toBe("applied");
  });

  it("applies a write whose condition has the most operators that DynamoDB allows", () => {
    expect(new MemoryTable().apply(write({}, ofOperators(299))).kind).toBe("applied");
  });

  it("does not apply a call that was aborted before", async () => {
    const table = new MemoryTable();
    const call = { timeoutMs: 10, signal: AbortSignal.abort("enough") };
    expect(await table.write(write({}), call)).toEqual({ kind: "unknown", cause: "enough" });
    expect(await table.read({ key: KEY, consistent: true }, call)).toMatchObject({
      kind: "unknown",
    });
    expect(table.counts.writes).toBe(0);
  });
});

describe("MemoryTable's reads", () => {
  it("see every write if strongly consistent, and an older state with a lag", async () => {
    const time = new VirtualTime();
    const table = new MemoryTable({ time, lagMs: () => 100 });
    const read = async (consistent: boolean) => {
      const answer = await table.read({ key: KEY, consistent, attributes: ["version"] }, CALL);
      return answer.kind === "found" ? answer.item?.["version"] : answer;
    };
    table.apply(write({ version: N(1), data: { S: "x" } }));
    expect(await read(true)).toEqual(N(1));
    expect(await read(false)).toBeUndefined();
    await time.advance(60);
    table.apply(write({ version: N(2) }));
    await time.advance(60);
    expect(await read(false)).toEqual(N(1));
    await time.advance(40);
    expect(await read(false)).toEqual(N(2));
  });

  it("can return any remembered state", () => {
    const table = new MemoryTable({ tellsDate: false });
    const stale = (changesAgo: number) =>
      table.staleRead({ key: KEY, consistent: false }, changesAgo);
    expect(stale(1)).toEqual({ kind: "found", item: undefined });
    for (const version of [1, 2, 3]) table.apply(write({ version: N(version) }));
    expect(stale(0)).toMatchObject({ item: { version: N(3) } });
    expect(stale(2)).toMatchObject({ item: { version: N(1) } });
    expect(stale(3)).toEqual({ kind: "found", item: undefined });
    expect(stale(99)).toEqual({ kind: "found", item: undefined });
    for (let version = 4; version <= 40; version += 1) table.apply(write({ version: N(version) }));
    expect(stale(99)).toMatchObject({ item: { version: N(25) } });
  });

  it("project the requested attributes", async () => {
    const table = new MemoryTable({ tellsDate: false });
    table.apply(write({ a: N(1), b: N(2) }));
    const read = { key: KEY, consistent: true, attributes: ["b", "never there"] };
    expect(await table.read(read, CALL)).toEqual({ kind: "found", item: { b: N(2) } });
  });

  it("scan page by page in a fixed order, with any filter", async () => {
    const table = new MemoryTable({ scanPageBytes: 100 });
    const names = Array.from({ length: 12 }, (_, n) => `${n % 2 ? "lock" : "other"}#${n}`);
    for (const name of names) table.putItem({ pk: { S: name } }, { data: { S: "x".repeat(40) } });
    const seen: unknown[] = [];
    let after: Item | undefined;
    let pages = 0;
    do {
      const answer = await table.scan(
        { prefixes: [{ attribute: "pk", value: "lock#" }], after },
        CALL,
      );
      if (answer.kind !== "page") throw new Error("no page");
      seen.push(...answer.items.map((item) => item["pk"]));
      expect(answer.readUnits).toBe(0.5);
      after = answer.next;
      pages += 1;
    } while (after !== undefined);
    const expected = names.filter((name) => name.startsWith("lock")).sort();
    expect(seen).toEqual(expected.map((S) => ({ S })));
    expect(pages).toBeGreaterThan(3);
    expect(table.counts).toMatchObject({ scans: pages, readUnits: pages / 2 });
  });
});

describe("MemoryTable's counts and log", () => {
  it("charge writes by the larger size, refused writes too", () => {
    const table = new MemoryTable();
    const kilobytes = (count: number) => ({ data: { S: "x".repeat(count * 1024) } });
    table.apply(write({}));
    expect(table.counts.writeUnits).toBe(1);
    table.apply(write(kilobytes(3)));
    expect(table.counts.writeUnits).toBe(1 + 4);
    table.apply(write({}, ALWAYS, ["data"]));
    expect(table.counts.writeUnits).toBe(1 + 4 + 4);
    table.apply(write(kilobytes(2), ABSENT));
    expect(table.counts).toMatchObject({ writes: 4, refusedWrites: 1, writeUnits: 1 + 4 + 4 + 3 });
  });

  it("charge reads by the whole item, half as much if eventually consistent", async () => {
    const table = new MemoryTable();
    await table.read({ key: KEY, consistent: false }, CALL);
    expect(table.counts).toMatchObject({ eventualReads: 1, readUnits: 0.5 });
    table.apply(write({ data: { S: "x".repeat(5000) } }));
    await table.read({ key: KEY, consistent: true, attributes: ["pk"] }, CALL);
    expect(table.counts).toMatchObject({ consistentReads: 1, readUnits: 2.5 });
    const before = table.counts;
    table.resetCounts();
    expect(table.counts.readUnits).toBe(0);
    expect(before.readUnits).toBe(2.5);
  });

  it("log every change with time and origin", async () => {
    const time = new VirtualTime();
    const heard: string[] = [];
    const table = new MemoryTable({ time, onChange: ({ by }) => heard.push(by) });
    await time.advance(5);
    const claim = write({ expiresAt: N(100) }, ABSENT);
    table.apply(claim);
    table.apply(claim);
    await time.advance(5);
    expect(table.deleteExpired(100)).toEqual([]);
    expect(table.deleteExpired(100 + 6 * 365 * 86_400)).toEqual([]);
    expect(table.deleteExpired(101)).toHaveLength(1);
    expect(table.deleteItem(KEY)).toBe(false);
    table.putItem(KEY, { holder: { S: "by hand" } });
    expect(table.deleteItem(KEY)).toBe(true);
    expect(heard).toEqual(["write", "ttl", "hand", "hand"]);
    const item = { ...KEY, expiresAt: N(100) };
    expect(table.log.slice(0, 2)).toEqual([
      { key: KEY, before: undefined, after: item, atMs: 5, by: "write", write: claim },
      { key: KEY, before: item, after: undefined, atMs: 10, by: "ttl", write: undefined },
    ]);
    const silent = new MemoryTable({ keepsLog: false });
    silent.apply(claim);
    expect(silent.log).toEqual([]);
  });
});

describe("MemoryTable's queries and deletions", () => {
  const keyed = (sk: string) => ({ pk: { S: "lock#a" }, sk: { S: sk } });
  const query = {
    partition: { attribute: "pk", value: "lock#a" },
    sort: { attribute: "sk", from: "b", to: "d" },
    consistent: false,
  };
  const filled = (options = {}) => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"], ...options });
    for (const sk of ["a", "d", "b", "c", "e"]) table.putItem(keyed(sk), { size: N(1) });
    table.putItem({ pk: { S: "lock#ab" }, sk: { S: "c" } }, {});
    return table;
  };
  const sortKeys = (answer: { readonly items?: readonly Item[] }) =>
    answer.items?.map(({ sk }) => sk?.["S" as keyof AttributeValue]);

  it("read a range of a partition in either direction, page by page", async () => {
    const table = filled();
    expect(sortKeys((await table.query(query, CALL)) as object)).toEqual(["b", "c", "d"]);
    const first = await table.query({ ...query, isDescending: true, mostItems: 2 }, CALL);
    expect(sortKeys(first as object)).toEqual(["d", "c"]);
    const after = "next" in first ? first.next : undefined;
    const rest = await table.query({ ...query, isDescending: true, mostItems: 2, after }, CALL);
    expect(sortKeys(rest as object)).toEqual(["b"]);
    expect(table.counts).toMatchObject({ queries: 3, readUnits: 1.5 });
  });

  it("lag like reads, unless strongly consistent", async () => {
    const time = new VirtualTime();
    const table = filled({ time, lagMs: () => 1_000 });
    await time.advance(5_000);
    table.deleteItem(keyed("c"));
    await time.advance(500);
    expect(sortKeys((await table.query(query, CALL)) as object)).toEqual(["b", "c", "d"]);
    const strong = await table.query({ ...query, consistent: true }, CALL);
    expect(sortKeys(strong as object)).toEqual(["b", "d"]);
  });

  it("delete only the matching item, and succeed for an absent item", async () => {
    const table = filled({ tellsDate: false });
    const one: Condition = { kind: "equals", attribute: "size", value: N(1) };
    const two: Condition = { kind: "equals", attribute: "size", value: N(2) };
    const item = { ...keyed("c"), size: N(1) };
    const key = keyed("c");
    const remove = (condition: Condition): Promise<WriteAnswer> =>
      table.write({ key, condition, change: { set: {}, remove: [] }, as: "delete" }, CALL);
    expect(await remove(two)).toEqual({ kind: "refused", item });
    expect(await remove(one)).toEqual({ kind: "applied", item: undefined });
    expect(table.log.at(-1)).toMatchObject({ by: "write", before: item, after: undefined });
    expect(await remove(one)).toEqual({ kind: "refused", item: undefined });
    expect(await remove(ABSENT)).toEqual({ kind: "applied", item: undefined });
    expect(table.counts).toMatchObject({ writes: 4, removals: 2, writeUnits: 4 });
  });
});
