// Records spec/vectors/native.json with Amazon's DynamoDB Local: node scripts/record-vectors.mjs. A changed
// vector is a change of the wire format: review the diff.
import { writeFileSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { startDynamoDBLocal } from "./dynamodb-local/server.mjs";
import { nativeRequests, playNativeScenes, readable, SHAPES } from "./lib/native-scenes.mjs";
import { loadSource } from "./lib/source.mjs";

const {
  nativeFormat,
  REQUESTS,
  RUNS,
  SESSIONS,
  createTable,
  Holdfast,
  inspect,
  mutex,
  openSession,
  compileWrite,
  forcedRequest,
  seededRandom,
} = await loadSource(
  "holdfast/src/native/native",
  "holdfast/src/native/native-requests",
  "holdfast/src/native/native-runs",
  "holdfast/src/native/native-sessions",
  "holdfast/src/native/native-values",
  "holdfast/src/index",
  "holdfast/src/table/index",
  "holdfast/src/platform/dynamodb/expressions",
  "testing/src/time/seeded-random",
);

const FILE = new URL("../spec/vectors/native.json", import.meta.url);

function withSortedNames(item) {
  return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function reading({ state, shape, item }) {
  const { pk = "pk", sk = "sk" } = SHAPES[shape] ?? {};
  const record = readable(nativeFormat({ pk, sk }).codec.read(item));
  return { state, shape, item: withSortedNames(item), record };
}

const server = await startDynamoDBLocal();
const client = new DynamoDBClient({
  endpoint: server.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});
try {
  const library = { Holdfast, inspect, mutex, openSession };
  const code = { createTable, library, seededRandom };
  const items = await playNativeScenes({ client, prefix: "vectors", ...code });
  const vectors = {
    format: "native",
    layout: 1,
    items: items.map(reading),
    requests: nativeRequests({
      ...{ nativeFormat, REQUESTS, RUNS, SESSIONS },
      ...{ compileWrite, forcedRequest },
    }),
  };
  writeFileSync(FILE, `${JSON.stringify(vectors, null, 2)}\n`);
  console.log(`Recorded ${vectors.items.length} items and ${vectors.requests.length} requests.`);
} finally {
  client.destroy();
  await server.stop();
}
