import type {
  FromThread,
  RenewalThread,
  ThreadEvents,
  ThreadStart,
} from "../core/session/thread-messages.js";
import { HoldfastError } from "../errors.js";
import type { NativeKeys } from "../native/native.js";
import { endpointOf } from "../platform/dynamodb/endpoint.js";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";
import { startWorker } from "../platform/threads.js";
import type { Timer, Timers } from "../platform/timers.js";
import type { SentCredentials } from "./credentials.js";
import type { ClientSource, ThreadData } from "./data.js";

/** The parts of a client that a thread needs. */
interface ThreadParts {
  readonly client: unknown;
  readonly table: string;
  readonly keys: NativeKeys;
  readonly timers: Timers;
  /** The user's module for the client of the thread, and the file of the thread, as URLs. */
  readonly module: string | undefined;
  readonly worker: string | undefined;
}

/** The members of an SDK client's configuration that are read. */
interface SdkConfig {
  readonly region: () => Promise<string>;
  readonly credentials?: () => Promise<SentCredentials>;
}

// The SDK keeps credentials until shortly before they expire, so most of these calls cost nothing.
const REFRESH_EVERY_MS = 10_000;

/** Starts the thread that renews a session. Rejects if the configuration of the client cannot be read. */
export async function startThread(
  parts: ThreadParts,
  start: ThreadStart,
  events: ThreadEvents,
): Promise<RenewalThread> {
  const client = await sourceFrom(parts);
  const data: ThreadData = {
    ...{ isHoldfast: true, start, client },
    ...{ table: parts.table, keys: parts.keys },
  };
  const worker = await startWorker(fileOf(parts), data, {
    onMessage: (message) => events.onMessage(message as FromThread),
    onEnd: (cause) => {
      refresh?.cancel();
      events.onFailure(cause);
    },
  });
  const refresh = client.kind === "module" ? undefined : new CredentialsRefresh(parts, worker.post);
  return {
    post: worker.post,
    end: () => {
      refresh?.cancel();
      worker.end();
    },
  };
}

async function sourceFrom({ module, client, table }: ThreadParts): Promise<ClientSource> {
  if (module !== undefined) return { kind: "module", url: module };
  const sdk = client as DynamoDBLike;
  const { region } = sdk.config as unknown as SdkConfig;
  const { protocol, hostname, port, path } = await endpointOf(sdk, table);
  const host = port === undefined ? hostname : `${hostname}:${port}`;
  return {
    kind: "configuration",
    endpoint: `${protocol}//${host}${path}`,
    region: await region(),
    credentials: await credentialsOf(sdk),
  };
}

/** The credentials of a client; undefined if its provider fails now. The thread then uses its own provider. */
async function credentialsOf(client: DynamoDBLike): Promise<SentCredentials | undefined> {
  const { credentials } = client.config as unknown as SdkConfig;
  try {
    const found = await credentials?.();
    if (found === undefined) return undefined;
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found;
    return { accessKeyId, secretAccessKey, sessionToken, expiration };
  } catch {
    return undefined;
  }
}

function fileOf({ worker }: ThreadParts): URL {
  try {
    return new URL(worker ?? import.meta.resolve("holdfast/thread.js"));
  } catch (cause) {
    throw new HoldfastError(
      "misconfigured",
      "The file of the thread was not found. In a bundle, build holdfast/thread.js to a file of its own, and set the " +
        "option `sharedSession.thread.worker` to its URL.",
      { cause },
    );
  }
}

/** Sends the credentials of the main thread to the thread, whenever they have changed. */
class CredentialsRefresh {
  readonly #client: DynamoDBLike;
  readonly #timers: Timers;
  readonly #post: RenewalThread["post"];
  #timer: Timer | undefined;
  #isOver = false;
  #lastId: string | undefined;

  constructor({ client, timers }: ThreadParts, post: RenewalThread["post"]) {
    this.#client = client as DynamoDBLike;
    this.#timers = timers;
    this.#post = post;
    this.#arm();
  }

  cancel(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#timers.set(REFRESH_EVERY_MS, false, () => void this.#send());
  }

  // Never rejects.
  async #send(): Promise<void> {
    const credentials = await credentialsOf(this.#client);
    if (this.#isOver) return;
    const id = JSON.stringify(credentials);
    if (credentials !== undefined && id !== this.#lastId) {
      this.#lastId = id;
      this.#post({ kind: "credentials", credentials });
    }
    this.#arm();
  }
}
