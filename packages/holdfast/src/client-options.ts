import type { ClientEnvironment, HasRings, NotesGrants } from "./core/context.js";
import { CLIENT_NAMES } from "./core/option-names.js";
import type { AcquireOptions, ClientOptions, GrantHistory, RingChoice } from "./core/options.js";
import type { LeaseFormat } from "./core/record/format.js";
import type { FormatTypes, LockFormat, NativeTypes } from "./core/record/format-types.js";
import type { HoldfastError } from "./errors.js";
import { checkCallback, checkNames, type OptionNames, refuse } from "./internal/option-names.js";
import { tell } from "./internal/tell.js";
import { nativeFormat } from "./native/native.js";
import { type Clock, systemClock } from "./platform/clock.js";
import { type DynamoDBLike, isDocumentClient } from "./platform/dynamodb/sdk.js";
import type { Transport } from "./platform/dynamodb/sender.js";
import { DynamoDBTable } from "./platform/dynamodb/table.js";
import { checkTarget } from "./platform/dynamodb/target.js";
import { type Finalization, NO_FINALIZATION, systemFinalization } from "./platform/finalization.js";
import { warn } from "./platform/process.js";
import { type Random, systemRandom } from "./platform/random.js";
import type { TablePort } from "./platform/table.js";
import { systemTimers, type Timers } from "./platform/timers.js";
import { schemaOf, type TableKeys } from "./table/schema.js";

/** Replacements for the sources of nondeterminism, for tests. */
export interface TestEnvironment {
  readonly clock?: Clock | undefined;
  readonly timers?: Timers | undefined;
  readonly random?: Random | undefined;
  /** Tells of handles that were garbage-collected without a release. Default in an environment: nothing does. */
  readonly finalization?: Finalization | undefined;
}

/** Options of {@link Holdfast}. */
export interface HoldfastOptions<S extends FormatTypes = NativeTypes> extends ClientOptions {
  /**
   * An SDK v3 `DynamoDBClient` or a document client, alone or in `lean()` from `holdfast/lean`. For tests: a table
   * from `@holdfast/testing`.
   *
   * Locks do not use the SDK's retries: the core retries by itself. The core resolves the middleware stack once for
   * each kind of request, as the SDK's `cacheMiddleware` does. So only middleware that was registered before this
   * call applies, and requests share one `context`.
   */
  readonly client: DynamoDBLike | Transport | TablePort;
  /** The table's name. */
  readonly table: string;
  /**
   * The format of the records in a table that other clients share: `awsLockClient()` and the like, from
   * `@holdfast/formats`. Default: the native format.
   */
  readonly format?: LockFormat<S> | undefined;
  /**
   * The names of the table's key attributes. Default `pk` and `sk`; `sk: null` for a table without a sort key.
   * With a `format`, give the key names to the format instead.
   */
  readonly keys?: TableKeys | undefined;
  /**
   * `grantHistory()` of `holdfast/admin`: the client notes each grant of a lock, a permit or a leadership beside its record.
   * Default: no notes.
   */
  readonly history?: GrantHistory | undefined;
  /**
   * `ring()` of `holdfast/ring`: clients that wait tell the holder so, and the holder rings them when it releases, so that a
   * lock passes between processes without polling. Default: none. See docs/ring.md.
   */
  readonly ring?: RingChoice | undefined;
  /**
   * Receives each error that no caller waits for. Such an error comes from the release after a finished `run`, or
   * from background work. While a call waits, it also receives each outage once: `unreachable` or `throttled` within two
   * request timeouts of the first failed request (at least 2 s), and `access-denied` at the first refusal. The next outage
   * is another one. If a callback, a task or a run of yours throws, the error has the code `outcome-unknown`, and its
   * `cause` is what was thrown. Default: the process emits a warning.
   */
  readonly onError?: ((error: HoldfastError) => void) | undefined;
  /** Clocks, timers and random numbers, for tests. Default: those of this machine. */
  readonly environment?: TestEnvironment | undefined;
}

const HOLDFAST_NAMES: OptionNames<HoldfastOptions> = {
  ...CLIENT_NAMES,
  client: true,
  table: true,
  format: true,
  keys: true,
  history: true,
  ring: true,
  onError: true,
  environment: true,
};

/** Options of a session. Its lengths of time mean the same as a lease's. The client's options are the defaults. */
export type SessionOptions = Pick<AcquireOptions, "lease" | "renew" | "wait" | "owner" | "signal">;

export const SESSION_NAMES: OptionNames<SessionOptions> = {
  lease: true,
  renew: true,
  wait: true,
  owner: true,
  signal: true,
};

/** Returns the environment of the core: the replacements for tests, or this machine's. Throws `invalid-argument`. */
export function environmentFrom<S extends FormatTypes>(
  options: HoldfastOptions<S>,
): ClientEnvironment {
  checkOptions(options);
  const { environment = { finalization: systemFinalization() } } = options;
  const clock = environment.clock ?? systemClock;
  const timers = environment.timers ?? systemTimers;
  const format =
    (options.format as LeaseFormat | undefined) ?? nativeFormat(schemaOf(options.keys).keys);
  return {
    table: isTablePort(options.client)
      ? options.client
      : new DynamoDBTable(options.client, options.table, clock, timers),
    tableName: options.table,
    format,
    clock,
    timers,
    random: environment.random ?? systemRandom,
    finalization: environment.finalization ?? NO_FINALIZATION,
    noteGrant: (options.history as NotesGrants | undefined)?.noteGrant(format),
    startRings: (options.ring as HasRings | undefined)?.startRings(format),
    sendsDocuments: isDocumentClient(options.client),
    report: reporterOf(options.onError),
  };
}

// An error in the callback must not hide a result.
function reporterOf(onError: HoldfastOptions["onError"]): (error: HoldfastError) => void {
  if (onError === undefined) return warn;
  return (error) =>
    tell(onError, error, (cause) =>
      warn(cause instanceof Error ? cause : new Error("onError threw", { cause })),
    );
}

function isTablePort(client: object): client is TablePort {
  return "write" in client && "read" in client && "scan" in client;
}

function checkOptions<S extends FormatTypes>(options: HoldfastOptions<S>): void {
  checkNames("new Holdfast()", options, HOLDFAST_NAMES);
  checkCallback("onError", options.onError);
  checkTarget(options, isTablePort);
  if (options.history !== undefined && options.history?.kind !== "grant history") {
    throw refuse(`The option \`history\` must be the result of grantHistory().`);
  }
  if (options.ring !== undefined && options.ring?.kind !== "ring") {
    throw refuse(`The option \`ring\` must be the result of ring().`);
  }
  if (options.format === undefined) return;
  if ((options.format as Partial<LeaseFormat> | null)?.lease === undefined) {
    throw refuse("The option `format` must be the result of a function of @holdfast/formats.");
  }
  if (options.keys !== undefined) {
    throw refuse(
      "The option `keys` is for native records only. Give the key names to the function that makes the `format`.",
    );
  }
}
