import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { grantHistory } from "../../holdfast/src/admin/grant-history.js";
import type { PermitInspection } from "../../holdfast/src/admin/index.js";
import {
  Holdfast,
  type HoldfastOptions,
  type InspectedPermit,
  readLock,
  semaphore,
} from "../../holdfast/src/index.js";
import { permitChanges } from "../src/output/permits.js";
import { CliWorld, until } from "./support.js";

const world = await shared(CliWorld.start());

const holderOf = (options: Partial<HoldfastOptions> = {}) =>
  new Holdfast({ client: world.client, table: "locks", ...options });

describe("the command line on semaphores and read-write locks", () => {
  it("shows one semaphore with inspect and queue, as text and as JSON", async () => {
    await using locks = holderOf({ owner: "ada" });
    const permit = await semaphore(locks, "s", { permits: 3 }).acquire({ weight: 2 });
    const { stdout, status } = await world.run(["inspect", "s", "--kind", "semaphore"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/limit +3\nused +2\n/);
    expect(stdout).toMatch(new RegExp(`ada +2 +${permit.fence} .*${permit.holder}`));
    const json = await world.run(["inspect", "s", "--kind", "semaphore", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{ kind: "semaphore", limit: 3, used: 2, permits: [{ holder: permit.holder, weight: 2 }] },
    });
    const queue = await world.run(["queue", "s", "--kind", "semaphore"]);
    expect(queue.stdout).toMatch(/used +2\n[\s\S]*no waiters/);
    const listing = await world.run(["queue", "s", "--kind", "semaphore", "--json"]);
    expect(JSON.parse(listing.stdout)).toMatchObject({ lock: { used: 2 }, waiters: [] });
  });

  it("lists records of one kind with ls, and permits with sessions", async () => {
    await using locks = holderOf({ owner: "ada" });
    const permit = await readLock(locks, "rw").acquire();
    const { stdout } = await world.run(["ls", "--kind", "read-write"]);
    expect(stdout).toMatch(/NAME +STATE +USED +LIMIT[\s\S]*rw +held +1 +1000 +1 .*ada/);
    const json = await world.run(["ls", "--kind", "read-write", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ name: "rw", permits: [{ weight: 1 }] });
    expect((await world.run(["sessions"])).stdout).toContain("read-write rw");
    const sessions = await world.run(["sessions", "--json"]);
    expect(sessions.stdout).toContain(permit.holder);
  });

  it("releases one permit by force, and by holder id", async () => {
    await using locks = holderOf();
    const limited = semaphore(locks, "f", { permits: 2 });
    const [one, two] = [await limited.acquire(), await limited.acquire()];
    const force = ["release", "f", "--kind", "semaphore", "--force", "--reason", "stuck", "--now"];
    expect((await world.run(force)).status).toBe(64);
    const forced = await world.run([...force, "--holder", one.holder]);
    expect(forced).toMatchObject({ status: 0 });
    expect(forced.stdout).toContain('semaphore "f" is free');
    expect((await world.run([...force, "--holder", one.holder])).status).toBe(76);
    const inspected = await world.run(["inspect", "f", "--kind", "semaphore"]);
    expect(inspected.stdout).toMatch(/used +1\n[\s\S]*stuck/);
    const release = ["release", "f", "--kind", "semaphore", "--holder", two.holder];
    expect((await world.run(release)).status).toBe(0);
    expect((await world.run(release)).status).toBe(76);
  });

  it("shows the history of a semaphore", async () => {
    await using locks = holderOf({ history: grantHistory() });
    const permit = await semaphore(locks, "h", { permits: 1 }).acquire();
    await locks.drain();
    const words = ["h", "--kind", "semaphore"];
    const { stdout } = await world.run(["history", ...words]);
    expect(stdout).toContain(permit.holder);
    const json = JSON.parse((await world.run(["history", ...words, "--json"])).stdout);
    expect(json).toMatchObject({ grants: [{ holder: permit.holder, how: "claim" }] });
    const release = ["release", ...words, "--holder", permit.holder, "--json"];
    expect(JSON.parse((await world.run(release)).stdout)).toMatchObject({ name: "h" });
  });

  it("watches a semaphore, and prints each permit that comes and goes", async () => {
    await using locks = holderOf({ owner: "ada" });
    const limited = semaphore(locks, "w", { permits: 2 });
    const running = world.start(["watch", "w", "--kind", "semaphore", "--poll", "50ms", "--json"]);
    await running.printed('"seen"');
    const permit = await limited.acquire();
    await running.printed('"granted"');
    await permit.release();
    await running.printed('"released"');
    running.kill("SIGTERM");
    const { stdout, status } = await running.result;
    expect(status).toBe(143);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ change }) => change)).toEqual(["seen", "granted", "limit", "released"]);
    expect(lines[1]).toMatchObject({ name: "w", permit: { holder: permit.holder, owner: "ada" } });
  });

  it("watches a prefix, tells the cost, and no longer reads a semaphore that is gone", async () => {
    await using locks = holderOf();
    await (await semaphore(locks, "gone/1", { permits: 2 }).acquire()).release();
    const words = ["--prefix", "gone/", "--kind", "semaphore", "--poll", "50ms", "--json"];
    const running = world.start(["watch", ...words]);
    await running.printed('"readUnits"', "stderr");
    const Key = { pk: { S: "semaphore#gone/1" }, sk: { S: "lease" } };
    await world.client.send(new DeleteItemCommand({ TableName: "locks", Key }));
    await running.printed('"gone"');
    const { dynamodb } = world.server;
    const sent: string[] = [];
    const handle = dynamodb.handle.bind(dynamodb);
    dynamodb.handle = (operation, body) => {
      sent.push(operation);
      return handle(operation, body);
    };
    await until(() => sent.length >= 6, "six further requests");
    dynamodb.handle = handle;
    running.kill("SIGTERM");
    await running.result;
    expect(new Set(sent)).toEqual(new Set(["Scan"]));
  });

  it("watches a prefix, and tells each grant of a semaphore that is new", async () => {
    await using locks = holderOf({ owner: "ada" });
    const words = ["--prefix", "new/", "--kind", "semaphore", "--poll", "50ms", "--json"];
    const running = world.start(["watch", ...words]);
    await running.printed('"readUnits"', "stderr");
    const permit = await semaphore(locks, "new/1", { permits: 2 }).acquire();
    await running.printed('"new/1"');
    running.kill("SIGTERM");
    const [first = ""] = (await running.result).stdout.split("\n");
    expect(JSON.parse(first)).toMatchObject({
      ...{ change: "granted", name: "new/1", permit: { holder: permit.holder, owner: "ada" } },
    });
  });

  it.each([
    ["inspect", "--namespace"],
    ["inspect", "--sort"],
    ["queue", "--namespace"],
    ["history", "--namespace"],
    ["watch", "--namespace"],
    ["watch", "--sort"],
    ["release --force --reason r --holder h", "--namespace"],
    ["release --force --reason r --holder h", "--sort"],
    ["release --holder h", "--sort"],
  ])(
    "refuses %s of a semaphore with %s, which only other records have",
    async (command, option) => {
      const words = [...command.split(" "), "--kind", "semaphore", option, "n", "s"];
      const { status, stderr } = await world.run(words);
      expect(status).toBe(64);
      expect(stderr).toContain(`holdfast: ${option} is for`);
    },
  );
});

describe("the changes that watch prints", () => {
  const permit = { holder: "h", appearsExpired: false } as InspectedPermit;
  const state = (version: bigint, permits: InspectedPermit[], more = {}): PermitInspection =>
    ({ kind: "semaphore", name: "s", state: "held", version, limit: 2, permits, ...more }) as never;
  const kinds = (before: PermitInspection | undefined, after: PermitInspection) =>
    permitChanges(before, after).map(({ change, permit: of }) => [change, of?.holder]);

  it("are one for each permit", () => {
    const next = { ...permit, holder: "i" };
    expect(kinds(undefined, state(1n, [permit]))).toEqual([["seen", undefined]]);
    expect(kinds(state(1n, [permit]), state(3n, [next]))).toEqual([
      ["released", "h"],
      ["granted", "i"],
    ]);
    const silent = { ...permit, appearsExpired: true };
    expect(kinds(state(1n, [permit]), state(1n, [silent]))).toEqual([["silent", "h"]]);
    expect(kinds(state(1n, [permit]), state(1n, [permit]))).toEqual([]);
  });

  it("are also a new limit and the end of the record, but nothing from an older read", () => {
    expect(kinds(state(1n, []), state(1n, [], { limit: 3 }))).toEqual([["limit", undefined]]);
    const gone = state(1n, [], { state: "absent", version: undefined, limit: undefined });
    expect(kinds(state(1n, []), gone)).toEqual([["gone", undefined]]);
    expect(kinds(state(2n, [permit]), state(1n, []))).toEqual([]);
  });
});
