// The servers of a run: one DynamoDB Local for all subjects, and one Redis if installed. Only on the loopback,
// and only in memory.
import { spawn, spawnSync } from "node:child_process";
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { createTable } from "../../packages/holdfast/dist/table/index.js";
import { startDynamoDBLocal } from "../../scripts/dynamodb-local/server.mjs";
import { freePort } from "./ports.mjs";
import { TABLES } from "./tables.mjs";

// The server should be as fast as possible, because the benchmark compares the clients.
const JVM_FLAGS = ["-XX:+UseParallelGC", "-Xmx1g"];

export function clientFor(endpoint, more = {}) {
  return new DynamoDBClient({
    endpoint,
    region: "local",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    ...more,
  });
}

/** Creates a table with these keys, all strings. */
export async function createKeyedTable(client, TableName, ...keys) {
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: keys.map((AttributeName, at) => ({
        AttributeName,
        KeyType: at === 0 ? "HASH" : "RANGE",
      })),
    }),
  );
  await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 300 }, { TableName });
}

async function createTables(endpoint) {
  const client = clientFor(endpoint);
  await createTable({ client, table: TABLES.holdfast, wait: "5m" });
  await createKeyedTable(client, TABLES.key, "key");
  await createKeyedTable(client, TABLES.pair, "pk", "sk");
  await createKeyedTable(client, TABLES.objects, "path", "etag");
  client.destroy();
}

/** Undefined where there is no redis-server: `apt-get install redis-server`. */
async function startRedis() {
  if (spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status !== 0) return undefined;
  const port = await freePort();
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", flags, { stdio: ["ignore", "pipe", "inherit"] });
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  await new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("redis-server ended before it was ready.")));
    child.stdout.on("data", (chunk) => {
      if (String(chunk).includes("Ready to accept connections")) resolve();
    });
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    process.off("exit", killAtExit);
    child.kill("SIGTERM");
    await exited;
  };
  return { port, stop };
}

/** Starts the servers for the subjects. `withRedis` false leaves Redis out; `endpoint` takes the place of DynamoDB Local. */
export async function startServers({ withRedis = true, endpoint } = {}) {
  const dynamodb =
    endpoint === undefined
      ? await startDynamoDBLocal({ jvmFlags: JVM_FLAGS })
      : { endpoint, stop: async () => undefined };
  try {
    await createTables(dynamodb.endpoint);
    const redis = withRedis ? await startRedis() : undefined;
    return {
      endpoint: dynamodb.endpoint,
      redisPort: redis?.port,
      stop: () => Promise.all([dynamodb.stop(), redis?.stop()]),
    };
  } catch (error) {
    await dynamodb.stop();
    throw error;
  }
}
