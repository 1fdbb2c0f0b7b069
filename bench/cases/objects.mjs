// A commit of an object: the requests of each strategy, and the time of requests to the table. The store is in
// memory and takes no time, so the rest is the cost of the commit record.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { objectCommitter } from "../../packages/object-commit/dist/index.js";
import { MemoryObjects } from "../../packages/testing/dist/index.js";
import { startMeter } from "../lib/meter.mjs";
import { sdkOptions } from "../lib/sdk.mjs";
import { median, round } from "../lib/statistics.mjs";
import { TABLES } from "../lib/tables.mjs";
import { nowMs } from "../lib/time.mjs";

export const title = "Create an object that only one writer wins";
export const isQuick = true;

const PUTS = 200;

export async function run(context) {
  const client = new DynamoDBClient(sdkOptions(context.servers.endpoint));
  const meter = startMeter();
  const rows = [];
  for (const strategy of ["conditional", "dynamo", "both"]) {
    const s3 = new MemoryObjects();
    const dynamodb = { client, table: TABLES.objects };
    const committer = objectCommitter({ s3, bucket: "bucket", strategy, dynamodb });
    const times = [];
    await committer.putIfAbsent("warm-up", "1");
    const [before, requests] = [s3.counts, meter.requests];
    const puts = context.quick ? 20 : PUTS;
    for (let at = 0; at < puts; at += 1) {
      const startMs = nowMs();
      await committer.putIfAbsent(`${strategy}-${at}`, "1");
      times.push(nowMs() - startMs);
    }
    const toStore = Object.keys(before).reduce(
      (sum, kind) => sum + s3.counts[kind] - before[kind],
      0,
    );
    rows.push({
      strategy,
      putMs: round(median(times)),
      storeRequests: toStore / puts,
      tableRequests: (meter.requests - requests) / puts,
    });
  }
  client.destroy();
  return { settings: {}, rows };
}

/** Requests that differ from the documents. */
export function isRight({ rows }) {
  const promised = { conditional: [1, 0], dynamo: [3, 2], both: [3, 2] };
  return rows
    .filter(({ strategy, storeRequests, tableRequests }) => {
      const [store, table] = promised[strategy];
      return storeRequests !== store || tableRequests !== table;
    })
    .map(({ strategy, ...found }) => `${strategy}: ${JSON.stringify(found)}`);
}
