import {
  DeleteItemCommand,
  GetItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Kind } from "../core/record/format.js";
import { type ErrorCode, HoldfastError, isHoldfastError } from "../errors.js";
import { nativeFormat } from "../formats/native.js";
import { abortSignalOf } from "../platform/abort.js";
import { Bounds } from "../platform/bounded.js";
import { type Clock, epochMsOf, systemClock } from "../platform/clock.js";
import { answerOf } from "../platform/dynamodb/errors.js";
import { withoutRetries } from "../platform/dynamodb/sdk.js";
import type { Item } from "../platform/table.js";
import { systemTimers } from "../platform/timers.js";
import { type Defect, keyDefects, regionsOf, replicaDefects, ttlDefects } from "./defects.js";
import {
  listsRecords,
  type PolicyFeature,
  policyFor,
  type RecordAction,
  recordAccesses,
} from "./policy.js";
import { schemaFor } from "./schema.js";
import { type CheckTableOptions, describe, ttlOf } from "./table.js";

/** Options of {@link diagnose}. */
export interface DiagnoseOptions extends Omit<CheckTableOptions, "format"> {
  /** The features that the process uses, as in `policyFor()`. Default `["lock"]`. */
  readonly for?: readonly Exclude<PolicyFeature, "object-commit">[] | undefined;
  /** The prefix of the probed names, if the process has access only to such names. Default none. */
  readonly prefix?: string | undefined;
  /** Civil time, for tests. Default: this machine's. */
  readonly clock?: Pick<Clock, "wallMs"> | undefined;
}

/** One result of the diagnosis. */
export interface Finding {
  readonly check: "table" | "key" | "ttl" | "replication" | "permission" | "latency" | "clock";
  /** `problem`: a feature will fail. `warning`: the feature works with a restriction. */
  readonly level: "ok" | "warning" | "problem";
  readonly message: string;
  /** How to fix the finding; undefined if no action is needed. */
  readonly fix: string | undefined;
  /** The error code that clients will meet, for a problem. */
  readonly code: ErrorCode | undefined;
  /** How long a probe took, in milliseconds. */
  readonly latencyMs: number | undefined;
}

const PROBE_MS = 5_000;
const SLOW_MS = 1_000;
// The header has whole seconds, and synchronised clocks differ by less.
const SKEW_MS = 5_000;
const PROBED_NAME = "holdfast-diagnose";
const NEVER = "attribute_exists(#k) AND attribute_not_exists(#k)";

const partitionOf = (key: Item, pk: string) => ({
  KeyConditionExpression: "#k = :k",
  ExpressionAttributeNames: { "#k": pk },
  ExpressionAttributeValues: {
    ":k": key[pk],
  } as QueryCommand["input"]["ExpressionAttributeValues"],
});

/**
 * Diagnoses a table with the caller's credentials. Checks key, TTL and replication, each permission that the
 * features need with its latency, and this machine's clock against the table's clock. Writes nothing: the
 * probes are writes with impossible conditions, and reads of unused names. Sends two requests about the table
 * and, for each feature, one to seven probes of one or two units each. Throws `invalid-argument`; every other
 * failure is a finding.
 */
export async function diagnose(options: DiagnoseOptions): Promise<Finding[]> {
  checkFeatures(options);
  const shape = await examineShape(options);
  // For a missing or unreachable table every probe would repeat the same finding.
  const isHopeless = ({ check, code }: Finding): boolean =>
    (check === "table" || check === "key") && code !== undefined && code !== "access-denied";
  if (shape.some(isHopeless)) return shape;
  const probes = new Probes(options);
  const probed: Finding[] = [];
  // One at a time, so that each latency is measured alone.
  for (const probe of probes.all()) probed.push(await probe());
  return [...shape, ...probed, ...probes.clockFindings()];
}

const ok = (check: Finding["check"], message: string, latencyMs?: number): Finding => ({
  check,
  level: "ok",
  message,
  fix: undefined,
  code: undefined,
  latencyMs,
});

function checkFeatures({ for: features = ["lock"], table }: DiagnoseOptions): void {
  policyFor({ for: features, table });
  if (!(features as readonly PolicyFeature[]).includes("object-commit")) return;
  throw new HoldfastError(
    "invalid-argument",
    "diagnose() does not check tables of commit records. Use checkTable(), or " +
      "`holdfast table check --format object-commit`.",
  );
}

async function examineShape(options: DiagnoseOptions): Promise<Finding[]> {
  const schema = schemaFor("native", options.keys);
  try {
    const description = await describe(options);
    const regions = regionsOf(description);
    return [
      ok("table", `Table "${options.table}" is ${description.TableStatus?.toLowerCase()}.`),
      ...findingsOf("key", keyDefects(description, schema), "The table has the configured key."),
      ...findingsOf("ttl", ttlDefects(await ttlOf(options), schema), "TTL is on."),
      ...findingsOf(
        "replication",
        replicaDefects(description, options.homeRegion),
        regions.length === 0
          ? "The table is in one region."
          : `The table is replicated to ${regions.join(", ")}, with strong consistency; locks are safe.`,
      ),
    ];
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return [troubleOf("table", error, needsDescription(options))];
  }
}

function findingsOf(check: Defect["check"], defects: readonly Defect[], fine: string): Finding[] {
  if (defects.length === 0) return [ok(check, fine)];
  return defects.map(({ message, fix }) => ({
    check,
    level: "problem",
    message: `${message}.`,
    fix: fix.charAt(0).toUpperCase() + fix.slice(1),
    code: "misconfigured",
    latencyMs: undefined,
  }));
}

// Holders do not need permission to describe the table.
function needsDescription({ for: features = [] }: DiagnoseOptions): boolean {
  return features.includes("operate") || features.includes("table");
}

function troubleOf(
  check: Finding["check"],
  error: HoldfastError,
  isNeeded: boolean,
  latencyMs?: number,
): Finding {
  const isDenied = error.code === "access-denied";
  const isOptional = isDenied && !isNeeded;
  return {
    check,
    level: isOptional ? "warning" : "problem",
    message: error.message,
    fix: isDenied
      ? isOptional
        ? "If another role checks the table, do nothing. Otherwise allow the actions of `holdfast table policy --for operate`."
        : "Allow the actions that `holdfast table policy` prints for this process."
      : "Check the table's name, the region, the endpoint and the network.",
    code: isOptional ? undefined : error.code,
    latencyMs,
  };
}

/** The probes of one diagnosis, and their evidence about the clock. */
class Probes {
  readonly #options: DiagnoseOptions;
  readonly #client: ReturnType<typeof withoutRetries>;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #features: readonly PolicyFeature[];
  readonly #aheadMs: number[] = [];
  #sentMs = 0;

  constructor(options: DiagnoseOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#features = options.for ?? ["lock"];
    this.#client = withoutRetries(options.client, (date) => this.#compare(date));
  }

  all(): (() => Promise<Finding>)[] {
    const onRecords = recordAccesses(this.#features).flatMap(({ action, kinds }) =>
      kinds.map((kind) => () => this.#probe(action, kind)),
    );
    const scan = new ScanCommand({ TableName: this.#options.table, Limit: 1 });
    return listsRecords(this.#features)
      ? [...onRecords, () => this.#send("Scan", "", scan)]
      : onRecords;
  }

  /** By how much the two clocks differ at least, as far as all answers say. */
  clockFindings(): Finding[] {
    if (this.#aheadMs.length === 0) return [];
    const aheadMs = this.#aheadMs.reduce((a, b) => (Math.abs(a) < Math.abs(b) ? a : b));
    if (Math.abs(aheadMs) <= SKEW_MS) {
      return [ok("clock", "This machine's clock agrees with the table's.")];
    }
    const way = aheadMs > 0 ? "behind" : "ahead of";
    return [
      {
        check: "clock",
        level: "warning",
        message:
          `This machine's clock is at least ${Math.floor(Math.abs(aheadMs) / 1000)} s ${way} the table's. Leases do not ` +
          "depend on this machine's clock, but displayed times and the first fence of a lock do. At a difference of " +
          "15 minutes signatures fail until the SDK has corrected itself.",
        fix: "Synchronise the clock (NTP).",
        code: undefined,
        latencyMs: undefined,
      },
    ];
  }

  #probe(action: RecordAction, kind: Kind): Promise<Finding> {
    const { keys } = schemaFor("native", this.#options.keys);
    const name = (kind === "session" ? "" : (this.#options.prefix ?? "")) + PROBED_NAME;
    const { key, id } = nativeFormat(keys).codec.refOf(kind, name);
    return this.#send(action, ` on ${id}`, this.#command(action, key, keys.pk));
  }

  #command(action: RecordAction, key: Item, pk: string): unknown {
    const TableName = this.#options.table;
    const Key = key as GetItemCommand["input"]["Key"];
    const never = { ConditionExpression: NEVER, ExpressionAttributeNames: { "#k": pk } };
    if (action === "GetItem") return new GetItemCommand({ TableName, Key });
    if (action === "UpdateItem") return new UpdateItemCommand({ TableName, Key, ...never });
    if (action === "DeleteItem") return new DeleteItemCommand({ TableName, Key, ...never });
    if (action === "Query")
      return new QueryCommand({ TableName, ...partitionOf(key, pk), Limit: 1 });
    const check = { ConditionCheck: { TableName, Key, ...never } };
    return new TransactWriteItemsCommand({ TransactItems: [check] });
  }

  async #send(action: string, where: string, command: unknown): Promise<Finding> {
    const startMs = systemClock.monotonicMs();
    this.#sentMs = this.#clock.wallMs();
    const bounds = new Bounds(systemTimers, { timeoutMs: PROBE_MS });
    // Async, so that a client that throws at once rejects.
    const send = async (): Promise<unknown> =>
      this.#client.send(command as GetItemCommand, { abortSignal: abortSignalOf(bounds.signal) });
    const answer = await bounds.answerTo(send(), (error) =>
      (error as { name?: unknown }).name === "TransactionCanceledException"
        ? ({ kind: "refused" } as const)
        : answerOf(error, this.#options.table, action),
    );
    const latencyMs = Math.round(systemClock.monotonicMs() - startMs);
    const what = `dynamodb:${action}${where}`;
    if (answer.kind === "misconfigured") {
      return troubleOf("permission", answer.error, true, latencyMs);
    }
    if (answer.kind === "output" || answer.kind === "refused") {
      if (latencyMs <= SLOW_MS) return ok("permission", `${what} is allowed.`, latencyMs);
      return {
        ...ok("latency", `${what} is allowed, and took ${latencyMs} ms.`, latencyMs),
        level: "warning",
        fix: "Check the network and the region. Use leases of much more than ten times this latency.",
      };
    }
    const isThrottled = answer.kind !== "unknown" && answer.kind !== "skewed";
    return {
      check: "latency",
      level: "problem",
      message: isThrottled
        ? `DynamoDB refused ${what} for now.`
        : `DynamoDB did not answer ${what} within ${latencyMs} ms.`,
      fix: isThrottled
        ? "Check the table's capacity and its throttling metrics."
        : "Check the endpoint, the region and the network.",
      code: isThrottled ? "throttled" : "unreachable",
      latencyMs,
    };
  }

  #compare(date: string | undefined): void {
    const serverMs = epochMsOf(date);
    if (serverMs === undefined) return;
    // The header was cut to a second, and made at some instant between sending and now.
    const leastMs = serverMs - this.#clock.wallMs();
    const mostMs = serverMs + 1_000 - this.#sentMs;
    this.#aheadMs.push(leastMs > 0 ? leastMs : Math.min(0, mostMs));
  }
}
