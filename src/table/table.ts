import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type TableDescription,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { HoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { sleep } from "../internal/sleep.js";
import type { LockFormat } from "../lease/shape.js";
import { systemClock } from "../platform/clock.js";
import type { DynamoDBLike } from "../platform/dynamodb.js";
import { answerOf } from "../platform/dynamodb-errors.js";
import { systemTimers } from "../platform/timers.js";
import {
  keySchemaOf,
  schemaFor,
  type TableFormat,
  type TableKeys,
  type TableSchema,
} from "./schema.js";

/** Which table, and through which client. */
export interface TableOptions {
  /** An SDK v3 `DynamoDBClient`, or a document client. */
  readonly client: DynamoDBLike;
  /** The table's name. */
  readonly table: string;
  /** The names of its key attributes. Default `pk` and `sk`. */
  readonly keys?: TableKeys | undefined;
  /**
   * What the table is for. Default `native`: locks. With `object-commit`, and with a format of
   * `holdfast/formats`, its keys are given.
   */
  readonly format?: TableFormat | LockFormat | undefined;
}

/** Options of {@link createTable}. */
export interface CreateTableOptions extends TableOptions {
  /** For how long to wait until the table is active. Default 60 s. */
  readonly wait?: Duration | undefined;
}

/** Options of {@link checkTable}. */
export interface CheckTableOptions extends TableOptions {
  /**
   * With a table that is replicated without strong consistency: the one region in which every client
   * takes its locks. Only there are they locks.
   */
  readonly homeRegion?: string | undefined;
}

/** What {@link checkTable} found in order. */
export interface TableReport {
  readonly table: string;
  readonly keys: { readonly pk: string; readonly sk: string | null };
  /** What TTL looks at; null for a format whose tables have it off. */
  readonly ttlAttribute: string | null;
  readonly billing: "on-demand" | "provisioned";
  /** The regions of the table's replicas; empty for a table of one region. */
  readonly replicas: readonly string[];
}

const POLL_MS = 250;

/**
 * Creates a table for locks, or what `format` says: on-demand billing, TTL on; waits until it is active. A table
 * of that name that fits already is left as it is. Needs `dynamodb:CreateTable`, `DescribeTable`,
 * `UpdateTimeToLive` and `DescribeTimeToLive`, which holders of locks do not. Throws `misconfigured`
 * (a table of that name has another shape), `access-denied`, `unreachable`.
 */
export async function createTable(options: CreateTableOptions): Promise<TableReport> {
  const { table } = options;
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
  const description = await untilActive(options, waitMs);
  // Before anything is changed: with TTL on, the items of somebody else's table would begin to expire.
  if (ttlAttribute !== null && keyFindings(description, schema).length === 0) {
    await turnTtlOn(options, ttlAttribute);
  }
  return checkTable(options);
}

/**
 * Checks that a table can keep locks: it exists, has this key, its TTL looks at the right attribute, and it is
 * not replicated in a way that lets two regions both succeed. Throws one `misconfigured` that names
 * every finding and its fix; also `access-denied` and `unreachable`. Two requests, which need
 * `dynamodb:DescribeTable` and `dynamodb:DescribeTimeToLive`.
 */
export async function checkTable(options: CheckTableOptions): Promise<TableReport> {
  const schema = schemaFor(options.format, options.keys);
  const description = await describe(options);
  const ttl = await ttlOf(options);
  const findings = [
    ...keyFindings(description, schema),
    ...ttlFindings(ttl, schema),
    ...replicaFindings(description, options.homeRegion),
  ];
  if (findings.length > 0) {
    throw new HoldfastError(
      "misconfigured",
      `Table "${options.table}" cannot keep ${whatFor(options)}. ${findings.join(" ")}`,
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

function keyFindings(description: TableDescription, { keys }: TableSchema): string[] {
  const spell = (
    schema: readonly { AttributeName?: string | undefined; KeyType?: string | undefined }[],
  ) => schema.map(({ AttributeName, KeyType }) => `${AttributeName} (${KeyType})`).join(", ");
  const found = spell(description.KeySchema ?? []);
  const expected = spell(keySchemaOf(keys));
  const types = (description.AttributeDefinitions ?? [])
    .filter(({ AttributeName }) => AttributeName === keys.pk || AttributeName === keys.sk)
    .filter(({ AttributeType }) => AttributeType !== "S");
  return [
    ...(found === expected
      ? []
      : [
          `Its key is ${found}, not ${expected}: name its attributes in \`keys\` ` +
            "(`sk: null` for none), or use another table.",
        ]),
    ...types.map(
      ({ AttributeName, AttributeType }) =>
        `Its key attribute ${AttributeName} is of type ${AttributeType}, not S: use another table.`,
    ),
  ];
}

function ttlFindings(attribute: string | undefined, schema: TableSchema): string[] {
  if (attribute === (schema.ttlAttribute ?? undefined)) return [];
  if (schema.ttlAttribute === null) {
    return [
      `Its TTL looks at \`${attribute}\`, and clients of this format never move what it reads: it may ` +
        "delete a lock that is held. Turn it off (UpdateTimeToLive).",
    ];
  }
  const fix =
    `turn it on for \`${schema.ttlAttribute}\` (UpdateTimeToLive, or \`holdfast table create\`), ` +
    "so that records of names no longer used are tidied away.";
  return attribute === undefined
    ? [`Its TTL is off: ${fix}`]
    : [`Its TTL looks at \`${attribute}\`, which deletes what it should not: ${fix}`];
}

function replicaFindings(description: TableDescription, homeRegion: string | undefined): string[] {
  const regions = regionsOf(description);
  // An older SDK does not know the field; the server's answer carries it all the same.
  const { MultiRegionConsistency } = description as { MultiRegionConsistency?: string };
  if (regions.length === 0 || MultiRegionConsistency === "STRONG") return [];
  if (homeRegion !== undefined) {
    return regions.includes(homeRegion)
      ? []
      : [
          `\`homeRegion\` is ${homeRegion}, but its replicas are in ${regions.join(", ")}: name one of them.`,
        ];
  }
  return [
    `It is replicated to ${regions.join(", ")} with the last writer winning, so two regions can both ` +
      "be granted one lock: use a table of one region, or of multi-region strong consistency, or " +
      "name the one region in which all clients take their locks as `homeRegion`.",
  ];
}

function regionsOf(description: TableDescription): string[] {
  return (description.Replicas ?? []).map(({ RegionName }) => RegionName ?? "?");
}

async function turnTtlOn(options: TableOptions, attribute: string): Promise<void> {
  if ((await ttlOf(options)) !== undefined) return;
  const command = new UpdateTimeToLiveCommand({
    TableName: options.table,
    TimeToLiveSpecification: { Enabled: true, AttributeName: attribute },
  });
  try {
    await call(options, command);
  } catch (error) {
    // Somebody else may have turned it on in the meantime; then it is as it should be.
    if ((await ttlOf(options)) !== attribute) throw error;
  }
}

async function untilActive(options: TableOptions, waitMs: number): Promise<TableDescription> {
  const startMs = systemClock.monotonicMs();
  for (;;) {
    // Right after its creation a table can be unknown to the next request.
    const description = await describe(options, "ResourceNotFoundException");
    if (description.TableStatus === "ACTIVE") return description;
    if (systemClock.monotonicMs() - startMs >= waitMs) {
      throw new HoldfastError(
        "unreachable",
        `Table "${options.table}" was created, but is not active after ${waitMs} ms. Call again later.`,
      );
    }
    await sleep(systemTimers, POLL_MS, true);
  }
}

async function describe(options: TableOptions, expected?: string): Promise<TableDescription> {
  const command = new DescribeTableCommand({ TableName: options.table });
  const output = (await call(options, command, expected)) as { Table?: TableDescription };
  return output.Table ?? {};
}

async function ttlOf(options: TableOptions): Promise<string | undefined> {
  const command = new DescribeTimeToLiveCommand({ TableName: options.table });
  const output = (await call(options, command)) as {
    TimeToLiveDescription?: { TimeToLiveStatus?: string; AttributeName?: string };
  };
  const { TimeToLiveStatus, AttributeName } = output.TimeToLiveDescription ?? {};
  return TimeToLiveStatus === "ENABLED" || TimeToLiveStatus === "ENABLING"
    ? AttributeName
    : undefined;
}

/** Sends one command, turning the SDK's errors into coded ones; `expected` is one that is none. */
async function call(options: TableOptions, command: unknown, expected?: string): Promise<unknown> {
  try {
    return await options.client.send(command as never);
  } catch (error) {
    if (expected !== undefined && (error as { name?: unknown }).name === expected) return {};
    const answer = answerOf(error, options.table, operationOf(command));
    if (answer.kind === "misconfigured") throw answer.error;
    throw new HoldfastError(
      answer.kind === "throttled" ? "throttled" : "unreachable",
      `Table "${options.table}" could not be looked at: ${error instanceof Error ? error.message : String(error)}. ` +
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
