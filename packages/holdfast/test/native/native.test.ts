import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  nativeRequests,
  playNativeScenes,
  readable,
  SHAPES,
} from "../../../../scripts/lib/native-scenes.mjs";
import { sdkClient } from "../../../../test/support/sdk.js";
import { World } from "../../../../test/support/world.js";
import { type MemoryServer, startMemoryServer } from "../../../testing/src/dynamodb/server.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { seededRandom } from "../../../testing/src/time/seeded-random.js";
import { Holdfast, inspect, mutex, openSession } from "../../src/index.js";
import { nativeFormat } from "../../src/native/native.js";
import { recordListing } from "../../src/native/native-listing.js";
import { REQUESTS } from "../../src/native/native-requests.js";
import { RUNS } from "../../src/native/native-runs.js";
import { SESSIONS } from "../../src/native/native-sessions.js";
import { forcedRequest } from "../../src/native/native-values.js";
import { compileWrite } from "../../src/platform/dynamodb/expressions.js";
import type { AttributeValue, Item, Write } from "../../src/platform/table.js";
import { createTable } from "../../src/table/index.js";

interface Vector {
  readonly state: string;
  readonly shape: string;
  readonly item: Item;
  readonly record: Readonly<Record<string, unknown>>;
}

const FILE = new URL("../../../../spec/vectors/native.json", import.meta.url);
const vectors = JSON.parse(readFileSync(FILE, "utf8")) as {
  readonly items: readonly Vector[];
  readonly requests: readonly { readonly step: string; readonly request: object }[];
};

function formatOf(shape: string) {
  const { pk = "pk", sk = "sk" } = SHAPES[shape] ?? {};
  return nativeFormat({ pk, sk });
}

describe("the native record's vectors", () => {
  let server: MemoryServer;
  let played: Awaited<ReturnType<typeof playNativeScenes>>;

  beforeAll(async () => {
    server = await startMemoryServer();
    const client = sdkClient(server.endpoint);
    const library = { Holdfast, inspect, mutex, openSession };
    const code = { createTable, library, seededRandom };
    played = await playNativeScenes({ client, prefix: "vectors", ...code });
    client.destroy();
  });
  afterAll(() => server.close());

  // rule: protocol 11
  it.each(vectors.items)("equal the written items: $state, $shape", ({ state, shape, item }) => {
    const now = played.find((one) => one.state === state && one.shape === shape);
    expect(now?.item).toEqual(item);
  });

  it("cover every scene", () => {
    expect(played.map(({ state, shape }) => [state, shape])).toEqual(
      vectors.items.map(({ state, shape }) => [state, shape]),
    );
  });

  it.each(vectors.items)(
    "are read with their content: $state, $shape",
    ({ shape, item, record }) => {
      expect(readable(formatOf(shape).codec.read(item))).toEqual(record);
    },
  );

  it("stay below one write unit", () => {
    for (const { item } of vectors.items) {
      expect(Buffer.byteLength(JSON.stringify(item))).toBeLessThan(1_024);
    }
  });

  // rule: protocol 9, protocol 48
  it("send DynamoDB the same requests, word for word", () => {
    const library = { nativeFormat, REQUESTS, RUNS, SESSIONS, compileWrite, forcedRequest };
    expect(nativeRequests(library)).toEqual(vectors.requests);
  });
});

const format = formatOf("default");
const grant = {
  holder: "new",
  leaseMs: 1_000,
  owner: "o",
  data: undefined,
  existingData: "replace",
  existingAttributes: "replace",
  wallMs: 0,
  acquiredAt: "",
  fenceSeed: 0n,
} as const;
const ref = format.codec.refOf("lock", "customer/42");
const held = vectors.items.find(({ state }) => state === "held")?.item as Item;

/** The held record with some attributes replaced, or removed if undefined. */
function changed(attributes: Readonly<Record<string, AttributeValue | undefined>>): Item {
  const entries = Object.entries({ ...held, ...attributes });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Item;
}

const UNREADABLE: [string, Item, string, RegExp][] = [
  ["no layout", changed({ v: undefined }), "foreign", /no layout/],
  ["a layout that is text", changed({ v: { S: "1" } }), "foreign", /no layout/],
  ["a newer layout", changed({ v: { N: "2" } }), "unsupported", /layout 2/],
  ["a session that is a number", changed({ session: { N: "1" } }), "foreign", /session/],
  [
    "a session and no holder",
    changed({ holder: undefined, session: { S: "x" } }),
    "foreign",
    /session/,
  ],
  [
    "a session that no key can have",
    changed({ session: { S: "s".repeat(2_041) } }),
    "foreign",
    /session/,
  ],
  ["no fence", changed({ fence: undefined }), "foreign", /fence/],
  ["a fence with a fraction", changed({ fence: { N: "1.5" } }), "foreign", /fence/],
  ["no version", changed({ version: undefined }), "foreign", /version/],
  ["a lease length of zero", changed({ leaseMs: { N: "0" } }), "foreign", /lease length/],
  ["a lease length that is text", changed({ leaseMs: { S: "30s" } }), "foreign", /lease length/],
  ["no lease length", changed({ leaseMs: undefined }), "foreign", /lease length/],
  ["a holder that is a number", changed({ holder: { N: "7" } }), "foreign", /holder/],
  ["an empty holder", changed({ holder: { S: "" } }), "foreign", /holder/],
];

// For a free record, only the condition of a claim protects it from the claim.
const free = (attributes: Parameters<typeof changed>[0]): Item =>
  changed({ holder: undefined, ...attributes });
const UNREADABLE_AND_FREE: [string, Item][] = [
  ["no holder and no layout", free({ v: undefined })],
  ["no holder and a layout that is text", free({ v: { S: "1" } })],
  ["no holder and a newer layout", free({ v: { N: "2" } })],
  ["no holder and a session", free({ session: { S: "x" } })],
  ["no holder and no fence", free({ fence: undefined })],
  ["no holder and no version", free({ version: undefined })],
  ["no holder and a fence that is text", free({ fence: { S: "7" } })],
  ["no holder and a fence of 38 digits", free({ fence: { N: "9".repeat(38) } })],
  ["no holder and a version of 38 digits", free({ version: { N: "9".repeat(38) } })],
];

// Before a ticket in a held record, the client has read the holder.
const NO_TICKETS: [string, Item][] = [
  ...UNREADABLE_AND_FREE,
  ["a newer layout", changed({ v: { N: "2" } })],
  ["a holder and no lease length", changed({ leaseMs: undefined })],
  ["a holder and a lease length that is text", changed({ leaseMs: { S: "30s" } })],
];

describe("an unreadable record", () => {
  it.each(UNREADABLE)("is reported with the reason: %s", (_, item, state, found) => {
    expect(format.codec.read(item)).toEqual({ state, found: expect.stringMatching(found) });
  });

  const claimed = [
    ...UNREADABLE.map(([title, item]) => [title, item] as const),
    ...UNREADABLE_AND_FREE,
  ];

  // rule: R12, protocol 3
  it.each(claimed)("refuses every claim: %s", async (_, item) => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
    table.putItem(ref.key, item);
    const claims: Write[] = [
      format.lease.claim(ref, grant, { kind: "blind" }),
      format.lease.claim(ref, grant, { kind: "existing" }),
      format.lease.claim(ref, grant, { kind: "absent" }),
    ];
    for (const claim of claims) {
      expect(await table.write(claim, { timeoutMs: 1 })).toMatchObject({ kind: "refused" });
    }
  });

  // rule: R12, protocol 3
  it.each(NO_TICKETS)("refuses every ticket: %s", async (_, item) => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
    table.putItem(ref.key, item);
    const { queue } = format;
    if (queue === undefined) throw new Error("The native format has a queue.");
    const tickets = [
      queue.take(ref, 1, { wallMs: 1 }),
      queue.raise(ref, 7n, { fenceSeed: 1n, wallMs: 1 }),
    ];
    for (const ticket of tickets) {
      expect(await table.write(ticket, { timeoutMs: 1 })).toMatchObject({ kind: "refused" });
    }
  });

  it.each(["fence", "version"])(
    "with a %s of 38 digits stays unchanged, and the error says so",
    async (attribute) => {
      const world = new World();
      const item = free({ [attribute]: { N: "9".repeat(38) } });
      world.table.putItem(ref.key, item);
      const acquiring = mutex(world.inhabitant().locks, ref.name).acquire();
      await expect(world.until(acquiring)).rejects.toMatchObject({
        code: "foreign-record",
        message: expect.stringContaining("37 digits"),
      });
      await expect(acquiring).rejects.toThrow("Nothing was written");
      expect(world.table.item(ref.key)).toEqual({ ...item, ...ref.key });
    },
  );

  it.each(["fence", "version"])(
    "with a fractional %s is held by no client, and the error describes the write",
    async (attribute) => {
      const world = new World();
      world.table.putItem(ref.key, free({ [attribute]: { N: "1.5" } }));
      const acquiring = mutex(world.inhabitant().locks, ref.name).acquire();
      await expect(world.until(acquiring)).rejects.toThrow(
        "The claim was applied, and the client undoes the claim",
      );
      await world.time.advance(1_000);
      expect(world.table.item(ref.key)).not.toHaveProperty("holder");
    },
  );
});

describe("a record with unknown attributes or a queue", () => {
  // rule: protocol 4
  it("keeps unknown attributes through every step", async () => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
    const free = changed({ holder: undefined, colour: { S: "red" } });
    table.putItem(ref.key, free);
    const locks = new Holdfast({ client: table, table: "locks" });
    const lease = await mutex(locks, "customer/42").acquire({ renew: "manual" });
    await lease.renew({ data: 1 });
    await lease.release();
    expect(table.item(ref.key)).toMatchObject({
      colour: { S: "red" },
    });
    await locks.close();
  });

  // rule: R1, protocol 8
  it("is not granted to a mutex while waiters are queued", async () => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"], tellsDate: false });
    table.putItem(ref.key, changed({ holder: undefined, tail: { N: "5" }, served: { N: "4" } }));
    const waiter = {
      pk: { S: "queue#customer/42" },
      sk: { S: `ticket//${"5".padStart(38, "0")}` },
    };
    table.putItem(waiter, changed({}));
    const locks = new Holdfast({ client: table, table: "locks" });
    expect(await mutex(locks, "customer/42").tryAcquire()).toBeNull();
    table.putItem(ref.key, changed({ holder: undefined, tail: { N: "5" }, served: { N: "5" } }));
    expect(await mutex(locks, "customer/42").tryAcquire()).not.toBeNull();
    await locks.close();
  });
});

describe("a record with a queue", () => {
  // rule: R1, protocol 68
  it("is granted only to tickets above the last granted ticket", () => {
    const queued = { tail: { N: "9" }, served: { N: "5" } };
    for (const [ticket, kind] of [
      [4n, "refused"],
      [5n, "refused"],
      [6n, "applied"],
      [9n, "applied"],
    ] as const) {
      const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
      const passage = { kind: "ticket", ticket } as const;
      table.putItem(ref.key, changed({ holder: undefined, ...queued }));
      const claim = format.lease.claim(ref, { ...grant, passage }, { kind: "existing" });
      expect(table.apply(claim).kind).toBe(kind);
      const served = kind === "applied" ? ticket : 5n;
      expect(table.item(ref.key)).toMatchObject({ tail: { N: "9" }, served: { N: `${served}` } });
    }
  });
});

describe("nameOf", () => {
  it("returns the name only in a key of the same kind", () => {
    for (const name of ["a", "a#b", "lock#a", "ß", " "]) {
      expect(recordListing(format).nameOf("lock", format.codec.refOf("lock", name).key)).toBe(name);
    }
    expect(
      recordListing(format).nameOf("lock", { pk: { S: "leader#a" }, sk: { S: "lease" } }),
    ).toBeUndefined();
    expect(
      recordListing(format).nameOf("lock", { pk: { S: "lock#a" }, sk: { S: "entry" } }),
    ).toBeUndefined();
    expect(
      recordListing(format).nameOf("lock", { pk: { N: "1" }, sk: { S: "lease" } }),
    ).toBeUndefined();
  });
});
