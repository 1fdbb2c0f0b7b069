import { type Duration, type DynamoDBLike, HoldfastError } from "holdfast";
import {
  type Clock,
  checkNames,
  type DurationRange,
  defaultOwner,
  durationMs,
  type ObjectPort,
  type OptionNames,
  type Random,
  type TablePort,
  type Timers,
  type Transport,
  valueText,
} from "holdfast/internal";
import type { S3Like } from "./s3/s3.js";

/**
 * Decides which write wins when several writers commit one key.
 * - `conditional`: the object store alone, by its conditional writes.
 * - `dynamo`: a record in a DynamoDB table, as in the Rust crate object_store up to 0.12.
 * - `both`: the record, and also the store's conditional writes.
 */
export type FixedStrategy = "conditional" | "dynamo" | "both";

/** A strategy, or `auto`: `conditional` if a probe shows that the store supports conditions, else `dynamo`. */
export type Strategy = FixedStrategy | "auto";

/** The table of the commit records. */
export interface CommitTableOptions {
  /**
   * An SDK v3 `DynamoDBClient`, with its endpoint and credentials; a client wrapped by `lean()` of `holdfast/lean`; or
   * a table for tests.
   */
  readonly client: DynamoDBLike | Transport | TablePort;
  /** The table's name. Use a separate table for each bucket: the record's key does not contain the bucket. */
  readonly table: string;
  /** How long a writer may act on its record. Whole milliseconds; default 20 s. */
  readonly timeout?: Duration | undefined;
  /**
   * A waiter replaces a record after this multiple of the `timeout` *in the record*. At least 2, default 3. With the
   * strategy `dynamo`, a request of the previous writer that arrives after this time overwrites the object.
   */
  readonly maxClockSkewRate?: number | undefined;
  /** The age at which TTL may delete a record. At least `timeout` times `maxClockSkewRate`; default 1 h. */
  readonly ttl?: Duration | undefined;
  /** The first pause of a waiter between polls; pauses grow to 2 s, or to this value if longer. Default 100 ms. */
  readonly poll?: Duration | undefined;
}

/** Replacements for the non-deterministic parts, for tests. */
export interface CommitterSurroundings {
  readonly clock?: Clock | undefined;
  readonly timers?: Timers | undefined;
  readonly random?: Random | undefined;
}

/** Options of {@link objectCommitter}. */
export interface ObjectCommitterOptions {
  /** An SDK v3 `S3Client`, used without its own retries; or, for tests, an object store in memory. */
  readonly s3: S3Like | ObjectPort;
  /** The bucket's name. */
  readonly bucket: string;
  /** All writers of a key must use the same strategy; for exceptions see docs/object-commit.md. Default `auto`. */
  readonly strategy?: Strategy | undefined;
  /** Required for `dynamo` and `both`. With `auto`, required if the store does not support conditional writes. */
  readonly dynamodb?: CommitTableOptions | undefined;
  /**
   * The time limit of one operation, without the probe of `auto`. Default `timeout` times (`maxClockSkewRate` + 1), which is
   * 80 s: long enough to replace the record of a single dead writer.
   * - A length: at least 1 s, or `Infinity`.
   * - `0`: not to wait for the record of another writer. Requests without an answer are retried for `timeout`.
   * - `{ beyondLease }`: this much longer than a dead writer's record blocks the path, by the `timeout` in that record.
   */
  readonly wait?: Duration | { readonly beyondLease: Duration } | undefined;
  /** The timeout of a request without a body. Default 5 s. */
  readonly requestTimeout?: Duration | undefined;
  /** The timeout of a request with the body; with a record, never beyond `timeout`. Default 60 s. */
  readonly transferTimeout?: Duration | undefined;
  /** The writer's label for people, in the record. Default: host name and process id. */
  readonly owner?: string | undefined;
  /** The prefix of the objects that the probe creates and deletes. Default `.holdfast-probe/`. */
  readonly probePrefix?: string | undefined;
  /** Clocks, timers and randomness, for tests. Default: this machine's. */
  readonly environment?: CommitterSurroundings | undefined;
}

const TABLE_NAMES: OptionNames<CommitTableOptions> = {
  client: true,
  table: true,
  timeout: true,
  maxClockSkewRate: true,
  ttl: true,
  poll: true,
};
const COMMITTER_NAMES: OptionNames<ObjectCommitterOptions> = {
  s3: true,
  bucket: true,
  strategy: true,
  dynamodb: true,
  wait: true,
  requestTimeout: true,
  transferTimeout: true,
  owner: true,
  probePrefix: true,
  environment: true,
};

/** The resolved options, as shown by inspecting a committer. Contains no client, so no credentials. */
export interface CommitterSettings {
  readonly bucket: string;
  readonly strategy: Strategy;
  /** Undefined without a table. */
  readonly table: string | undefined;
  readonly timeoutMs: number;
  readonly maxClockSkewRate: number;
  readonly ttlMs: number;
  readonly pollMs: number;
  readonly maxPollMs: number;
  /** With `beyondLeaseMs`, the shortest possible length. */
  readonly waitMs: number;
  /** How much longer to wait than a record blocks a path. Undefined: the wait has a fixed length. */
  readonly beyondLeaseMs: number | undefined;
  readonly requestTimeoutMs: number;
  readonly transferTimeoutMs: number;
  readonly owner: string;
  readonly probePrefix: string;
}

/** The defaults. Those for the record are the same as in the Rust crate. */
const COMMIT_DEFAULTS = Object.freeze({
  strategy: "auto",
  timeout: "20s",
  maxClockSkewRate: 3,
  ttl: "1h",
  poll: "100ms",
  /** The crate polls ten times a second during its wait: 600 requests for one dead writer. */
  maxPollMs: 2_000,
  /** The answer to a longer request is more likely lost than slow. */
  requestTimeout: "5s",
  /** Long enough for 100 MB at 15 Mbit/s. */
  transferTimeout: "60s",
  probePrefix: ".holdfast-probe/",
});

const DAY_MS = 24 * 3_600_000;
const TIMEOUT_RANGE: DurationRange = { leastMs: 100, mostMs: DAY_MS };
const WAIT_RANGE: DurationRange = { leastMs: 1_000, mostMs: Number.POSITIVE_INFINITY };
const REQUEST_RANGE: DurationRange = { leastMs: 10, mostMs: DAY_MS };
const STRATEGIES: readonly Strategy[] = ["conditional", "dynamo", "both", "auto"];

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

/** Resolves the options, and checks them together. Throws `invalid-argument`. */
export function resolveCommitter(options: ObjectCommitterOptions): CommitterSettings {
  checkNames("objectCommitter()", options, COMMITTER_NAMES);
  const { dynamodb = {} as Partial<CommitTableOptions> } = options;
  checkNames("`dynamodb`", dynamodb, TABLE_NAMES);
  const d = COMMIT_DEFAULTS;
  const strategy = checkStrategy(options);
  const timeoutMs = durationMs("dynamodb.timeout", dynamodb.timeout ?? d.timeout, TIMEOUT_RANGE);
  const rate = checkRate(dynamodb.maxClockSkewRate ?? d.maxClockSkewRate);
  const ttlMs = durationMs("dynamodb.ttl", dynamodb.ttl ?? d.ttl, {
    leastMs: 1_000,
    mostMs: 365 * DAY_MS,
  });
  checkTimeouts(timeoutMs, rate, ttlMs);
  const pollMs = durationMs("dynamodb.poll", dynamodb.poll ?? d.poll, {
    leastMs: 1,
    mostMs: DAY_MS,
  });
  return {
    bucket: checkText("bucket", options.bucket),
    strategy,
    table: options.dynamodb && checkText("dynamodb.table", options.dynamodb.table),
    timeoutMs,
    maxClockSkewRate: rate,
    ttlMs,
    pollMs,
    maxPollMs: Math.max(d.maxPollMs, pollMs),
    ...resolveWait(options.wait ?? Math.max(1_000, timeoutMs * (rate + 1)), timeoutMs * rate),
    requestTimeoutMs: durationMs(
      "requestTimeout",
      options.requestTimeout ?? d.requestTimeout,
      REQUEST_RANGE,
    ),
    transferTimeoutMs: durationMs(
      "transferTimeout",
      options.transferTimeout ?? d.transferTimeout,
      REQUEST_RANGE,
    ),
    owner: checkText("owner", options.owner ?? defaultOwner()),
    probePrefix: checkText("probePrefix", options.probePrefix ?? d.probePrefix),
  };
}

/** `blockedMs`: for how long a dead writer's record with this committer's `timeout` blocks a path. */
function resolveWait(
  wait: NonNullable<ObjectCommitterOptions["wait"]>,
  blockedMs: number,
): Pick<CommitterSettings, "waitMs" | "beyondLeaseMs"> {
  if (typeof wait === "object" && Object.keys(wait).join() === "beyondLease") {
    const beyondLeaseMs = durationMs("wait.beyondLease", wait.beyondLease, WAIT_RANGE);
    return { waitMs: blockedMs + beyondLeaseMs, beyondLeaseMs };
  }
  const waitMs = durationMs("wait", wait as Duration, { ...WAIT_RANGE, leastMs: 0 });
  if (waitMs !== 0) durationMs("wait", wait as Duration, WAIT_RANGE);
  return { waitMs, beyondLeaseMs: undefined };
}

function checkStrategy({ strategy, dynamodb }: ObjectCommitterOptions): Strategy {
  const asked = strategy ?? (COMMIT_DEFAULTS.strategy as Strategy);
  if (!STRATEGIES.includes(asked)) {
    throw refuse(
      `The option \`strategy\` must be one of ${STRATEGIES.join(", ")}; it is ${valueText(asked)}.`,
    );
  }
  if ((asked === "dynamo" || asked === "both") && dynamodb === undefined) {
    throw refuse(`The strategy "${asked}" needs the option \`dynamodb\`: a client and a table.`);
  }
  return asked;
}

function checkRate(rate: number): number {
  if (typeof rate === "number" && rate >= 2 && rate <= 100) return rate;
  throw refuse(
    `The option \`dynamodb.maxClockSkewRate\` must lie between 2 and 100; it is ${valueText(rate)}.`,
  );
}

function checkTimeouts(timeoutMs: number, rate: number, ttlMs: number): void {
  // The Rust crate cannot read a fraction.
  if (!Number.isInteger(timeoutMs)) {
    throw refuse(
      `The option \`dynamodb.timeout\` must be a whole number of milliseconds; it is ${timeoutMs}.`,
    );
  }
  if (ttlMs >= timeoutMs * rate) return;
  throw refuse(
    `The option \`dynamodb.ttl\` (${ttlMs} ms) must not be shorter than \`timeout\` times ` +
      `\`maxClockSkewRate\` (${timeoutMs * rate} ms): TTL must not delete a record during a wait.`,
  );
}

function checkText(option: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw refuse(`The option \`${option}\` must be a string that is not empty.`);
}
