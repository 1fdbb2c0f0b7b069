import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { ToThread } from "../core/session/thread-messages.js";
import { ThreadSide } from "../core/session/thread-side.js";
import { nativeFormat } from "../native/native.js";
import { dateAt, sharedClock } from "../platform/clock.js";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";
import { isTransport, type Transport } from "../platform/dynamodb/sender.js";
import { DynamoDBTable } from "../platform/dynamodb/table.js";
import { systemRandom } from "../platform/random.js";
import type { TablePort } from "../platform/table.js";
import { insideWorker } from "../platform/threads.js";
import { systemTimers } from "../platform/timers.js";
import { type SentCredentials, sourceOf } from "./credentials.js";
import type { ClientSource, ThreadData } from "./data.js";

/**
 * Renews the session of the main thread, if this is a thread that a client has started; otherwise does nothing. A worker
 * thread runs this file, `holdfast/thread.js`, for a client with `sharedSession: { thread: true }`. Only a program in a
 * bundle names it: see docs/sessions.md.
 */
async function runThread(): Promise<void> {
  const inside = await insideWorker();
  if (inside === undefined || !isThreadData(inside.data)) return;
  const { start, table, keys, client } = inside.data;
  const sent = { credentials: client.kind === "module" ? undefined : client.credentials };
  const made = await clientFrom(client, sent);
  const port = isTable(made) ? made : new DynamoDBTable(made, table, sharedClock, systemTimers);
  const environment = {
    ...{ table: port, tableName: table, format: nativeFormat(keys) },
    ...{ clock: sharedClock, timers: systemTimers, random: systemRandom },
  };
  const side = new ThreadSide(start, environment, (message) => inside.post(message));
  inside.onMessage((message) => {
    const received = message as ToThread;
    if (received.kind === "credentials") sent.credentials = received.credentials as SentCredentials;
    else side.receive(received);
  });
  await side.prepare();
}

function isThreadData(data: unknown): data is ThreadData {
  return typeof data === "object" && data !== null && "isHoldfast" in data;
}

function isTable(client: DynamoDBLike | Transport | TablePort): client is TablePort {
  return !isTransport(client) && "write" in client;
}

async function clientFrom(
  source: ClientSource,
  sent: { readonly credentials: SentCredentials | undefined },
): Promise<DynamoDBLike | Transport | TablePort> {
  if (source.kind === "module") {
    const { default: made } = (await import(source.url)) as { readonly default: unknown };
    return (typeof made === "function" ? await made() : made) as DynamoDBLike;
  }
  const { endpoint, region } = source;
  // The provider of a client without credentials: environment, profile, SSO, role.
  const own = new DynamoDBClient({ region });
  return new DynamoDBClient({
    ...{ endpoint, region },
    credentials: async () => {
      const { credentials } = sent;
      const isSent = sourceOf(credentials, sharedClock.wallMs()) === "sent";
      // Without an expiry, the SDK would keep these credentials, and never ask for later ones.
      if (credentials !== undefined && isSent) return expiringSoon(credentials);
      return own.config.credentials();
    },
  });
}

const SDK_REFRESHES_BEFORE_MS = 300_000;

// The SDK asks its provider again five minutes before an expiry.
function expiringSoon(credentials: SentCredentials) {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const keys = { accessKeyId, secretAccessKey };
  const expiration = dateAt(sharedClock.wallMs() + SDK_REFRESHES_BEFORE_MS);
  return sessionToken === undefined
    ? { ...keys, expiration }
    : { ...keys, sessionToken, expiration };
}

void runThread();
