import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listQueue } from "../../../holdfast/src/admin/index.js";
import { assign } from "../../../holdfast/src/assign/index.js";
import { fairLock, Holdfast, type Lease, mutex } from "../../../holdfast/src/index.js";
import { schedule } from "../../../holdfast/src/schedule/index.js";
import type { Detail, TableAnswer } from "../../src/serve/view-types.js";
import { pause } from "../support.js";
import { ServeWorld } from "./world.js";

let world: ServeWorld;
beforeEach(async () => {
  world = await ServeWorld.start();
});
afterEach(() => world.close());

const table = async (after = 0): Promise<TableAnswer> =>
  JSON.parse((await world.send(`/api/table?after=${after}`)).body);

describe("the readings of the server", () => {
  it("sends no request without a viewer, and one scan a period for all viewers", async () => {
    await using _ = await mutex(world.cli.locks, "a").acquire();
    const before = world.cli.requests;
    await pause(1_200);
    expect(world.cli.requests).toBe(before);
    const answers = await Promise.all([table(), table(), table()]);
    expect(world.cli.requests).toBe(before + 1);
    expect(answers.map(({ reading }) => reading)).toEqual([1, 1, 1]);
    expect((await table(1)).view).toBeUndefined();
    expect(answers[0]?.units).toBeGreaterThan(0);
  });

  it("shows the waiters of a fair lock, and the last sign of life", async () => {
    const { locks } = world.cli;
    const lease = await fairLock(locks, "jobs", { owner: "one" }).acquire();
    const words = ["lock", "jobs", "--fair", "--owner", "two", "--", "true"];
    const waiting = world.cli.start(words);
    while ((await listQueue(locks, "jobs")).waiters.length === 0) await pause(100);
    const { view } = await table();
    expect(view?.rows).toMatchObject([
      { name: "jobs", kind: "lock", state: "held", owner: "one", waiters: 1 },
    ]);
    expect(view?.rows[0]?.silentMs).toBeLessThan(view?.rows[0]?.leaseMs ?? 0);
    const { body } = await world.send("/api/record?name=jobs");
    expect(JSON.parse(body).detail).toMatchObject({ waiters: [{ owner: "two", position: 0 }] });
    await lease.release();
    expect((await waiting.result).status).toBe(0);
  });

  it("shows a note that comes after its grant, and reads a history without one twice", async () => {
    const { client, locks, server } = world.cli;
    await using lease = await mutex(locks, "noted").acquire({ owner: "ann" });
    await using _ = await mutex(locks, "bare").acquire();
    const { dynamodb } = server;
    const handle = dynamodb.handle.bind(dynamodb);
    let histories = 0;
    dynamodb.handle = (operation, body) => {
      if (/"lock#bare".*"history\/00"/.test(JSON.stringify(body))) histories += 1;
      return handle(operation, body);
    };
    const eventsOf = async (name: string): Promise<Detail["events"]> =>
      JSON.parse((await world.send(`/api/record?name=${name}`)).body).detail.events;
    expect(await eventsOf("noted")).toEqual([]);
    const { holder, owner, fence } = lease;
    const Item = {
      ...{ pk: { S: "lock#noted" }, fence: { N: String(fence) }, how: { S: "claim" } },
      sk: { S: `history/${String(fence % 16n).padStart(2, "0")}` },
      ...{ holder: { S: holder }, owner: { S: owner }, at: { S: new Date().toISOString() } },
    };
    await client.send(new PutItemCommand({ TableName: "locks", Item }));
    let events: Detail["events"] = [];
    for (let tries = 0; tries < 16; tries += 1) {
      events = await eventsOf("noted");
      expect(await eventsOf("bare")).toEqual([]);
      await pause(200);
    }
    expect(events).toMatchObject([{ what: "grant", owner: "ann" }]);
    expect(histories).toBe(2);
  });

  it("shows what a schedule did last", async () => {
    const { client } = world.cli;
    await using locks = new Holdfast({ client, table: "locks", onError: () => undefined });
    const failing = (): never => {
      throw new Error("no such host");
    };
    await using job = schedule(locks, "report", { every: "1s" }, failing);
    job.start();
    while (job.health().lastFailure === undefined) await pause(50);
    await job.stop();
    const { view } = await table();
    expect(view?.rows).toMatchObject([
      {
        ...{ name: "report", kind: "once", state: "free" },
        schedule: { rule: "every 1s", attempt: 1, lastFailure: { error: "Error: no such host" } },
      },
    ]);
  });

  it("shows the members of an assignment, whose sessions have its names, and who should", async () => {
    const run = (_: string, { signal }: Lease): Promise<void> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    await using one = assign(world.cli.locks, "work", { names: ["a"], owner: "one", run });
    await one.start();
    const { view } = await table();
    expect(view?.members).toMatchObject([{ group: "work", owner: "one", isDead: false }]);
    const { session } = view?.members[0] ?? {};
    expect(view?.rows).toMatchObject([{ name: "work/a", session, shouldBe: session }]);
    expect(view?.sessions).toMatchObject([{ id: session, holds: 1 }]);
  });

  it("says that the table does not answer, and keeps the last reading", async () => {
    await using lease = await mutex(world.cli.locks, "a").acquire();
    await table();
    await lease.release();
    const { dynamodb } = world.cli.server;
    const handle = dynamodb.handle.bind(dynamodb);
    dynamodb.handle = () => ({ status: 500, body: { __type: "InternalServerError" } });
    await pause(600);
    const answer = await table();
    expect(answer.error).toBeTruthy();
    expect(answer.view?.rows).toMatchObject([{ name: "a", state: "held" }]);
    dynamodb.handle = handle;
    let later = answer;
    while (later.error !== undefined) {
      await pause(200);
      later = await table();
    }
    expect(later.view?.rows).toMatchObject([{ name: "a", state: "free" }]);
  });

  it.each([
    ["ResourceNotFoundException", "There is no table"],
    ["AccessDeniedException", "not allowed"],
  ])("says of %s what is wrong, and shows no figures of the table", async (type, words) => {
    world.cli.server.dynamodb.handle = () => ({
      status: 400,
      body: { __type: type, message: "not allowed" },
    });
    const answer = await table();
    expect(answer.error).toContain(words);
    expect(answer.view).toBeUndefined();
    const record = await world.send("/api/record?name=a");
    expect(JSON.parse(record.body)).toMatchObject({ error: expect.stringContaining(words) });
    const { body } = await world.send("/metrics");
    expect(body).toContain("holdfast_up 0");
    expect(body).not.toMatch(/^holdfast_(?:reading_age_seconds|held)\b/m);
  });

  it("gives metrics by prefix and kind, and its health without a token", async () => {
    await using _ = await mutex(world.cli.locks, "deploy/eu").acquire();
    const { body, headers } = await world.send("/metrics");
    expect(headers["content-type"]).toContain("text/plain");
    expect(body).toContain("holdfast_up 1");
    expect(body).toContain('holdfast_held{prefix="deploy/",kind="lock"} 1');
    const healthz = await world.send("/healthz", { headers: { authorization: "" } });
    expect(healthz).toMatchObject({ status: 200, body: "ok\n" });
  });
});
