import {
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkTable, createTable, type HoldfastOptions, type TableKeys } from "../../src/index.js";
import { type Metered, meter } from "../support/meter.js";
import { type Locker, Lockers, pause } from "../support/sdk.js";

/** A server that keeps tables, as the suite needs it. */
export interface Backend {
  readonly name: string;
  /** A client of the SDK's, for a table of this name that does not exist yet. */
  open(): Promise<OpenBackend>;
  /** Tests that cannot pass there; each with its reason. */
  readonly skips: readonly { readonly title: string; readonly reason: string }[];
}

export interface OpenBackend {
  readonly client: DynamoDBClient;
  readonly table: string;
  close(): Promise<void> | void;
}

interface Shape {
  readonly title: string;
  readonly keys: TableKeys | undefined;
  readonly key: (name: string) => Record<string, { S: string }>;
}

const SHAPES: readonly Shape[] = [
  {
    title: "with the keys pk and sk",
    keys: undefined,
    key: (name) => ({ pk: { S: `lock#${name}` }, sk: { S: "lease" } }),
  },
  {
    title: "with keys of other names, both reserved words",
    keys: { pk: "name", sk: "range" },
    key: (name) => ({ name: { S: `lock#${name}` }, range: { S: "lease" } }),
  },
  {
    title: "with a hash key alone",
    keys: { pk: "id", sk: null },
    key: (name) => ({ id: { S: `lock#${name}` } }),
  },
];

const MANUAL = { lease: "30s", renew: "manual", poll: { fastest: 20, slowest: 100 } } as const;

/** What every server must do the same, for every shape of the key. */
export function mutexSuite(backend: Backend): void {
  describe.each(SHAPES)(`a mutex on ${backend.name} $title`, (shape) => {
    let open: OpenBackend;
    let seen: Metered[];
    const lockers = new Lockers();

    const test = (title: string, body: () => Promise<void>): void => {
      const skip = backend.skips.find((one) => one.title === title);
      if (skip === undefined) it(title, body);
      else it.skip(`${title} (left out: ${skip.reason})`, body);
    };

    test.ifFirst = (title: string, body: () => Promise<void>): void => {
      if (shape === SHAPES[0]) test(title, body);
    };

    /** A new client for locks, as if of another process. */
    const locker = (options: Partial<HoldfastOptions> = {}): Locker =>
      lockers.make({ client: open.client, table: open.table, keys: shape.keys, ...options });

    const item = async (name: string) => {
      const command = new GetItemCommand({
        TableName: open.table,
        Key: shape.key(name),
        ConsistentRead: true,
      });
      return (await open.client.send(command)).Item;
    };

    /** What was sent while `work` ran. */
    const during = async (work: () => Promise<unknown>): Promise<Metered[]> => {
      const before = seen.length;
      await work();
      return seen.slice(before);
    };
    const WRITE = { operation: "UpdateItem", applied: true, units: 1 };
    const REFUSED = { operation: "UpdateItem", applied: false, units: undefined };
    const POLL = { operation: "GetItem", applied: true, units: 0.5 };

    beforeAll(async () => {
      open = await backend.open();
      seen = meter(open.client);
      await createTable({ client: open.client, table: open.table, keys: shape.keys });
    });
    afterEach(() => lockers.closeAll());
    afterAll(() => open.close());

    test("has a table that createTable made, and that fits", async () => {
      const { client, table } = open;
      const { keys } = shape;
      const report = await checkTable({ client, table, keys });
      expect(report).toMatchObject({ table, ttlAttribute: "expiresAt", billing: "on-demand" });
      expect(await createTable({ client, table, keys })).toEqual(report);
      const other = { client, table, keys: { pk: "another", sk: null } };
      await expect(checkTable(other)).rejects.toMatchObject({ code: "misconfigured" });
    });

    test("acquires a free lock with one write of one unit, and tries a held one with one", async () => {
      const { locks } = locker();
      expect(await during(() => locks.mutex("cost").acquire(MANUAL))).toEqual([WRITE]);
      const rival = locker();
      const tried = await during(async () => {
        expect(await rival.locks.mutex("cost").tryAcquire()).toBeNull();
      });
      expect(tried).toEqual([REFUSED]);
    });

    test("renews, updates, changes the length and releases with one write of one unit each", async () => {
      const { locks } = locker();
      const lease = await locks.mutex("steps").acquire(MANUAL);
      expect(await during(() => lease.renew())).toEqual([WRITE]);
      expect(await during(() => lease.update({ step: 1 }))).toEqual([WRITE]);
      expect(await during(() => lease.renew({ lease: "40s", data: [2] }))).toEqual([WRITE]);
      expect(lease.leaseMs).toBe(40_000);
      expect(lease.data).toEqual([2]);
      expect(await item("steps")).toMatchObject({
        holder: { S: lease.holder },
        fence: { N: lease.fence.toString() },
        leaseMs: { N: "40000" },
        data: { L: [{ N: "2" }] },
        dataSeq: { N: "2" },
      });
      expect(await during(() => lease.release())).toEqual([WRITE]);
      const free = await item("steps");
      expect(free).toMatchObject({ lastHolder: { S: lease.holder }, version: { N: "3" } });
      expect(Object.keys(free ?? {})).not.toContain("holder");
      expect(Object.keys(free ?? {})).not.toContain("data");
    });

    test("reclaims a freed lock with one write and a higher fence, also as another process", async () => {
      const { locks } = locker();
      const first = await locks.mutex("again").acquire(MANUAL);
      await first.release();
      expect(await during(() => locks.mutex("again").run(() => undefined))).toEqual([WRITE, WRITE]);
      const third = await locker().locks.mutex("again").acquire(MANUAL);
      expect(third.fence).toBe(first.fence + 2n);
    });

    test("hands a lock to the next waiter of the process with one write", async () => {
      const { locks } = locker();
      const first = await locks.mutex("handed").acquire(MANUAL);
      const second = locks.mutex("handed").acquire(MANUAL);
      await pause(1);
      const sent = await during(async () => {
        await first.release();
        await second;
      });
      expect(sent).toEqual([WRITE]);
      expect((await second).fence).toBe(first.fence + 1n);
      expect(await item("handed")).toMatchObject({ holder: { S: (await second).holder } });
    });

    test("polls a held lock with reads of half a unit, and says when it gives up", async () => {
      await locker().locks.mutex("polled").acquire(MANUAL);
      const rival = locker();
      const poll = { fastest: "50ms", slowest: "50ms" };
      const sent = await during(async () => {
        const waiting = rival.locks.mutex("polled").acquire({ wait: "300ms", poll });
        await expect(waiting).rejects.toMatchObject({ code: "not-acquired" });
      });
      expect(sent[0]).toEqual(REFUSED);
      // The read that the end of the wait cut off may show as an error.
      const polls = sent.slice(1).filter((one) => one.applied);
      expect(polls.length).toBeGreaterThanOrEqual(2);
      expect(polls).toEqual(polls.map(() => POLL));
      expect(sent.length - polls.length).toBeLessThanOrEqual(2);
    });

    test("gives a freed lock to a waiting process", async () => {
      const lease = await locker().locks.mutex("freed").acquire(MANUAL);
      const waiting = locker().locks.mutex("freed").acquire(MANUAL);
      await pause(100);
      await lease.release();
      expect((await waiting).fence).toBe(lease.fence + 1n);
    });

    test("takes over from a silent holder after its lease, and not before", async () => {
      const dead = await locker()
        .locks.mutex("silent")
        .acquire({ ...MANUAL, lease: 500 });
      const rival = locker();
      const fromMs = performance.now();
      const lease = await rival.locks.mutex("silent").acquire(MANUAL);
      const tookMs = performance.now() - fromMs;
      expect(tookMs).toBeGreaterThanOrEqual(510);
      expect(tookMs).toBeLessThan(1_500);
      expect(lease.fence).toBe(dead.fence + 1n);
      expect(dead.isHeld).toBe(false);
      expect(dead.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
      await expect(dead.renew()).rejects.toMatchObject({ code: "lost" });
      expect(await item("silent")).toMatchObject({ holder: { S: lease.holder } });
    });

    // Time passes the same whatever the key is called.
    test.ifFirst("never takes a lock whose holder renews", async () => {
      const lease = await locker().locks.mutex("renewed").acquire({ lease: 600 });
      const rival = locker().locks.mutex("renewed");
      await expect(rival.acquire({ wait: "1500ms" })).rejects.toMatchObject({
        code: "not-acquired",
      });
      expect(lease.isHeld).toBe(true);
    });

    test("commits a guarded transaction of the holder, and none of a former one", async () => {
      const lease = await locker()
        .locks.mutex("guard")
        .acquire({ ...MANUAL, lease: 300 });
      const key = shape.key("written");
      const guarded = () =>
        open.client.send(
          new TransactWriteItemsCommand({
            TransactItems: [
              lease.condition(),
              { Put: { TableName: open.table, Item: { ...key, at: { S: lease.holder } } } },
            ],
          }),
        );
      await guarded();
      await locker().locks.mutex("guard").acquire(MANUAL);
      await expect(guarded()).rejects.toMatchObject({
        name: "TransactionCanceledException",
        CancellationReasons: [{ Code: "ConditionalCheckFailed" }, { Code: "None" }],
      });
    });

    test("inspects what is absent, held and free", async () => {
      const { locks } = locker({ owner: "tester" });
      expect(await locks.inspect("seen")).toMatchObject({ state: "absent", takeableInMs: 0 });
      const lease = await locks.mutex("seen").acquire({ ...MANUAL, data: { job: 7 } });
      expect(await during(() => locks.inspect("seen"))).toEqual([{ ...POLL, units: 1 }]);
      expect(await locker().locks.mutex("seen").inspect()).toMatchObject({
        state: "held",
        holder: lease.holder,
        owner: "tester",
        fence: lease.fence,
        version: 1n,
        leaseMs: 30_000,
        data: { job: 7 },
        looksDead: false,
      });
      await lease.release({ keepData: true });
      expect(await locks.inspect("seen")).toMatchObject({ state: "free", data: { job: 7 } });
    });

    test("lists what is held, by prefix, and what is free where asked", async () => {
      const { locks } = locker();
      await locks.mutex("list/held").acquire(MANUAL);
      await (await locks.mutex("list/free").acquire(MANUAL)).release();
      const names = async (options: { prefix: string; free?: boolean }) => {
        const found: string[] = [];
        for await (const page of locks.list(options)) {
          expect(page.readUnits).toBeGreaterThan(0);
          found.push(...page.locks.map((lock) => lock.name));
        }
        return found.sort();
      };
      expect(await names({ prefix: "list/" })).toEqual(["list/held"]);
      expect(await names({ prefix: "list/", free: true })).toEqual(["list/free", "list/held"]);
      expect(await names({ prefix: "elsewhere/", free: true })).toEqual([]);
    });

    test("releases by holder id, and tells the holder at its next renewal", async () => {
      const lease = await locker().locks.mutex("byHolder").acquire(MANUAL);
      const { locks } = locker();
      expect(await locks.release("byHolder", "somebody else")).toBe(false);
      expect(await locks.release("byHolder", lease.holder)).toBe(true);
      await expect(lease.renew()).rejects.toMatchObject({ reason: "released elsewhere" });
    });

    test("never steals what is not its own, nor what it does not know", async () => {
      const { locks } = locker();
      const put = (name: string, attributes: Record<string, { N: string } | { S: string }>) =>
        open.client.send(
          new PutItemCommand({
            TableName: open.table,
            Item: { ...shape.key(name), ...attributes },
          }),
        );
      await put("foreign", { colour: { S: "red" } });
      await put("newer", { v: { N: "2" }, fence: { N: "5" } });
      await put("session", {
        v: { N: "1" },
        fence: { N: "5" },
        version: { N: "1" },
        session: { S: "x" },
      });
      const codes: [string, string][] = [
        ["foreign", "foreign-record"],
        ["newer", "unsupported-layout"],
        ["session", "unsupported-layout"],
      ];
      for (const [name, code] of codes) {
        const before = await item(name);
        await expect(locks.mutex(name).acquire()).rejects.toMatchObject({ code });
        expect(await item(name)).toEqual(before);
      }
    });

    test("keeps names apart that differ in anything, and takes the longest", async () => {
      const { locks } = locker();
      const names = ["a", "A", "a#", "#a", "ä", "a\u0308", " a", "é".repeat(950)];
      const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire(MANUAL)));
      expect(new Set(leases.map((lease) => lease.holder)).size).toBe(names.length);
      expect((await item("é".repeat(950)))?.["holder"]).toBeDefined();
    });
  });
}
