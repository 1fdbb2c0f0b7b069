import { describe, expect, it } from "vitest";
import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import { election } from "../../holdfast/src/election/index.js";
import { Holdfast, inspect, mutex } from "../../holdfast/src/index.js";
import { nativeFormat } from "../../holdfast/src/native/native.js";
import { MemoryTable } from "../../testing/src/table/memory-table.js";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  type LockFormat,
  lockClientFailOpen,
} from "../src/index.js";

/** A client with another format than the table's: every format reads records of every other format. */

// One key name for all formats; otherwise a format would never find another's records.
const FORMATS: readonly LockFormat[] = [
  nativeFormat({ pk: "key", sk: null }),
  awsLockClient(),
  dynamolock(),
  dynamodbLease(),
  lockClientFailOpen({ partitionKeyName: "key" }),
];
const PAIRS = FORMATS.flatMap((format) =>
  FORMATS.filter((other) => other !== format).map(
    (other) => [format.name, other.name, format, other] as const,
  ),
);

const tableOf = () => new MemoryTable({ keyAttributes: ["key"] });
const locksOn = (client: MemoryTable, format: LockFormat) =>
  format.name === "native"
    ? new Holdfast({ client, table: "locks", keys: { pk: "key", sk: null } })
    : new Holdfast({ client, table: "locks", format: format as never });

/** A record that a client of one format holds, under the key that a client of the other format reads. */
async function heldBy(writer: LockFormat, reader: LockFormat): Promise<MemoryTable> {
  const theirs = tableOf();
  await mutex(locksOn(theirs, writer), "a").acquire({ renew: "manual" });
  const [item = {}] = theirs.items();
  const here = tableOf();
  here.putItem((reader as LeaseFormat).codec.refOf("lock", "a").key, { ...item });
  return here;
}

describe.each(PAIRS)("a client of format %s on a record of format %s", (_a, _b, reader, writer) => {
  it("names the record's format, acquires nothing, and writes nothing", async () => {
    const here = await heldBy(writer, reader);
    const before = here.items();
    const locks = locksOn(here, reader);
    const lock = mutex(locks, "a");
    const questions = [
      () => lock.tryAcquire(),
      () => lock.acquire({ wait: "5s" }),
      () => inspect(locks, "a"),
      // The leaderships of native records have keys of their own.
      ...(reader.name === "native" ? [] : [() => election(locks, "a").leader()]),
    ];
    for (const ask of questions) {
      await expect(ask()).rejects.toMatchObject({
        code: "foreign-record",
        message: expect.stringContaining(`"${writer.name}"`),
      });
    }
    await locks.close();
    expect(here.items()).toEqual(before);
  });
});

describe("a released record", () => {
  // A claim names no length, the only difference between the two formats: the documentation says so.
  it.each([
    ["aws-lock-client", "dynamolock", awsLockClient(), dynamolock()],
    ["dynamolock", "aws-lock-client", dynamolock(), awsLockClient()],
  ] as const)(
    "in format %s is acquired by a client of format %s",
    async (_a, _b, writer, reader) => {
      const here = tableOf();
      const lease = await mutex(locksOn(here, writer), "a").acquire();
      await lease.release({ keepData: true });
      expect((await mutex(locksOn(here, reader), "a").tryAcquire())?.isHeld).toBe(true);
      const late = mutex(locksOn(here, writer), "a").acquire();
      await expect(late).rejects.toMatchObject({ code: "foreign-record" });
    },
  );
});

/** The quoted name of any format except the given one. */
const NAMED_BESIDE = (own: string): RegExp =>
  new RegExp(
    `"(?:${FORMATS.map(({ name }) => name)
      .filter((name) => name !== own)
      .join("|")})"`,
  );

describe("a record of no known format", () => {
  it.each(FORMATS.map((format) => [format.name, format] as const))(
    "is reported without a guess at its format, in %s",
    async (_name, format) => {
      const here = tableOf();
      const { key } = (format as LeaseFormat).codec.refOf("lock", "a");
      here.putItem(key, { total: { N: "3" } });
      const acquiring = mutex(locksOn(here, format), "a").acquire();
      await expect(acquiring).rejects.toMatchObject({
        code: "foreign-record",
        message: expect.not.stringMatching(NAMED_BESIDE(format.name)),
      });
      expect(here.items()).toEqual([{ ...key, total: { N: "3" } }]);
    },
  );
});
