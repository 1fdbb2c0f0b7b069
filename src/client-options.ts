import type { ClientEnvironment } from "./core/context.js";
import type { ClientOptions, LeaseOptions } from "./core/options.js";
import type { LeaseFormat } from "./core/record/format.js";
import type { FormatTypes, LockFormat, NativeTypes } from "./core/record/format-types.js";
import { HoldfastError } from "./errors.js";
import { nativeFormat } from "./formats/native.js";
import { type Clock, systemClock } from "./platform/clock.js";
import type { DynamoDBLike } from "./platform/dynamodb/sdk.js";
import { isTransport, type Transport } from "./platform/dynamodb/sender.js";
import { DynamoDBTable } from "./platform/dynamodb/table.js";
import { warn } from "./platform/process.js";
import { type Random, systemRandom } from "./platform/random.js";
import type { TablePort } from "./platform/table.js";
import { systemTimers, type Timers } from "./platform/timers.js";
import { schemaOf, type TableKeys } from "./table/schema.js";

/** What everything that is not deterministic can be replaced by, for tests. */
export interface TestEnvironment {
  readonly clock?: Clock | undefined;
  readonly timers?: Timers | undefined;
  readonly random?: Random | undefined;
}

/** Options of {@link Holdfast}. */
export interface HoldfastOptions<S extends FormatTypes = NativeTypes> extends ClientOptions {
  /**
   * An SDK v3 `DynamoDBClient`, or a document client; the same within `lean()` of `holdfast/lean`; or, for
   * tests, a table from `holdfast/testing`. Its retries are not used for locks: the kernel makes its own
   * attempts. Its middleware is, as it stands when this is called; it is put together once for each kind of
   * request, as the SDK's `cacheMiddleware` does it, so requests share one `context`.
   */
  readonly client: DynamoDBLike | Transport | TablePort;
  /** The table's name. */
  readonly table: string;
  /**
   * How records look in the table, where other clients share it: `awsLockClient()` and the like, from
   * `holdfast/formats`. Default: this library's own.
   */
  readonly format?: LockFormat<S> | undefined;
  /**
   * The names of the table's key attributes. Default `pk` and `sk`; `sk: null` for none. With a `format`
   * it is the format that is told them.
   */
  readonly keys?: TableKeys | undefined;
  /**
   * Whether each lock and leadership that this client is granted is noted beside its record, for
   * `history()`: the last sixteen grants of the name. One write more for each grant, in the background; it
   * delays none. Native records in a table with a sort key only. Default false.
   */
  readonly history?: boolean | undefined;
  /**
   * Called with an error that no caller waits for: a release after a finished `run`, or work in the
   * background. Default: a warning of the process.
   */
  readonly onError?: ((error: HoldfastError) => void) | undefined;
  /** Clocks, timers and chance, for tests. Default: this machine's. */
  readonly environment?: TestEnvironment | undefined;
}

/** Options of a session: lengths of time as of a lease, those of the client by default. */
export interface SessionOptions extends Omit<LeaseOptions, "poll"> {
  /** Ends the wait for a table that does not answer. */
  readonly signal?: AbortSignal | undefined;
}

/** What the kernel works with: as given for tests, or this machine's. Throws `invalid-argument`. */
export function environmentFrom<S extends FormatTypes>(
  options: HoldfastOptions<S>,
): ClientEnvironment {
  checkOptions(options);
  const { environment = {} } = options;
  const clock = environment.clock ?? systemClock;
  const timers = environment.timers ?? systemTimers;
  return {
    table: isTablePort(options.client)
      ? options.client
      : new DynamoDBTable(options.client, options.table, clock, timers),
    tableName: options.table,
    format:
      (options.format as LeaseFormat | undefined) ?? nativeFormat(schemaOf(options.keys).keys),
    clock,
    timers,
    random: environment.random ?? systemRandom,
    keepsHistory: options.history === true,
    report: reporterOf(options.onError),
  };
}

// What a callback throws must neither hide a result nor become an unhandled rejection.
function reporterOf(onError: HoldfastOptions["onError"]): (error: HoldfastError) => void {
  if (onError === undefined) return warn;
  return (error) => {
    try {
      onError(error);
    } catch (cause) {
      warn(cause instanceof Error ? cause : new Error("onError threw.", { cause }));
    }
  };
}

function isTablePort(client: HoldfastOptions["client"]): client is TablePort {
  return "write" in client && "read" in client && "scan" in client;
}

function checkOptions<S extends FormatTypes>(options: HoldfastOptions<S>): void {
  const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);
  if (typeof options.client !== "object" || options.client === null) {
    throw refuse("The option `client` must be a DynamoDBClient of the AWS SDK v3.");
  }
  const { client } = options;
  if (!("send" in client || isTransport(client) || isTablePort(client))) {
    throw refuse(
      "The option `client` must be a DynamoDBClient of the AWS SDK v3; it has no `send`.",
    );
  }
  if (typeof options.table !== "string" || options.table === "") {
    throw refuse("The option `table` must be the name of the table.");
  }
  if (options.history !== undefined && typeof options.history !== "boolean") {
    throw refuse(`The option \`history\` must be true or false; it is ${String(options.history)}.`);
  }
  if (options.format === undefined) return;
  if (typeof (options.format as Partial<LeaseFormat>).claim !== "function") {
    throw refuse("The option `format` must be made by a function of holdfast/formats.");
  }
  if (options.keys !== undefined) {
    throw refuse("The option `keys` is for native records; give the key names to the `format`.");
  }
}
