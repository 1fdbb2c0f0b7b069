import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFaultProxy } from "../../../packages/testing/src/proxy/proxy.js";
import { startDynamoDBLocal } from "../../../scripts/dynamodb-local/server.mjs";
import type { DriverName } from "../../../scripts/lib/interop-drivers.mjs";
import { sdkClient } from "../../support/sdk.js";
import { awsLockClientScenes } from "./aws-lock-client-scenes.js";
import { dynamodbLeaseScenes } from "./dynamodb-lease-scenes.js";
import { dynamolockScenes } from "./dynamolock-scenes.js";
import { failClosedScenes, failOpenScenes } from "./lock-client-scenes.js";
import { type RecordedScene, type Scene, Stage } from "./stage.js";

// Records spec/vectors/<format>.json: node scripts/record-format-vectors.mjs, which bundles and runs this.
const SCENES: Readonly<Record<DriverName, readonly Scene[]>> = {
  "aws-lock-client": awsLockClientScenes,
  dynamolock: dynamolockScenes,
  "dynamodb-lease": dynamodbLeaseScenes,
  "lock-client-fail-open": failOpenScenes,
  "lock-client-fail-closed": failClosedScenes,
};

const [folder = "", ...asked] = process.argv.slice(2);
const server = await startDynamoDBLocal();
const proxy = await startFaultProxy({ target: server.endpoint });
const client = sdkClient(server.endpoint);

async function record(format: DriverName): Promise<void> {
  const scenes: RecordedScene[] = [];
  let recordedFrom: object = {};
  for (const scene of SCENES[format]) {
    const played = await Stage.play({ client, proxy, format }, scene).catch((cause) => {
      throw new Error(`${format}, "${scene.state}": ${cause}`, { cause });
    });
    scenes.push(played.scene);
    recordedFrom = played.by;
  }
  const recorded = new Date().toISOString().slice(0, 10);
  const vectors = { format, ...recordedFrom, recorded, on: "DynamoDB Local", scenes };
  writeFileSync(join(folder, `${format}.json`), `${JSON.stringify(vectors, null, 2)}\n`);
  console.log(`${format}: ${scenes.length} scenes`);
}

try {
  mkdirSync(folder, { recursive: true });
  const names = Object.keys(SCENES) as DriverName[];
  for (const format of names) {
    if (asked.length === 0 || asked.includes(format)) await record(format);
  }
} finally {
  client.destroy();
  await proxy.close();
  await server.stop();
}
