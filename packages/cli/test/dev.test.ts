import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { KeptDynamoDB } from "../src/dev/kept-dynamodb.js";
import { CLI_FILE, CliWorld, type Running } from "./support.js";

/** `holdfast dev`, and docs/start.md, which shows what it prints. */

const world = await shared(CliWorld.start());

interface Started {
  readonly endpoint: string;
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
}

async function started(running: Running): Promise<Started> {
  await Promise.race([running.printed("\n"), running.result]);
  expect(running.text.stderr).not.toContain("error");
  return JSON.parse(running.text.stdout) as Started;
}

const dev = (...words: readonly string[]): Running => {
  const running = world.start(["dev", "--json", "--port", "0", ...words]);
  onTestFinished(() => running.kill("SIGTERM"));
  return running;
};

function pageOf(url: string, path: string): Promise<Response> {
  const token = new URL(url).searchParams.get("token");
  return fetch(new URL(path, url), { headers: { authorization: `Bearer ${token}` } });
}

/** Takes the lock of the name once, with the printed variables. Returns its fence. */
async function fence(name: string, env: NodeJS.ProcessEnv): Promise<string> {
  const command = [process.execPath, "-p", "process.env.HOLDFAST_LEASE_FENCE"];
  const { status, stdout, stderr } = await world.spawn(["lock", name, "--", ...command], env)
    .result;
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.trim();
}

describe("holdfast dev", () => {
  it("serves a table and its page, by the printed variables, until a signal", async () => {
    const running = dev("--table", "mine");
    const { endpoint, url, env } = await started(running);
    // The variable of the tests would lead elsewhere.
    expect(env).toMatchObject({ HOLDFAST_TABLE: "mine", HOLDFAST_ENDPOINT: "" });
    await fence("a", env);
    const listed = await world.spawn(["ls", "--all", "--json"], env).result;
    expect(JSON.parse(listed.stdout)).toMatchObject({ name: "a" });
    const page = await pageOf(url, "/api/table");
    expect(await page.json()).toMatchObject({ table: "mine", view: { rows: [{ name: "a" }] } });
    running.kill("SIGINT");
    expect(await running.result).toMatchObject({ status: 130 });
    for (const each of [endpoint, url]) await expect(fetch(each)).rejects.toThrow("fetch failed");
  });

  it("takes any free port if the usual one is taken, but no other than --port", async () => {
    const two = [1, 2].map(() => world.start(["dev", "--json"]));
    onTestFinished(() => {
      for (const { kill } of two) kill("SIGTERM");
    });
    const [first, second] = await Promise.all(two.map(started));
    expect(first?.endpoint).not.toBe(second?.endpoint);
    const { port } = new URL(first?.endpoint ?? "");
    const refused = await world.run(["dev", "--port", port]);
    expect(refused).toMatchObject({ status: 69, stdout: "" });
    expect(refused.stderr).toContain(`Port ${port} of 127.0.0.1 cannot be used (EADDRINUSE)`);
    expect(refused.stderr).toContain("--port");
    expect(await world.run(["dev", "--port", "x"])).toMatchObject({ status: 64 });
  });

  it("prints what docs/start.md shows", async () => {
    const running = world.start(["dev", "--port", "0"], { HOLDFAST_ENDPOINT: "" });
    await running.printed("mine");
    running.kill("SIGINT");
    await running.result;
    const text = readFileSync(new URL("../../../docs/start.md", import.meta.url), "utf8");
    const [, block] = /^```text\n(Table [\s\S]*?)^```$/m.exec(text) ?? [];
    const alike = (each = ""): string =>
      each.replace(/(?<=127\.0\.0\.1:)\d+/g, "PORT").replace(/(?<=token=).*/, "TOKEN");
    expect(alike(running.text.stdout)).toBe(alike(block));
  });
});

const TABLE = {
  TableName: "locks",
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: 4 },
};

describe("holdfast dev --data", () => {
  it("keeps every answered write, also if it is killed", async () => {
    const data = world.file("kept");
    const words = ["dev", "--json", "--port", "0", "--data", data];
    const killed = world.spawn(words);
    const before = await started(killed);
    // Of the built program, which has its files in other places.
    expect((await pageOf(before.url, "/")).status).toBe(200);
    const first = await fence("a", before.env);
    await world.spawn(["table", "create", "--table", "other", "--sk", "none"], before.env).result;
    killed.kill("SIGKILL");
    await killed.result;
    // As if it had been killed within its last write.
    appendFileSync(`${data}/tables.jsonl`, '{"operation":"Delete');
    // The second start reads what the first one wrote anew.
    for (let start = 0; start < 2; start += 1) {
      const again = dev("--data", data);
      const { env } = await started(again);
      const inspected = await world.spawn(["inspect", "a", "--json"], env).result;
      expect(JSON.parse(inspected.stdout)).toMatchObject({ fence: first, state: "free" });
      const check = ["table", "check", "--table", "other", "--sk", "none"];
      expect(await world.spawn(check, env).result).toMatchObject({ status: 0 });
      again.kill("SIGINT");
      expect(await again.result).toMatchObject({ status: 130 });
    }
    const next = dev("--data", data);
    expect(BigInt(await fence("a", (await started(next)).env))).toBeGreaterThan(BigInt(first));
  });

  it("replaces a long file by a short one", () => {
    const data = world.file("long");
    const open = (): KeptDynamoDB =>
      new KeptDynamoDB(data, { nowMs: () => 0 }, (error) => expect.fail(error.message));
    const put = (Item: object) => ["PutItem", { TableName: "locks", Item }] as const;
    const items = [...Array(30).keys()].map((n) => ({
      pk: { S: `${n}` },
      // A scan has several pages.
      big: { B: Buffer.alloc(60_000, n).toString("base64") },
    }));
    const kept = open();
    expect(kept.handle("CreateTable", TABLE).status).toBe(200);
    for (const item of items) expect(kept.handle(...put(item)).status).toBe(200);
    for (let count = 0; count < 10_000; count += 1) kept.handle(...put({ pk: { S: "0" } }));
    // A refused write and a read are no lines.
    expect(kept.handle("PutItem", { TableName: "none", Item: {} }).status).toBe(400);
    kept.handle("Scan", { TableName: "locks" });
    kept.close();
    const lines = readFileSync(`${data}/tables.jsonl`, "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThan(100);
    const again = open();
    onTestFinished(() => again.close());
    for (const item of items.slice(1)) {
      const { pk } = item;
      const answer = again.handle("GetItem", { TableName: "locks", Key: { pk } });
      expect(answer.body).toEqual({ Item: item });
    }
    const described = (each: KeptDynamoDB) => each.handle("DescribeTable", { TableName: "locks" });
    expect(described(again)).toEqual(described(kept));
  });

  it("keeps a transaction once that was repeated after a start", () => {
    const data = world.file("repeated");
    const open = (): KeptDynamoDB =>
      new KeptDynamoDB(data, { nowMs: () => 0 }, (error) => expect.fail(error.message));
    const add = {
      TableName: "locks",
      Key: { pk: { S: "a" } },
      UpdateExpression: "ADD amount :one",
      ExpressionAttributeValues: { ":one": { N: "1" } },
    };
    const transaction = { ClientRequestToken: "t", TransactItems: [{ Update: add }] };
    for (let start = 0; start < 3; start += 1) {
      const kept = open();
      if (start === 0) kept.handle("CreateTable", TABLE);
      if (start < 2) expect(kept.handle("TransactWriteItems", transaction).status).toBe(200);
      const { body } = kept.handle("GetItem", { TableName: "locks", Key: add.Key });
      expect(body).toMatchObject({ Item: { amount: { N: "1" } } });
      kept.close();
    }
  });

  it("applies a transaction again whose token came back after ten minutes, as before the start", () => {
    const path = world.file("forgotten");
    let nowMs = 0;
    const open = (): KeptDynamoDB =>
      new KeptDynamoDB(path, { nowMs: () => nowMs }, (error) => expect.fail(error.message));
    const Key = { pk: { S: "a" } };
    const add = {
      ...{ TableName: "locks", Key, UpdateExpression: "ADD amount :one" },
      ExpressionAttributeValues: { ":one": { N: "1" } },
    };
    const kept = open();
    kept.handle("CreateTable", TABLE);
    for (const token of ["t", "t", "", ""]) {
      nowMs += 660_000;
      const transaction = { ClientRequestToken: token, TransactItems: [{ Update: add }] };
      expect(kept.handle("TransactWriteItems", transaction).status).toBe(200);
    }
    kept.close();
    const again = open();
    onTestFinished(() => again.close());
    const { body } = again.handle("GetItem", { TableName: "locks", Key });
    expect(body).toMatchObject({ Item: { amount: { N: "4" } } });
  });

  it.runIf(process.platform === "linux")(
    "ends with 74 where no directory can be created, and says what to do",
    () => {
      // Not in this process, which an endless loop would block.
      const how = { encoding: "utf8", timeout: 20_000, killSignal: "SIGKILL" } as const;
      for (const data of ["/proc/x", "/proc/x/y"]) {
        const words = [CLI_FILE, "dev", "--port", "0", "--data", data];
        const { status, stderr } = spawnSync(process.execPath, words, how);
        expect(stderr).toBe(
          "holdfast: The directory /proc/x cannot be created (ENOENT). Give --data one that you may write to.\n",
        );
        expect(status).toBe(74);
      }
    },
  );

  it("takes a path through a directory that does not exist", () => {
    const options = { nowMs: () => 0 };
    const open = (path: string) =>
      new KeptDynamoDB(path, options, (error) => expect.fail(error.message)).close();
    open(`${world.directory}/new/../through`);
    expect(existsSync(world.file("through/tables.jsonl"))).toBe(true);
    expect(existsSync(world.file("new"))).toBe(false);
  });

  it("refuses an empty path", async () => {
    const { status, stderr } = await world.run(["dev", "--data", ""]);
    expect(status).toBe(64);
    expect(stderr).toMatch(/^holdfast: --data is empty\./);
  });

  it("refuses a file that it cannot read, and changes nothing in it", async () => {
    const data = world.file("broken");
    mkdirSync(data);
    appendFileSync(`${data}/tables.jsonl`, "junk\n");
    const { status, stderr } = await world.run(["dev", "--data", data]);
    expect({ status, stderr }).toEqual({
      status: 74,
      stderr: `holdfast: The file ${data}/tables.jsonl cannot be read at line 1. Repair it, or move it away.\n`,
    });
    expect(readFileSync(`${data}/tables.jsonl`, "utf8")).toBe("junk\n");
    const notOne = await world.run(["dev", "--data", `${data}/tables.jsonl`, "--json"]);
    expect(notOne.status).toBe(74);
    expect(JSON.parse(notOne.stderr)).toMatchObject({ error: { code: "data" } });
  });

  it("ends with an error once another process has taken the directory over", async () => {
    const data = world.file("shared");
    const first = dev("--data", data);
    const { env } = await started(first);
    const second = dev("--data", data);
    const later = await started(second);
    const lost = world.spawn(["lock", "a", "--wait", "0", "--", "true"], env);
    const { status, stderr } = await first.result;
    expect(status).toBe(74);
    expect(stderr).toContain("was taken over by another process");
    lost.kill("SIGKILL");
    await fence("a", later.env);
  });
});
