import { type DynamoDBLike, HoldfastError } from "holdfast";
import {
  DynamoDBTable,
  FOR_COMMITS,
  isTransport,
  type ObjectPort,
  systemClock,
  systemRandom,
  systemTimers,
  type TablePort,
  type Transport,
} from "holdfast/internal";
import type { CommitContext } from "./context.js";
import type { CommitterSettings, ObjectCommitterOptions } from "./options.js";
import { type S3Like, S3Objects } from "./s3/s3.js";

/** Composes the ports: SDK clients behind their adapters, or the ports of tests. */
export function contextOf(
  options: ObjectCommitterOptions,
  settings: CommitterSettings,
): CommitContext {
  const { s3, dynamodb, environment = {} } = options;
  const clock = environment.clock ?? systemClock;
  const timers = environment.timers ?? systemTimers;
  checkSendsOnce(options, settings);
  return {
    objects: isSdkClient("s3", s3, "head")
      ? new S3Objects(s3 as S3Like, settings.bucket, timers)
      : (s3 as ObjectPort),
    table: dynamodb && tableOf(dynamodb, clock, timers),
    clock,
    timers,
    random: environment.random ?? systemRandom,
    settings,
  };
}

// If the store applies a write twice, the second time undoes later writes of other clients. Only the store's conditions
// can refuse it.
function checkSendsOnce({ s3, dynamodb }: ObjectCommitterOptions, settings: CommitterSettings) {
  const { strategy } = settings;
  const isPlain = strategy === "dynamo" || (strategy === "auto" && dynamodb !== undefined);
  if (!isPlain || !isSdkClient("s3", s3, "head") || "middlewareStack" in s3) return;
  throw new HoldfastError(
    "invalid-argument",
    "The option `s3` must be an `S3Client`, and not a wrapper around one: the retries of a wrapper cannot be switched " +
      `off. With the strategy "${strategy}", a write that is sent twice can undo other writes.`,
  );
}

function tableOf(
  { client, table }: NonNullable<ObjectCommitterOptions["dynamodb"]>,
  clock: CommitContext["clock"],
  timers: CommitContext["timers"],
): TablePort {
  return isTransport(client) || isSdkClient("dynamodb.client", client, "write")
    ? new DynamoDBTable(client as DynamoDBLike | Transport, table, clock, timers, FOR_COMMITS)
    : (client as TablePort);
}

/** Whether the client is an SDK client, not a port, which has the method `portMethod`. */
function isSdkClient(option: string, client: unknown, portMethod: string): boolean {
  if (typeof client === "object" && client !== null) {
    if (portMethod in client) return false;
    if ("send" in client) return true;
  }
  throw new HoldfastError(
    "invalid-argument",
    `The option \`${option}\` must be a client of the AWS SDK v3, with a method \`send\`.`,
  );
}
