import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { election } from "../../holdfast/src/election/index.js";
import { type Inspection, mutex } from "../../holdfast/src/index.js";
import { changeOf, isOlder } from "../src/output/changes.js";
import { CliWorld, type Running, until } from "./support.js";

const FREE: Inspection = {
  kind: "lock",
  name: "a",
  namespace: undefined,
  state: "free",
  holder: undefined,
  owner: "me",
  fence: 5n,
  session: undefined,
  version: 9n,
  acquiredAt: undefined,
  leaseMs: undefined,
  data: undefined,
  attributes: undefined,
  forced: undefined,
  request: undefined,
  endsAt: undefined,
  endsInMs: undefined,
  appearsExpired: false,
  acquirableInMs: 0,
  isQueued: false,
  limit: undefined,
  used: undefined,
  permits: [],
  parts: undefined,
};
const HELD: Inspection = { ...FREE, state: "held", holder: "h5", leaseMs: 30_000 };
const ASKED = { kind: "interrupt", by: "alice" } as const;
const ABSENT: Inspection = { ...FREE, state: "absent", fence: undefined, version: undefined };

describe("changeOf()", () => {
  const renewed = { ...HELD, version: 10n };
  const next = { ...HELD, holder: "h6", fence: 6n };
  it.each([
    ["nothing", undefined, ABSENT, undefined, undefined],
    ["a first grant", undefined, HELD, "granted", undefined],
    ["a first grant that is over", undefined, FREE, "released", undefined],
    ["a renewal", HELD, renewed, undefined, undefined],
    ["a release", HELD, FREE, "released", 0n],
    ["nothing more", FREE, FREE, undefined, undefined],
    ["the next grant", FREE, next, "granted", 0n],
    ["a takeover", HELD, next, "granted", 0n],
    ["the third grant from here", HELD, { ...next, fence: 8n }, "granted", 2n],
    ["a whole hold", FREE, { ...FREE, fence: 6n }, "released", 1n],
    ["another session", HELD, { ...renewed, session: "s" }, "changed", 0n],
    ["other data", HELD, { ...renewed, data: 1 }, "changed", 0n],
    ["a request", HELD, { ...renewed, request: ASKED }, "asked", 0n],
    [
      "nothing more",
      { ...HELD, request: ASKED },
      { ...renewed, request: ASKED },
      undefined,
      undefined,
    ],
    ["silence", HELD, { ...HELD, appearsExpired: true }, "silent", 0n],
    [
      "more silence",
      { ...HELD, appearsExpired: true },
      { ...HELD, appearsExpired: true },
      undefined,
      undefined,
    ],
    ["an end", FREE, ABSENT, "gone", undefined],
  ] as const)("reports %s", (_, before, after, change, missed) => {
    expect(changeOf(before, after)).toEqual(change && { change, missed });
  });

  it("ignores reads older than the last read", () => {
    expect(isOlder(HELD, next)).toBe(true);
    expect(isOlder(HELD, renewed)).toBe(true);
    expect(isOlder(HELD, FREE)).toBe(true);
    expect(isOlder(next, HELD)).toBe(false);
    expect(isOlder(FREE, HELD)).toBe(false);
    expect(isOlder(HELD, HELD)).toBe(false);
    expect(isOlder(ABSENT, HELD)).toBe(false);
  });
});

interface LocalQueue {
  readonly change: string;
  readonly name: string;
  readonly state: string;
  readonly fence?: string;
}

async function ended(running: Running): Promise<LocalQueue[]> {
  running.kill("SIGINT");
  const { status, stdout } = await running.result;
  expect(status).toBe(130);
  const lines = stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as LocalQueue);
}

const shown = ({ change, name }: LocalQueue): string => `${change} ${name}`;

describe("watch", () => {
  let world: CliWorld;
  beforeAll(async () => {
    world = await CliWorld.start();
  });
  afterAll(() => world.close());

  const remove = (name: string): Promise<unknown> => {
    const Key = { pk: { S: `lock#${name}` }, sk: { S: "lease" } };
    return world.client.send(new DeleteItemCommand({ TableName: "locks", Key }));
  };

  it("prints each change of a name, once, until interrupted", async () => {
    const running = world.start(["watch", "one", "--poll", "50ms", "--json"]);
    await running.printed('"seen"');
    const lease = await mutex(world.locks, "one").acquire({ lease: "3s", renew: "100ms" });
    await running.printed('"granted"');
    await lease.update("text");
    await running.printed('"changed"');
    await lease.release();
    await running.printed('"released"');
    await remove("one");
    await running.printed('"gone"');
    const lines = await ended(running);
    expect(lines.map(shown)).toEqual([
      "seen one",
      "granted one",
      "changed one",
      "released one",
      "gone one",
    ]);
    expect(lines[1]).toMatchObject({ state: "held", fence: lease.fence.toString() });
  });

  it("reports a holder without renewals for a whole lease as silent", async () => {
    const lease = await mutex(world.locks, "still").acquire({ lease: "400ms", renew: "manual" });
    const running = world.start(["watch", "still", "--poll", "50ms", "--json"]);
    await running.printed('"silent"');
    expect((await ended(running)).map(shown)).toEqual(["seen still", "silent still"]);
    await lease.release().catch(() => undefined);
  });

  it("prints changes of all names with a prefix, and the cost of each scan", async () => {
    const held = await mutex(world.locks, "team/held").acquire();
    await mutex(world.locks, "team/free").run(() => undefined);
    const words = ["watch", "--prefix", "team/", "--poll", "50ms", "--json"];
    const running = world.start(words);
    await running.printed('"seen"');
    await mutex(world.locks, "other/1").run(() => undefined);
    await mutex(world.locks, "team/free").run(() => undefined);
    await running.printed('"released"');
    await remove("team/free");
    await running.printed('"gone"');
    await held.release();
    await running.printed('"name":"team/held","state":"free"');
    const lines = await ended(running);
    expect(lines.map(shown).filter((line) => !line.startsWith("granted"))).toEqual([
      "seen team/held",
      "released team/free",
      "gone team/free",
      "released team/held",
    ]);
    expect((await running.result).stderr).toMatch(/\{"scan":\{"readUnits":[\d.]+\}\}/);
  });

  it("prints a line for each change", async () => {
    const lease = await mutex(world.locks, "people").acquire({ owner: "worker-7" });
    const running = world.start(["watch", "people"]);
    await running.printed("seen");
    running.kill("SIGTERM");
    const { status, stdout } = await running.result;
    expect(status).toBe(143);
    expect(stdout).toMatch(
      /^\d{4}-\S+Z {2}seen {6}people {2}fence \d+, worker-7 \([\w-]+\), lease ends at 20\S+Z\n$/,
    );
    await lease.release();
  });

  it.each([
    [
      ["watch", "slow", "--poll", "50ms"],
      [1, 2],
    ],
    // It polls each two seconds.
    [["queue", "slow", "--watch"], [1]],
  ])(
    "continues while the table is throttled, and prints the error once: %j",
    async (words, all) => {
      const running = world.start([...words, "--json"]);
      await running.printed('"name":"slow"');
      const { dynamodb } = world.server;
      const handle = dynamodb.handle;
      const told = (): number => running.text.stderr.split('"code":"throttled"').length - 1;
      for (const outages of all) {
        let refused = 0;
        dynamodb.handle = () => {
          refused += 1;
          const type = "com.amazon.coral.availability#ThrottlingException";
          return { status: 400, body: { __type: type, message: "slower" } };
        };
        await until(() => told() === outages, "the error");
        const before = refused;
        // A poll fails after a few requests.
        await until(() => refused > 2 * before, "further polls have failed");
        dynamodb.handle = handle;
        const held = await mutex(world.locks, "slow").acquire();
        await running.printed(held.holder);
        await held.release();
        expect(told()).toBe(outages);
      }
      running.kill("SIGINT");
      expect((await running.result).status).toBe(130);
    },
  );

  it("tells of each holder once if the first scan is throttled at its second page", async () => {
    const held = await mutex(world.locks, "paged").acquire();
    const { dynamodb } = world.server;
    const handle = dynamodb.handle;
    const type = "com.amazon.coral.availability#ThrottlingException";
    const busy = { status: 400, body: { __type: type, message: "slower" } };
    let page = 0;
    dynamodb.handle = (operation, body) => {
      if (operation !== "Scan") return handle(operation, body);
      if ("ExclusiveStartKey" in (body as object)) {
        page += 1;
        // More often than one poll tries.
        return page < 6 ? busy : { status: 200, body: { Items: [], Count: 0, ScannedCount: 0 } };
      }
      const answer = handle(operation, body);
      const LastEvaluatedKey = { pk: { S: "lock#paged" }, sk: { S: "lease" } };
      return { ...answer, body: { ...answer.body, LastEvaluatedKey } };
    };
    const words = ["watch", "--prefix", "paged", "--poll", "50ms", "--json"];
    const running = world.start(words);
    await running.printed('"scan"', "stderr");
    await held.release();
    await running.printed('"released"');
    dynamodb.handle = handle;
    expect((await ended(running)).map(shown)).toEqual(["seen paged", "released paged"]);
  });

  it.each(["diagnose --scan", "watch --prefix x", "watch --prefix x --kind semaphore"])(
    "a signal ends %s after a page of a large table",
    async (words) => {
      const { dynamodb } = world.server;
      const { handle } = dynamodb;
      let scans = 0;
      dynamodb.handle = (operation, body) => {
        if (operation !== "Scan") return handle(operation, body);
        scans += 1;
        const LastEvaluatedKey = { pk: { S: `lock#${scans}` }, sk: { S: "lease" } };
        const more = scans < 200 ? { LastEvaluatedKey } : {};
        return { status: 200, body: { Items: [], Count: 0, ScannedCount: 0, ...more } };
      };
      const running = world.start(words.split(" "));
      await until(() => scans > 10, "the listing");
      running.kill("SIGINT");
      const before = scans;
      const { status, stdout } = await running.result;
      dynamodb.handle = handle;
      expect(status).toBe(130);
      expect(stdout).not.toContain("records");
      // The page in flight.
      expect(scans - before).toBeLessThan(3);
    },
  );

  it("ends when access is denied", async () => {
    const running = world.start(["watch", "denied", "--poll", "50ms", "--json"]);
    await running.printed('"seen"');
    world.server.dynamodb.allows = () => false;
    const { status, stderr } = await running.result;
    world.server.dynamodb.allows = undefined;
    expect(status).toBe(77);
    expect(stderr).toContain("dynamodb:GetItem");
  });

  it.each([[["watch"]], [["watch", "a", "--prefix", "b"]], [["watch", "a", "--poll", "1"]]])(
    "refuses %j with 64",
    async (words) => {
      expect((await world.run(words)).status).toBe(64);
    },
  );

  it("watches leaderships, which `ls` lists and `inspect` points to", async () => {
    const term = await election(world.locks, "pool").campaign();
    const listed = await world.run(["ls", "--kind", "leader", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ name: "pool", holder: term.holder });
    expect((await world.run(["ls", "--prefix", "pool", "--json"])).stdout).toBe("");
    const running = world.start(["watch", "pool", "--kind", "leader", "--poll", "50ms", "--json"]);
    await running.printed('"seen"');
    await term.release();
    await running.printed('"released"');
    expect((await ended(running)).map(shown)).toEqual(["seen pool", "released pool"]);
    const asLock = await world.run(["inspect", "pool"]);
    expect(asLock.stdout).toContain("absent");
    expect(asLock.stderr).toMatch(/^holdfast: [^\n]*holdfast leader -- pool\n$/);
    const asLeader = await world.run(["inspect", "pool", "--kind", "leader", "--json"]);
    expect(JSON.parse(asLeader.stdout)).toMatchObject({
      state: "free",
      fence: term.fence.toString(),
    });
    expect((await world.run(["inspect", "nobody"])).stderr).toBe("");
  });
});
