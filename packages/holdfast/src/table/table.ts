import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type TableDescription,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import type { LockFormat } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { sleep } from "../internal/sleep.js";
import { abortSignalOf } from "../platform/abort.js";
import { Bounds } from "../platform/bounded.js";
import { systemClock } from "../platform/clock.js";
import { answerOf } from "../platform/dynamodb/errors.js";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";
import { isTransport } from "../platform/dynamodb/sender.js";
import { checkTarget } from "../platform/dynamodb/target.js";
import type { Unknown } from "../platform/table.js";
import { systemTimers } from "../platform/timers.js";
import {
  keyDefects,
  regionsOf,
  replicaDefects,
  statusDefects,
  type Ttl,
  ttlDefects,
} from "./defects.js";
import { keySchemaOf, schemaFor, type TableFormat, type TableKeys } from "./schema.js";

/** Which table, and through which client. */
export interface TableOptions {
  /** An SDK v3 `DynamoDBClient`, or a document client. */
  readonly client: DynamoDBLike;
  /** The table's name. */
  readonly table: string;
  /** The names of the key attributes. Default `pk` and `sk`. */
  readonly keys?: TableKeys | undefined;
  /**
   * The use of the table. Default `native`: locks. `object-commit`, and the formats of `@holdfast/formats`, have
   * fixed keys.
   */
  readonly format?: TableFormat | LockFormat | undefined;
}

const TABLE_NAMES: OptionNames<TableOptions> = {
  client: true,
  table: true,
  keys: true,
  format: true,
};

/** Options of {@link createTable}. */
export interface CreateTableOptions extends CheckTableOptions {
  /** For how long to wait until the table is active. Default 60 s. */
  readonly wait?: Duration | undefined;
}

/** Options of {@link checkTable}. */
export interface CheckTableOptions extends TableOptions {
  /**
   * The one region in which every client takes its locks, for a table replicated without strong consistency.
   * Locks taken in another region do not exclude each other.
   */
  readonly homeRegion?: string | undefined;
}

const CHECK_NAMES: OptionNames<CheckTableOptions> = { ...TABLE_NAMES, homeRegion: true };
const CREATE_NAMES: OptionNames<CreateTableOptions> = { ...CHECK_NAMES, wait: true };

/** The facts about a table that {@link checkTable} accepted. */
export interface TableReport {
  readonly table: string;
  readonly keys: { readonly pk: string; readonly sk: string | null };
  /** The TTL attribute; null for a format with TTL off. */
  readonly ttlAttribute: string | null;
  readonly billing: "on-demand" | "provisioned";
  /** The regions of the table's replicas; empty for a table of one region. */
  readonly replicas: readonly string[];
}

const POLL_MS = 250;
// An endpoint may take a request and never answer, and by default the SDK waits for ever.
const ANSWER_MS = 10_000;
// So much has a request at the end of `wait`.
const LEAST_ANSWER_MS = 1_000;

/**
 * Creates a table for locks, or for `format`, and waits until the table is active. The table has on-demand
 * billing and TTL on. An existing table with the right key keeps its settings, but gets TTL if it has none. Needs
 * `dynamodb:CreateTable`, `DescribeTable`, `UpdateTimeToLive` and `DescribeTimeToLive`, which holders of locks do not
 * need. Throws `invalid-argument`, `misconfigured` (a table of this name has another shape), `access-denied`,
 * `unreachable`, `throttled`.
 */
export async function createTable(options: CreateTableOptions): Promise<TableReport> {
  const { table } = checkNames("createTable()", options, CREATE_NAMES);
  checkTableClient(options);
  const schema = schemaFor(options.format, options.keys);
  const { keys, ttlAttribute } = schema;
  const waitMs = durationMs("wait", options.wait ?? "60s", { leastMs: 0, mostMs: 3_600_000 });
  await call(
    options,
    new CreateTableCommand({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: keySchemaOf(keys),
      AttributeDefinitions: keySchemaOf(keys).map(({ AttributeName }) => ({
        AttributeName,
        AttributeType: "S" as const,
      })),
    }),
    "ResourceInUseException",
  );
  const endMs = systemClock.monotonicMs() + waitMs;
  const description = await untilActive(options, waitMs);
  // Checked before any change: TTL would start to delete items of a table with another purpose.
  if (ttlAttribute !== null && keyDefects(description, schema).length === 0) {
    await turnTtlOn(options, ttlAttribute, endMs);
  }
  return check(options);
}

/**
 * Checks that a table is fit for locks. The table must exist with the expected key, TTL must use the right attribute,
 * and no two regions may both grant a lock. Throws a single `misconfigured`, which lists each finding with the fix;
 * also `invalid-argument`, `access-denied` and `unreachable`. Sends two requests, which need `dynamodb:DescribeTable`
 * and `dynamodb:DescribeTimeToLive`.
 */
export async function checkTable(options: CheckTableOptions): Promise<TableReport> {
  checkTableClient(checkNames("checkTable()", options, CHECK_NAMES));
  return check(options);
}

async function check(options: CheckTableOptions): Promise<TableReport> {
  const schema = schemaFor(options.format, options.keys);
  const description = await describe(options);
  const ttl = await ttlOf(options);
  const defects = [
    ...statusDefects(description),
    ...keyDefects(description, schema, options.format),
    ...ttlDefects(ttl, schema),
    ...replicaDefects(description, options.homeRegion),
  ];
  if (defects.length > 0) {
    const findings = defects.map(({ message, fix }) => `${message}: ${fix}`);
    throw new HoldfastError(
      "misconfigured",
      `Table "${options.table}" cannot store ${whatFor(options)}. ${findings.join(" ")}`,
    );
  }
  return {
    table: options.table,
    keys: schema.keys,
    ttlAttribute: schema.ttlAttribute,
    billing:
      description.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST"
        ? "on-demand"
        : "provisioned",
    replicas: regionsOf(description),
  };
}

function whatFor({ format }: TableOptions): string {
  return format === "object-commit" ? "commit records" : "locks";
}

async function turnTtlOn(options: TableOptions, attribute: string, endMs: number): Promise<void> {
  const { attribute: present } = await ttlOf(options);
  if (present !== undefined) return;
  const command = new UpdateTimeToLiveCommand({
    TableName: options.table,
    TimeToLiveSpecification: { Enabled: true, AttributeName: attribute },
  });
  try {
    await call(options, command);
  } catch (error) {
    // Another client may have turned TTL on in the meantime, which is fine.
    if ((await ttlOf(options)).attribute === attribute) return;
    // DynamoDB changes no TTL while it makes another change of the table.
    const isBusy = Object(Object(error).cause).name === "ResourceInUseException";
    if (!isBusy) throw error;
    if (systemClock.monotonicMs() >= endMs) {
      throw new HoldfastError(
        "unreachable",
        `Table "${options.table}" is being updated, so its TTL was not turned on. Run the same call or command again later.`,
        { cause: error },
      );
    }
    await sleep(systemTimers, POLL_MS, true);
    return turnTtlOn(options, attribute, endMs);
  }
}

async function untilActive(options: TableOptions, waitMs: number): Promise<TableDescription> {
  const startMs = systemClock.monotonicMs();
  for (;;) {
    // Right after its creation a table may be unknown to the next request.
    const leftMs = startMs + waitMs - systemClock.monotonicMs();
    const answerMs = Math.min(ANSWER_MS, Math.max(leftMs, LEAST_ANSWER_MS));
    const description = await describe(options, "ResourceNotFoundException", answerMs);
    const { TableStatus: status } = description;
    // Unknown before the service knows of the table.
    if (status !== undefined && statusDefects(description).length === 0) return description;
    if (systemClock.monotonicMs() - startMs >= waitMs) {
      throw new HoldfastError(
        "unreachable",
        `Table "${options.table}" is not active after ${waitMs} ms; its status is ${status ?? "unknown"}. ` +
          "Run the same call or command again later.",
      );
    }
    await sleep(systemTimers, POLL_MS, true);
  }
}

/** Checks which table, and through which client. Throws `invalid-argument`. */
export function checkTableClient({ client, table }: TableOptions): void {
  checkTarget({ client, table });
  if (!isTransport(client)) return;
  throw refuse(
    `Table "${table}" cannot be created or checked with lean(). Pass the DynamoDBClient that lean() got.`,
  );
}

/** The table's description. Throws coded errors. */
export async function describe(
  options: TableOptions,
  expected?: string,
  answerMs?: number,
): Promise<TableDescription> {
  const command = new DescribeTableCommand({ TableName: options.table });
  const output = (await call(options, command, expected, answerMs)) as { Table?: TableDescription };
  return output.Table ?? {};
}

/** The TTL attribute of a table. Throws coded errors. */
export async function ttlOf(options: TableOptions): Promise<Ttl> {
  const command = new DescribeTimeToLiveCommand({ TableName: options.table });
  const output = (await call(options, command)) as {
    TimeToLiveDescription?: { TimeToLiveStatus?: string; AttributeName?: string };
  };
  const { TimeToLiveStatus: status, AttributeName } = output.TimeToLiveDescription ?? {};
  const isOff = status === undefined || status === "DISABLED";
  return { attribute: isOff ? undefined : AttributeName, isEnding: status === "DISABLING" };
}

/** Sends one command, and waits for its answer for so long; `otherwise` makes an answer of an error. */
export function answerWithin<A>(
  client: DynamoDBLike,
  command: unknown,
  timeoutMs: number,
  otherwise: (error: unknown) => A,
) {
  const bounds = new Bounds(systemTimers, { timeoutMs });
  const how = { abortSignal: abortSignalOf(bounds.signal) };
  // Async, so that an exception which the client throws synchronously becomes a rejection.
  const send = async (): Promise<unknown> => client.send(command as never, how);
  return bounds.answerTo(send(), otherwise);
}

/** Sends one command and turns SDK errors into coded errors. Returns undefined for the `expected` error. */
async function call(
  options: TableOptions,
  command: unknown,
  expected?: string,
  answerMs = ANSWER_MS,
): Promise<unknown> {
  try {
    const answer = await answerWithin(
      options.client,
      command,
      answerMs,
      (cause): Unknown => ({
        kind: "unknown",
        cause,
      }),
    );
    if (answer.kind === "unknown") throw answer.cause;
    const { output } = answer;
    // A wrapper of a client may answer with nothing.
    if (Object(output) !== output) throw new Error("The answer has no output.");
    return output;
  } catch (error) {
    const { name } = Object(error) as { name?: unknown };
    if (expected !== undefined && name === expected) return {};
    const answer = answerOf(error, options.table, operationOf(command));
    if (answer.kind === "misconfigured") throw answer.error;
    throw new HoldfastError(
      answer.kind === "throttled" ? "throttled" : "unreachable",
      `${operationOf(command)} of table "${options.table}" failed${causeText(error)}. ` +
        "Check the endpoint, the region and the network.",
      { cause: error },
    );
  }
}

// By instance, not by the class's name, which a bundler may have shortened.
function operationOf(command: unknown): string {
  if (command instanceof CreateTableCommand) return "CreateTable";
  if (command instanceof DescribeTableCommand) return "DescribeTable";
  return command instanceof UpdateTimeToLiveCommand ? "UpdateTimeToLive" : "DescribeTimeToLive";
}
