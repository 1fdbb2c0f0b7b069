// The shared part of all workers. A worker gets a task as a JSON argument, and reports events as lines of JSON,
// written synchronously, so that no line is lost when the process is killed.
import { writeSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast } from "../../../dist/index.js";

export const task = JSON.parse(process.argv[2]);

export function say(event, more = {}) {
  writeSync(1, `${JSON.stringify({ event, atNs: String(process.hrtime.bigint()), ...more })}\n`);
}

export const client = new DynamoDBClient({
  endpoint: task.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});

export const locks = new Holdfast({ client, table: task.table, ...task.options });

/** Blocks the whole process. */
export function blockFor(ms) {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}
