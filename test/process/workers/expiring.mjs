// Holds a lock on a session that a thread renews, with credentials of a given expiry. Blocks the event loop, or waits.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex } from "../../../packages/holdfast/dist/index.js";
import { blockFor, options, say, task } from "./common.mjs";

Object.assign(process.env, task.env);
const { accessKeyId, expiresInMs } = task.credentials;
const credentials = { accessKeyId, secretAccessKey: "sent", sessionToken: "sent" };
if (expiresInMs !== undefined) credentials.expiration = new Date(Date.now() + expiresInMs);
const locks = new Holdfast({
  client: new DynamoDBClient({
    endpoint: task.endpoint,
    region: "us-east-1",
    credentials: async () => credentials,
  }),
  table: task.table,
  onError: ({ code, message }) => say("reported", { code, message }),
  ...options,
});
const lease = await mutex(locks, task.name).acquire();
say("held");
const fromMs = performance.now();
// The last instant before an answer that the lease is held.
let heldAtNs;
while (performance.now() - fromMs < task.forMs) {
  if (task.isBlocked) blockFor(20);
  else await new Promise((resolve) => setTimeout(resolve, 20));
  const beforeNs = process.hrtime.bigint();
  if (lease.isHeld) heldAtNs = String(beforeNs);
}
const { code, reason, message, cause } = lease.signal.reason ?? {};
say("done", { isHeld: lease.isHeld, heldAtNs, code, reason, message, cause: cause?.message });
await locks.close().catch(() => undefined);
say("closed");
