// The shared part of all workers. A worker gets a task as a JSON argument, and reports events as lines of JSON,
// written synchronously, so that no line is lost when the process is killed.
import { writeSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

export const task = JSON.parse(process.argv[2]);

// The build, or an earlier version of the package.
const entry = new URL(task.library ?? "../../../packages/holdfast/dist/index.js", import.meta.url);
const library = await import(entry);
// The earlier version has no entry for elections.
const elections = await import(new URL("election/index.js", entry)).catch(() => library);
const { Holdfast } = library;

// The earlier version has methods of the client instead.
const byMethod =
  (method) =>
  (client, ...given) =>
    client[method](...given);
export const {
  condition,
  mutex = byMethod("mutex"),
  fairLock = byMethod("fairLock"),
  all = byMethod("multiLock"),
  once = byMethod("once"),
  openSession = byMethod("session"),
  inspect = byMethod("inspect"),
} = library;
export const { election = byMethod("election"), leaderTasks = byMethod("leaderTasks") } = elections;

export function say(event, more = {}) {
  writeSync(1, `${JSON.stringify({ event, atNs: String(process.hrtime.bigint()), ...more })}\n`);
}

export const client = new DynamoDBClient({
  endpoint: task.endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});

/** The options with a session, which JSON cannot carry: the earlier version has the options of the session instead. */
function withSession({ sharedSession, ...options } = {}) {
  if (sharedSession === undefined) return options;
  const asked = sharedSession === true ? undefined : sharedSession;
  return { ...options, sharedSession: library.sharedSession?.(asked) ?? sharedSession };
}

export const options = withSession(task.options);

const onError = ({ code, message }) => say("reported", { code, message });

export const locks = new Holdfast({
  client,
  table: task.table,
  ...(task.reports ? { onError } : {}),
  ...options,
});

/** Blocks the whole process. */
export function blockFor(ms) {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}
