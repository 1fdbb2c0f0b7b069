import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FixedStrategy } from "../../packages/object-commit/src/index.js";
import { Stores } from "../../packages/object-commit/test/stores/kit.js";
import { startS3rver } from "../../packages/object-commit/test/stores/s3rver.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { OneEndpoint } from "../support/one-endpoint.js";
import { Driver } from "./driver.js";
import { startMiniStack } from "./ministack.js";

/** The crate's own default. */
const TIMEOUT_MS = 20_000;
/** The timeout of writers which die. */
const SHORT_MS = 1_000;
/** The time of protection: the crate's rate and ours are 3. */
const TAKEOVER_MS = 3 * SHORT_MS;

interface Servers {
  readonly storeUrl: string;
  readonly tableUrl: string;
  readonly bucket?: string;
  stop(): Promise<void>;
}

/** The crate beside our committer, on one bucket and one table. */
function besideTheCrate(strategy: FixedStrategy, start: () => Promise<Servers>): void {
  let servers: Servers;
  let stores: Stores;
  let endpoint: OneEndpoint;
  const drivers: Driver[] = [];
  beforeAll(async () => {
    servers = await start();
    stores = await Stores.open(servers.storeUrl, servers.tableUrl, servers.bucket);
    endpoint = await OneEndpoint.start(servers.storeUrl, servers.tableUrl);
  });
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.kill()));
  });
  afterAll(async () => {
    await endpoint.stop();
    stores.close();
    await servers.stop();
  });

  const ours = (timeoutMs = TIMEOUT_MS) =>
    stores.committer({ strategy, dynamodb: { timeout: timeoutMs } });
  async function theirs(timeoutMs = TIMEOUT_MS): Promise<Driver> {
    const { bucket, table } = stores;
    const opening = { endpoint: endpoint.url, bucket, table, timeoutMs, accessKey: "S3RVER" };
    const driver = await Driver.open("object-store", opening);
    drivers.push(driver);
    return driver;
  }
  async function recordOf(path: string, etag = "*"): Promise<object | undefined> {
    const Key = { path: { S: path }, etag: { S: etag } };
    const read = new GetItemCommand({ TableName: stores.table, Key, ConsistentRead: true });
    return (await stores.dynamodb.send(read)).Item;
  }

  it("and our committer see each other's writes: creates, replacements by tag, copies", async () => {
    const crate = await theirs();
    expect(crate.version).toBe("0.12.5");
    const created = await crate.step("put", { key: "a", body: "theirs" });
    expect(created).toMatchObject({ committed: true });
    await expect(ours().putIfAbsent("a", "ours")).rejects.toMatchObject({
      code: "already-exists",
      etag: created["etag"],
    });
    const { etag } = await ours().putIfMatch("a", String(created["etag"]), "ours");
    const stale = { key: "a", body: "stale", etag: created["etag"] };
    expect(await crate.step("put", stale)).toEqual({ committed: false, because: "precondition" });
    const theirNext = await crate.step("put", { key: "a", body: "again", etag });
    expect(theirNext).toMatchObject({ committed: true });
    expect(await crate.step("put", { key: "a", body: "no" })).toEqual({
      committed: false,
      because: "already-exists",
    });
    await ours().copyIfAbsent("a", "b");
    const copy = { from: "a", to: "b" };
    expect(await crate.step("copy", copy)).toEqual({ committed: false, because: "already-exists" });
    expect(await stores.text("b")).toBe("again");
    expect(await crate.step("copy", { from: "a", to: "c" })).toEqual({ committed: true });
    await expect(ours().renameIfAbsent("a", "c")).rejects.toMatchObject({ code: "already-exists" });
  });

  const paths = (title: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${title}-${index}`);
  it.each([
    ["one path", paths("one", 1)],
    ["many paths", paths("many", 5)],
  ])(
    "counts exactly on %s, with five writers on each side",
    async (_title, keys) => {
      const crates = await Promise.all(Array.from({ length: 5 }, () => theirs()));
      const their = crates.map((crate) => crate.step("increment", { times: 10, keys }, 100_000));
      const our = Array.from({ length: 5 }, async () => {
        const committer = ours();
        for (let turn = 0; turn < 10; turn += 1) {
          const next = (now: { readonly body: Uint8Array } | undefined) =>
            String(Number(Buffer.from(now?.body ?? "0")) + 1);
          const key = String(keys[turn % keys.length]);
          await committer.update(key, next, { attempts: Number.POSITIVE_INFINITY });
        }
      });
      await Promise.all([...their, ...our]);
      const counts = await Promise.all(keys.map(async (key) => Number(await stores.text(key))));
      expect(counts).toEqual(keys.map(() => 100 / keys.length));
    },
    120_000,
  );

  it("dies with a taken record, and our committer waits and replaces the record", async () => {
    const crate = await theirs(SHORT_MS);
    const isReached = endpoint.holdNext(
      ({ method, isTable, path }) => !isTable && method === "PUT" && path.includes("left-by-them"),
    );
    const put = crate.step("put", { key: "left-by-them", body: "dead" }).catch(() => "died");
    await isReached;
    await crate.kill();
    expect(await put).toBe("died");
    const startMs = performance.now();
    await ours().putIfAbsent("left-by-them", "alive");
    expect(performance.now() - startMs).toBeGreaterThan(TAKEOVER_MS);
    expect(await stores.text("left-by-them")).toBe("alive");
    expect(await recordOf("left-by-them")).toMatchObject({ generation: { N: "1" } });
  });

  it("waits for our dead committer's record, reads our attributes, and replaces the record", async () => {
    const dead = stores.faulty();
    dead.script((kind) => (kind === "put" ? { fault: "request-lost" } : undefined));
    const dies = stores.committer({ s3: dead, strategy, dynamodb: { timeout: SHORT_MS } });
    await expect(dies.putIfAbsent("left-by-us", "dead")).rejects.toMatchObject({
      code: "outcome-unknown",
    });
    const left = await recordOf("left-by-us");
    expect(left).toMatchObject({
      token: { S: expect.any(String) },
      owner: { S: expect.any(String) },
    });
    const crate = await theirs();
    const startMs = performance.now();
    const put = await crate.step("put", { key: "left-by-us", body: "alive" });
    expect(put).toMatchObject({ committed: true });
    expect(performance.now() - startMs).toBeGreaterThan(TAKEOVER_MS);
    // The crate overwrites the whole record: our attributes are gone, and so is the end.
    expect(await recordOf("left-by-us")).toEqual({
      path: { S: "left-by-us" },
      etag: { S: "*" },
      generation: { N: "1" },
      timeout: { N: String(TIMEOUT_MS) },
      ttl: { N: expect.any(String) },
    });
  });

  it("waits for no ended record of ours, even with a timeout of a minute", async () => {
    await ours().putIfAbsent("again", "1");
    await ours().delete("again");
    expect(await recordOf("again")).toMatchObject({ timeout: { N: "0" } });
    const startMs = performance.now();
    const put = await (await theirs()).step("put", { key: "again", body: "2" });
    expect(put).toMatchObject({ committed: true });
    expect(performance.now() - startMs).toBeLessThan(20_000);
  });
}

describeOnDynamoDBLocal("object_store over a store without conditions", (tableUrl) => {
  besideTheCrate("dynamo", async () => {
    const { url, bucket, stop } = await startS3rver();
    return { storeUrl: url, tableUrl: tableUrl(), bucket, stop };
  });
});

describe("object_store over a store which honours our conditions", () => {
  besideTheCrate("both", async () => {
    const { url, stop } = await startMiniStack();
    return { storeUrl: url, tableUrl: url, stop };
  });
});
