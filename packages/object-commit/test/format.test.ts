import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileWrite } from "../../holdfast/src/platform/dynamodb/expressions.js";
import type { Item, Write } from "../../holdfast/src/platform/table.js";
import { MemoryTable } from "../../testing/src/table/memory-table.js";
import {
  type CommitRecord,
  claimCommit,
  commitKeyOf,
  endCommit,
  isSameRecord,
  readCommit,
} from "../src/format.js";

const vectors = JSON.parse(
  readFileSync(
    fileURLToPath(new URL("../../../spec/vectors/object-commit.json", import.meta.url)),
    "utf8",
  ),
) as {
  readonly requests: readonly { readonly name: string }[];
  readonly items: readonly {
    readonly name: string;
    readonly item: Item;
    readonly record: object;
  }[];
};

const CREATE = { key: "dir/file.csv", etag: undefined };
const REPLACE = { key: "dir/file.csv", etag: '"6654c734ccab8f440ff0825eb443dc7f"' };
const CLAIM = {
  timeoutMs: 20_000,
  ttlEpochS: 1_767_229_200n,
  token: "00000001-0000-4001-8000-000000000001",
  owner: "host:1",
};
const OF_THE_CRATE: CommitRecord = {
  generation: 3n,
  timeoutMs: 20_000,
  ttlEpochS: 1_767_229_100n,
  token: undefined,
  owner: undefined,
};
const OF_OURS: CommitRecord = {
  ...OF_THE_CRATE,
  generation: 0n,
  token: "earlier",
  owner: "host:2",
};

const requests: Readonly<Record<string, Write>> = {
  "claim to create": claimCommit(CREATE, CLAIM, undefined),
  "claim to replace": claimCommit(REPLACE, CLAIM, undefined),
  "take over from the crate": claimCommit(CREATE, CLAIM, OF_THE_CRATE),
  "take over from this library": claimCommit(REPLACE, CLAIM, OF_OURS),
  end: endCommit(CREATE, CLAIM.token, 4n),
};

const shownRecord = (record: CommitRecord): object =>
  JSON.parse(
    JSON.stringify(record, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  );

describe("the commit record", () => {
  it("sends DynamoDB the same requests, word for word", () => {
    const sent = Object.entries(requests).map(([name, { key, condition, change }]) => ({
      name,
      key,
      ...compileWrite(condition, change),
    }));
    expect(sent).toEqual(vectors.requests);
  });

  it.each(vectors.items)("reads $name as written", ({ item, record }) => {
    expect(shownRecord(readCommit(CREATE, item))).toEqual(record);
  });

  it("is read from a table unchanged, for any key and numbers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1 }),
        fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 2n }),
        fc.integer({ min: 0, max: 2 ** 31 }),
        async (key, etag, generation, timeoutMs) => {
          const target = { key, etag };
          const claim = { ...CLAIM, timeoutMs };
          const watched = { ...OF_THE_CRATE, generation };
          const table = new MemoryTable({ keyAttributes: ["path", "etag"] });
          table.putItem(commitKeyOf(target), {
            generation: { N: generation.toString() },
            timeout: { N: "5" },
            ttl: { N: String(watched.ttlEpochS) },
          });
          const answer = await table.write(claimCommit(target, claim, watched), { timeoutMs: 1 });
          expect(answer.kind).toBe("applied");
          const read = readCommit(target, table.item(commitKeyOf(target)) ?? {});
          expect(read).toEqual({ ...claim, generation: generation + 1n });
        },
      ),
    );
  });

  const numbers = [
    { generation: { S: "1" } },
    { generation: { N: "-1" } },
    { generation: { N: "1.5" } },
    { timeout: { S: "20s" } },
    {},
  ];
  it.each(numbers)("is not read from an item with %o", (odd) => {
    const item = { generation: { N: "1" }, timeout: { N: "1" }, ...odd } as Item;
    const partial = Object.keys(odd).length === 0 ? {} : item;
    expect(() => readCommit(CREATE, partial)).toThrow(
      expect.objectContaining({ code: "foreign-record", objectKey: CREATE.key }),
    );
  });

  it("differs from any record with another value except the owner", () => {
    expect(isSameRecord(OF_OURS, { ...OF_OURS, owner: "other" })).toBe(true);
    for (const change of [
      { generation: 1n },
      { timeoutMs: 0 },
      { ttlEpochS: 1n },
      { token: undefined },
    ]) {
      expect(isSameRecord(OF_OURS, { ...OF_OURS, ...change })).toBe(false);
    }
  });

  it.each<[string, Item]>([
    ["the crate wrote a new record of the same generation", { token: { S: "x" }, ttl: { N: "2" } }],
    [
      "a record was created again a second later",
      { token: { S: "earlier" }, ttl: { N: "1767229101" } },
    ],
    [
      "another commit of this library has claimed it",
      { token: { S: "later" }, ttl: { N: "1767229100" } },
    ],
    [
      "its generation has risen",
      { generation: { N: "1" }, token: { S: "earlier" }, ttl: { N: "1767229100" } },
    ],
  ])("is not taken over if %s", async (_, changed) => {
    const table = new MemoryTable({ keyAttributes: ["path", "etag"] });
    const item = { generation: { N: "0" }, timeout: { N: "20000" }, ...changed };
    table.putItem(commitKeyOf(REPLACE), item);
    const answer = await table.write(claimCommit(REPLACE, CLAIM, OF_OURS), { timeoutMs: 1 });
    expect(answer.kind).toBe("refused");
  });

  it("is ended only by its own token and generation", async () => {
    const table = new MemoryTable({ keyAttributes: ["path", "etag"] });
    await table.write(claimCommit(CREATE, CLAIM, undefined), { timeoutMs: 1 });
    const wrong = [endCommit(CREATE, "other", 0n), endCommit(CREATE, CLAIM.token, 1n)];
    for (const end of wrong) {
      expect((await table.write(end, { timeoutMs: 1 })).kind).toBe("refused");
    }
    await table.write(endCommit(CREATE, CLAIM.token, 0n), { timeoutMs: 1 });
    const ended = readCommit(CREATE, table.item(commitKeyOf(CREATE)) ?? {});
    expect(ended).toEqual({ ...CLAIM, generation: 0n, timeoutMs: 0 });
  });
});
