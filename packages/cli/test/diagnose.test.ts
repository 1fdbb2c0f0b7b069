import {
  CreateTableCommand,
  DeleteItemCommand,
  PutItemCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, it } from "vitest";
import { describeOnDynamoDBLocal } from "../../../test/support/dynamodb-local.js";
import { freshTable, sdkClient } from "../../../test/support/sdk.js";
import { shared } from "../../../test/support/shared.js";
import { type ListedEntry, listQueue } from "../../holdfast/src/admin/index.js";
import { fairLock, Holdfast, mutex } from "../../holdfast/src/index.js";
import { checkTable, createTable, diagnose, type Finding } from "../../holdfast/src/table/index.js";
import { startMemoryServer } from "../../testing/src/index.js";
import { listed, watchOf } from "../src/commands/table/diagnose.js";
import { queueTroubles } from "../src/commands/table/diagnose-queues.js";
import { CliWorld, pause } from "./support.js";

const world = await shared(CliWorld.start());
afterEach(() => {
  world.server.dynamodb.allows = undefined;
});

async function findings(
  ...words: string[]
): Promise<{ readonly status: number | null; readonly found: Finding[] }> {
  const { status, stdout } = await world.run(["diagnose", "--json", ...words]);
  return {
    status,
    found: stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Finding),
  };
}

const shown = ({ check, level }: Finding): string => `${level} ${check}`;
const wrong = (found: readonly Finding[]): Finding[] => found.filter(({ level }) => level !== "ok");

describe("diagnose", () => {
  it("finds no problem in a correct table, and writes nothing", async () => {
    const words = ["--for", "lock,fair-lock,sessions,elect,once,condition,operate"];
    const { status, found } = await findings(...words);
    expect(wrong(found)).toEqual([]);
    expect(status).toBe(0);
    const permissions = found.filter(({ check }) => check === "permission");
    // Seven kinds of records and the places are written, seven kinds read, five are part of transactions; a queue is
    // read, a place deleted; and a scan.
    expect(permissions).toHaveLength(21);
    for (const { latencyMs } of permissions) expect(latencyMs).toBeGreaterThanOrEqual(0);
    expect(found.map(shown)).toEqual(expect.arrayContaining(["ok clock", "ok ttl", "ok key"]));
    expect((await world.client.send(new ScanCommand({ TableName: "locks" }))).Items).toEqual([]);
  });

  it.each([
    "dynamodb:UpdateItem",
    "dynamodb:GetItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:Scan",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
  ])("finds %s missing, alone, and prints a fix", async (action) => {
    world.server.dynamodb.allows = (access) => access.action !== action;
    const { status, found } = await findings("--for", "lock,condition,operate");
    expect(status).toBe(77);
    expect(wrong(found).length).toBeGreaterThan(0);
    for (const finding of wrong(found)) {
      expect(finding).toMatchObject({
        level: "problem",
        code: "access-denied",
        message: expect.stringContaining(action),
        fix: expect.stringContaining("table policy"),
      });
    }
  });

  it("only warns if the process may not describe the table", async () => {
    world.server.dynamodb.allows = ({ action }) => !action.startsWith("dynamodb:Describe");
    const { status, found } = await findings();
    expect(status).toBe(0);
    expect(wrong(found).map(shown)).toEqual(["warning table"]);
  });

  it("probes only names with the prefix", async () => {
    world.server.dynamodb.allows = ({ leadingKey }) => leadingKey?.startsWith("lock#team/") ?? true;
    expect((await findings("--prefix", "team/")).status).toBe(0);
    expect((await findings()).status).toBe(77);
  });

  it("exits with 78 and a fix when the table is missing or TTL is off", async () => {
    const missing = await findings("--table", "nowhere");
    expect(missing.status).toBe(78);
    expect(missing.found.map(shown)).toEqual(["problem table"]);
    await world.client.send(
      new CreateTableCommand({
        TableName: "bare",
        BillingMode: "PAY_PER_REQUEST",
        KeySchema: [
          { AttributeName: "pk", KeyType: "HASH" },
          { AttributeName: "sk", KeyType: "RANGE" },
        ],
        AttributeDefinitions: [
          { AttributeName: "pk", AttributeType: "S" },
          { AttributeName: "sk", AttributeType: "S" },
        ],
      }),
    );
    const bare = await findings("--table", "bare");
    expect(bare.status).toBe(78);
    expect(wrong(bare.found)).toMatchObject([
      {
        check: "ttl",
        message: expect.stringMatching(/\bTTL\b.*\boff\b/),
        fix: expect.stringContaining("table create"),
      },
    ]);
    const { found } = await findings("--sk", "none");
    expect(wrong(found).map(shown)).toEqual(["problem key"]);
  });

  it.each(["everything", "object-commit"])("refuses --for %s with 64", async (feature) => {
    expect((await world.run(["diagnose", "--for", feature])).status).toBe(64);
  });

  it("exits with 69 when DynamoDB does not answer", async () => {
    const { status, found } = await findings("--endpoint", "http://127.0.0.1:9");
    expect({ status, shown: found.map(shown) }).toEqual({ status: 69, shown: ["problem table"] });
  });

  it("finds dead holders and unreadable records, and no live holders", async () => {
    const dead = await mutex(world.locks, "dead").acquire({ lease: "500ms", renew: "manual" });
    const alive = await mutex(world.locks, "alive").acquire({ lease: "600ms", renew: "50ms" });
    const Item = { pk: { S: "lock#odd" }, sk: { S: "lease" }, v: { N: "99" } };
    await world.client.send(new PutItemCommand({ TableName: "locks", Item }));
    const { status, stdout } = await world.run(["diagnose", "--scan"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^warning {2}records +"dead" /m);
    expect(stdout).toContain(`holdfast release --holder=${dead.holder} -- dead`);
    expect(stdout).toMatch(/^warning {2}records +.*"odd".*\blayout\b/m);
    expect(stdout).not.toContain('"alive"');
    await alive.release();
    await dead.release().catch(() => undefined);
  });

  it("keeps no user data of a lock in memory, and watches a million locks", async () => {
    const lease = await mutex(world.locks, "big", { data: { text: "x".repeat(1_000) } }).acquire();
    const { held } = await listed(world.locks, { prefix: "big" });
    expect(held).toMatchObject([{ name: "big", kind: "lock", holder: lease.holder }]);
    expect(held[0]).not.toHaveProperty("data");
    expect(JSON.stringify(held, (_, value) => String(value))).not.toContain("xxx");
    await lease.release();
    const lengthsMs = Array.from({ length: 1_000_000 }, (_, at) => at);
    expect(watchOf(lengthsMs, 600_000)).toBe(600_100);
    expect([watchOf([20_000, 10_000], 600_000), watchOf([], 600_000)]).toEqual([20_100, 100]);
  });

  it("ends with the status of a signal during the watch, and tells of no holder", async () => {
    const lease = await mutex(world.locks, "watched").acquire({ lease: "60s" });
    const running = world.start(["diagnose", "--scan", "--prefix", "watched"]);
    await running.printed("watching them", "stderr");
    running.kill("SIGTERM");
    const { status, stdout } = await running.result;
    expect(status).toBe(143);
    expect(stdout).not.toContain("records");
    await lease.release();
  });
});

describe("diagnose, inspect and ls of a lease that has ended", () => {
  it("show the end, and a dead holder without a watch", async () => {
    const at = Date.now() - 3_650_000;
    const Item = {
      ...{ pk: { S: "lock#ended" }, sk: { S: "lease" }, v: { N: "1" }, version: { N: "3" } },
      ...{ fence: { N: "7" }, lastHolder: { S: "h" }, holder: { S: "h" }, owner: { S: "vm:1" } },
      ...{ leaseMs: { N: "3600000" } },
      leaseEnd: { M: { holder: { S: "h" }, at: { N: String(at) } } },
    };
    await world.client.send(new PutItemCommand({ TableName: "locks", Item }));
    const { found } = await findings("--scan", "--prefix", "ended");
    const end = new Date(at).toISOString();
    expect(wrong(found)).toMatchObject([
      {
        check: "records",
        message: expect.stringMatching(new RegExp(`"ended".*${end}, 36\\d\\d s ago`)),
      },
    ]);
    const inspected = await world.run(["inspect", "ended"]);
    expect(inspected.stdout).toMatch(new RegExp(`^lease ends +${end}, 36\\d\\d s ago`, "m"));
    expect(inspected.stdout).toMatch(/^takeable in +now$/m);
    expect((await world.run(["ls", "--prefix", "ended"])).stdout).toMatch(/ 3600 s +36\d\d s ago /);
    const key = { pk: { S: "lock#ended" }, sk: { S: "lease" } };
    await world.client.send(new DeleteItemCommand({ TableName: "locks", Key: key }));
  });

  it.each([
    ["leadership", { pk: { S: "leader#gone" }, sk: { S: "lease" } }],
    ["fair lock in a namespace", { pk: { S: "lock#gone" }, sk: { S: "lease/n" } }],
  ])("print a command that frees a dead %s", async (_, Key) => {
    const held = { holder: { S: "h" }, leaseMs: { N: "500" } };
    const leaseEnd = { M: { holder: { S: "h" }, at: { N: String(Date.now() - 60_000) } } };
    const state = { v: { N: "1" }, version: { N: "3" }, fence: { N: "7" }, lastHolder: { S: "h" } };
    const Item = { ...Key, ...state, ...held, leaseEnd };
    await world.client.send(new PutItemCommand({ TableName: "locks", Item }));
    const { found } = await findings("--scan", "--prefix", "gone");
    const [, command = ""] = /\bholdfast (release .+)$/.exec(wrong(found)[0]?.fix ?? "") ?? [];
    expect(await world.run(command.split(" "))).toMatchObject({ status: 0 });
    expect(wrong((await findings("--scan", "--prefix", "gone")).found)).toEqual([]);
  });
});

describe("diagnose --scan with queues", () => {
  const LENGTHS = { lease: "500ms", renew: "100ms" } as const;
  const queued = (found: readonly Finding[]): Finding[] =>
    wrong(found).filter(({ message }) => /\bqueue\b/.test(message));

  /** Partitions a waiter's network, so that the waiter counts as dead. */
  function mortal() {
    const client = sdkClient(world.server.endpoint);
    const locks = new Holdfast({
      client,
      table: "locks",
      owner: "mortal",
      onError: () => undefined,
    });
    const die = (): void => {
      client.send = (() => new Promise(() => undefined)) as typeof client.send;
    };
    return { locks, die };
  }

  async function untilQueued(name: string, namespace: string, count: number): Promise<void> {
    const look = async () => (await listQueue(world.locks, name, { namespace })).waiters.length;
    while ((await look()) !== count) await pause(20);
  }

  it("finds the places of dead waiters, not of live waiters, and prints a working fix", async () => {
    // A longer lease than the waiter's: if it ended on a busy machine, the waiter would hold the lock.
    const held = await fairLock(world.locks, "fq", { namespace: "n" }).acquire({ lease: "3s" });
    const [dying, other] = [mortal(), mortal()];
    const lock = fairLock(dying.locks, "fq", { ...LENGTHS, namespace: "n", wait: "10m" });
    void lock.acquire().catch(() => undefined);
    await untilQueued("fq", "n", 1);
    const alive = new AbortController();
    const late = fairLock(world.locks, "alive", { ...LENGTHS, namespace: "n" });
    const before = await fairLock(other.locks, "alive", { namespace: "n" }).acquire(LENGTHS);
    const waiting = late.acquire({ signal: alive.signal }).catch(() => undefined);
    await untilQueued("alive", "n", 1);
    expect(queued((await findings("--scan")).found)).toEqual([]);

    dying.die();
    await held.release();
    const { status, found } = await findings("--scan");
    expect(status).toBe(0);
    expect(queued(found)).toMatchObject([
      { check: "records", level: "warning", message: expect.stringContaining('"fq"') },
    ]);
    const [{ message = "", fix = "" } = {}] = queued(found);
    expect(message).toMatch(/\b1 place\b/);
    expect(message).toContain("mortal");
    const fair = fairLock(world.locks, "fq", { namespace: "n" });
    expect(await fair.tryAcquire()).toBeNull();

    const [, command = ""] = /\bholdfast (.+)$/.exec(fix) ?? [];
    expect((await world.run(command.split(" "))).status).toBe(0);
    expect(queued((await findings("--scan")).found)).toEqual([]);
    const got = await fair.tryAcquire();
    expect(got).not.toBeNull();
    await got?.release();
    alive.abort();
    await Promise.all([waiting, before.release(), other.locks.close()]);
  });

  it("finds an entry that a process left when it died after the grant, and no entry before that", async () => {
    const held = await fairLock(world.locks, "left").acquire({ lease: "3s" });
    const { locks } = mortal();
    const waiting = fairLock(locks, "left", LENGTHS).acquire();
    while ((await listQueue(world.locks, "left")).waiters.length === 0) await pause(20);
    const entry = (await world.client.send(new ScanCommand({ TableName: "locks" }))).Items?.find(
      ({ pk, sk }) => pk?.S === "queue#left" && sk?.S?.startsWith("ticket/"),
    );
    await held.release();
    await (await waiting).release();
    await locks.close();
    expect(queued((await findings("--scan")).found)).toEqual([]);
    await world.client.send(new PutItemCommand({ TableName: "locks", Item: entry }));
    const { found } = await findings("--scan");
    expect(queued(found)).toMatchObject([
      { level: "warning", message: expect.stringMatching(/"left".*\b1 place left behind\b/) },
    ]);
    expect(queued(found)[0]?.fix).toMatch(/^Nothing/);
  });
});

describe("comparing two listings of queues", () => {
  const entry = (more: Partial<ListedEntry>): ListedEntry => ({
    ...{ kind: "lock" as const, name: "a", namespace: undefined, ticket: 1n, owner: "one" },
    ...{ since: undefined, session: undefined, leaseMs: 500, isServed: false },
    ...{ appearsExpired: false, acquirableInMs: 400, ...more },
  });

  it("reports entries in both listings as left behind, and no entry that a waiter is about to remove", () => {
    const served = entry({ isServed: true, appearsExpired: true });
    expect(queueTroubles([], [served])).toEqual([]);
    expect(queueTroubles([entry({ ticket: 2n })], [served])).toEqual([]);
    expect(queueTroubles([entry({})], [served])).toMatchObject([
      { message: expect.stringMatching(/"a".*\b1 place left behind\b.*\bone\b/) },
    ]);
  });

  it("reports a finding for each queue, and names a few owners", () => {
    const dead = [1n, 2n, 3n, 4n, 5n, 6n, 7n].map((ticket) =>
      entry({ ticket, owner: `w${ticket}`, appearsExpired: true }),
    );
    const elsewhere = entry({ namespace: "n", appearsExpired: true, owner: undefined });
    const found = queueTroubles([], [...dead, elsewhere, entry({ ticket: 8n })]);
    expect(found).toMatchObject([
      { message: expect.stringMatching(/"a".*\b7 places\b.*\bw1, w2, w3, w4, w5,.*\b2 more\b/) },
      { message: expect.stringMatching(/"a".*"n".*\b1 place\b/) },
    ]);
    expect(found.filter(({ message }) => /left behind|\bw6\b/.test(message))).toEqual([]);
    expect(found[1]?.fix).toContain("holdfast lock a --fair --namespace=n --wait forever -- true");
  });
});

describe("the clock check", () => {
  it.concurrent.each([
    [90_000, /at least (8\d|90) s ahead of/],
    [-7_200_000, /at least 7[12]\d\d s behind/],
  ])("reports a clock that is off by %i ms, and only such a clock", async (offMs, message) => {
    const server = await startMemoryServer();
    const client = sdkClient(server.endpoint);
    await createTable({ client, table: "locks" });
    const clock = { wallMs: () => Date.now() + offMs };
    const found = await diagnose({ client, table: "locks", clock });
    expect(found.find(({ check }) => check === "clock")).toMatchObject({
      level: "warning",
      message: expect.stringMatching(message),
    });
    client.destroy();
    await server.close();
  });
});

describeOnDynamoDBLocal("diagnose on DynamoDB Local", (endpoint) => {
  it("finds no problem in a newly created table", async () => {
    const client = sdkClient(endpoint());
    const table = freshTable();
    await createTable({ client, table });
    await checkTable({ client, table });
    const words = ["--table", table, "--endpoint", endpoint(), "--region", "local", "--scan"];
    const features = ["--for", "lock,sessions,elect,once,condition,operate"];
    const { status, found } = await findings(...words, ...features);
    // The server may be slow on a busy machine, and the command says so.
    expect(wrong(found).filter(({ check }) => check !== "latency")).toEqual([]);
    expect(status).toBe(0);
    expect((await client.send(new ScanCommand({ TableName: table }))).Items).toEqual([]);
    client.destroy();
  });
});

describe("diagnose --engine", () => {
  const itemsLeft = async () =>
    (await world.client.send(new ScanCommand({ TableName: "locks" }))).Items?.filter(({ pk }) =>
      pk?.S?.includes("holdfast-engine-"),
    );

  it("prints each check and the verdict, exits with 0 for a fit engine, and leaves nothing", async () => {
    const { status, stdout, stderr } = await world.run(["diagnose", "--engine", "--prefix", "p/"]);
    expect(status).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.slice(0, -1).filter((line) => !line.startsWith("ok "))).toEqual([]);
    expect(lines.at(-1)).toMatch(
      /^fit to keep locks \(1\d{3} requests, below "p\/holdfast-engine-/,
    );
    expect(stderr).toContain('"locks"');
    expect(await itemsLeft()).toEqual([]);
  });

  it("exits with 1 for an unfit engine, and names what it cannot do", async () => {
    const { dynamodb } = world.server;
    const { handle } = dynamodb;
    dynamodb.handle = (operation, body) =>
      handle.call(dynamodb, operation === "TransactWriteItems" ? "Nothing" : operation, body);
    try {
      const [{ status, stdout }, enough] = await Promise.all([
        world.run(["diagnose", "--engine"]),
        world.run(["diagnose", "--engine", "--for", "lock,elect"]),
      ]);
      expect(status).toBe(1);
      expect(stdout).toMatch(/^problem +transactions .*\n +.*several locks at once/m);
      expect(stdout).toMatch(/^NOT fit to keep locks: transactions \(/m);
      expect(enough.status).toBe(0);
      expect(enough.stdout).toMatch(/^fit to keep locks, with restrictions: transactions \(/m);
    } finally {
      dynamodb.handle = handle;
    }
  });

  it("deletes its records after Ctrl-C", async () => {
    const before = world.requests;
    const running = world.start(["diagnose", "--engine"]);
    while (world.requests - before < 300) await pause(5);
    running.kill("SIGINT");
    const { status, stderr } = await running.result;
    expect(status).toBe(130);
    expect(stderr).toMatch(/Interrupted. TTL deletes/);
    expect(await itemsLeft()).toEqual([]);
  });

  it.each([
    [64, ["--scan"]],
    [64, ["--for", "everything"]],
    [69, ["--endpoint", "http://127.0.0.1:9"]],
    [78, ["--table", "nowhere"]],
    [78, ["--sk", "none"]],
  ])("exits with %i for %j", async (status, words) => {
    expect((await world.run(["diagnose", "--engine", ...words])).status).toBe(status);
  });
});
