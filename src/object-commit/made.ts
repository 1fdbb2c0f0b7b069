import { HoldfastError } from "../errors.js";
import { systemClock } from "../platform/clock.js";
import { FOR_COMMITS } from "../platform/dynamodb/errors.js";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";
import { isTransport, type Transport } from "../platform/dynamodb/sender.js";
import { DynamoDBTable } from "../platform/dynamodb/table.js";
import { systemRandom } from "../platform/random.js";
import type { ObjectPort } from "../platform/s3/objects.js";
import { type S3Like, S3Objects } from "../platform/s3/s3.js";
import type { TablePort } from "../platform/table.js";
import { systemTimers } from "../platform/timers.js";
import type { Around } from "./around.js";
import type { CommitterSettings, ObjectCommitterOptions } from "./options.js";

/** Puts the ports together: the SDK's clients behind their adapters, or what tests give instead. */
export function aroundOf(options: ObjectCommitterOptions, settings: CommitterSettings): Around {
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

// A write that lands a second time, after others have written, undoes what they did; only the store's
// conditions can refuse it.
function checkSendsOnce({ s3, dynamodb }: ObjectCommitterOptions, settings: CommitterSettings) {
  const { strategy } = settings;
  const isPlain = strategy === "dynamo" || (strategy === "auto" && dynamodb !== undefined);
  if (!isPlain || !isSdkClient("s3", s3, "head") || "middlewareStack" in s3) return;
  throw new HoldfastError(
    "invalid-argument",
    "The option `s3` must be an `S3Client` itself: the retries of an object around one cannot be " +
      `switched off, and with the strategy "${strategy}" a write that is sent twice can undo others'.`,
  );
}

function tableOf(
  { client, table }: NonNullable<ObjectCommitterOptions["dynamodb"]>,
  clock: Around["clock"],
  timers: Around["timers"],
): TablePort {
  return isTransport(client) || isSdkClient("dynamodb.client", client, "write")
    ? new DynamoDBTable(client as DynamoDBLike | Transport, table, clock, timers, FOR_COMMITS)
    : (client as TablePort);
}

/** Whether it is a client of the SDK's, and not a port, which has this method. */
function isSdkClient(option: string, client: unknown, portMethod: string): boolean {
  if (typeof client === "object" && client !== null) {
    if (portMethod in client) return false;
    if ("send" in client) return true;
  }
  throw new HoldfastError(
    "invalid-argument",
    `The option \`${option}\` must be a client of the AWS SDK v3; it has no \`send\`.`,
  );
}
