import {
  DeleteItemCommand,
  GetItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { type HoldfastError, isHoldfastError } from "../errors.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { sleep } from "../internal/sleep.js";
import { nativeFormat } from "../native/native.js";
import { type Clock, systemClock } from "../platform/clock.js";
import { answerOf } from "../platform/dynamodb/errors.js";
import { waitingForConnection, withoutRetries } from "../platform/dynamodb/sdk.js";
import type { Item } from "../platform/table.js";
import { systemTimers } from "../platform/timers.js";
import { Dates } from "./dates.js";
import {
  type Defect,
  keyDefects,
  replicaDefects,
  replicationText,
  statusDefects,
  ttlDefects,
} from "./defects.js";
import { type Finding, ok } from "./finding.js";
import {
  type KeyKind,
  listsRecords,
  type PolicyFeature,
  policyFor,
  type RecordAction,
  recordAccesses,
} from "./policy.js";
import { ringFindings, ringPlaces } from "./rings.js";
import { schemaFor } from "./schema.js";
import {
  answerWithin,
  type CheckTableOptions,
  checkTableClient,
  describe,
  ttlOf,
} from "./table.js";

/** Options of {@link diagnose}. */
export interface DiagnoseOptions extends Omit<CheckTableOptions, "format"> {
  /** The features that the process uses, as in `policyFor()`. Default `["lock"]`. */
  readonly for?: readonly Exclude<PolicyFeature, "object-commit">[] | undefined;
  /** The prefix of the probed names, if the process has access only to such names. Default none. */
  readonly prefix?: string | undefined;
  /**
   * Addresses of clients with `ring()`, such as `"10.0.3.7:7420"`: whether this machine can ring them. Takes up to 4 s. Default
   * none.
   */
  readonly rings?: readonly string[] | undefined;
  /** Wall-clock time, for tests. Default: this machine's. */
  readonly clock?: Pick<Clock, "wallMs"> | undefined;
}

const DIAGNOSE_NAMES: OptionNames<DiagnoseOptions> = {
  client: true,
  table: true,
  keys: true,
  homeRegion: true,
  for: true,
  prefix: true,
  rings: true,
  clock: true,
};

const PROBE_MS = 5_000;
const SLOW_MS = 1_000;
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
 * features need with its latency, this machine's clock against the table's clock, and whether the `Date`s of the
 * table's answers follow the time. Writes nothing: the probes are writes with impossible conditions, and reads of
 * unused names. Sends two requests about the table and, for each feature, one to seven probes of one or two units
 * each, and repeats the first probe two seconds later if the `Date` has not moved meanwhile. Connects to the addresses in
 * `rings`, and tells no client there that somebody waits. Throws `invalid-argument`; every other failure is a finding.
 */
export async function diagnose(options: DiagnoseOptions): Promise<Finding[]> {
  checkNames("diagnose()", options, DIAGNOSE_NAMES);
  checkTableClient(options);
  checkFeatures(options);
  const places = ringPlaces(options.rings);
  const waiting = waitingForConnection(options.client);
  const ringing = ringFindings(places);
  const shape = await examineShape(options);
  // For a missing or unreachable table every probe would repeat the same finding.
  const isHopeless = ({ check, code }: Finding): boolean =>
    (check === "table" || check === "key") && code !== undefined && code !== "access-denied";
  if (shape.some(isHopeless)) return [...shape, ...(await ringing)];
  const probes = new Probes(options);
  const probed: Finding[] = [];
  // One at a time, so that each latency is measured alone.
  for (const probe of probes.all()) probed.push(await probe());
  await probes.repeatLater();
  const rest = [...probes.dates.findings(), ...connectionFindings(waiting)];
  return [...shape, ...probed, ...rest, ...(await ringing)];
}

/** A client of a running program may have other requests, which delay the renewals of its leases. */
function connectionFindings(waiting: number): Finding[] {
  if (waiting === 0) return [];
  return [
    {
      check: "connections",
      level: "warning",
      message: `${waiting} requests of this program wait for a connection of the DynamoDB client.`,
      fix: "Give the locks a DynamoDBClient of their own, so that renewals do not wait behind other requests.",
      code: undefined,
      latencyMs: undefined,
    },
  ];
}

function checkFeatures({ for: features = ["lock"], table, prefix = "" }: DiagnoseOptions): void {
  policyFor({ for: features, table, prefixes: prefix === "" ? [] : [prefix] });
  if (!(features as readonly PolicyFeature[]).includes("object-commit")) return;
  throw refuse(
    "diagnose() does not check tables of commit records. Use checkTable(), or " +
      "`holdfast table check --format object-commit`.",
  );
}

async function examineShape(options: DiagnoseOptions): Promise<Finding[]> {
  const schema = schemaFor("native", options.keys);
  return examined("table", options, async () => {
    const description = await describe(options);
    return [
      ...findingsOf("table", statusDefects(description), `Table "${options.table}" is active.`),
      ...findingsOf("key", keyDefects(description, schema), "The table has the configured key."),
      // A role may describe the table, and not its TTL: then the other findings still count.
      ...(await examined("ttl", options, async () =>
        findingsOf("ttl", ttlDefects(await ttlOf(options), schema), "TTL is on."),
      )),
      ...findingsOf(
        "replication",
        replicaDefects(description, options.homeRegion),
        replicationText(description, options.homeRegion),
      ),
    ];
  });
}

/** Returns the findings, or the one of the error that ended the examination. */
async function examined(
  check: Finding["check"],
  options: DiagnoseOptions,
  examine: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await examine();
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return [troubleOf(check, error, needsDescription(options))];
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
      : error.code === "misconfigured"
        ? undefined // The message has the step.
        : "Check the table's name, the region, the endpoint and the network.",
    code: isOptional ? undefined : error.code,
    latencyMs,
  };
}

/** The probes of one diagnosis, and their evidence about the clock. */
class Probes {
  readonly #options: DiagnoseOptions;
  readonly #client: ReturnType<typeof withoutRetries>;
  readonly #features: readonly PolicyFeature[];
  readonly #prefix: string;
  readonly dates: Dates;

  constructor(options: DiagnoseOptions) {
    this.#options = options;
    const { clock = systemClock } = options;
    this.dates = new Dates({
      wallMs: () => clock.wallMs(),
      monotonicMs: () => systemClock.monotonicMs(),
    });
    this.#features = options.for ?? ["lock"];
    this.#prefix = options.prefix ?? "";
    this.#client = withoutRetries(options.client, (date) => this.dates.see(date));
  }

  all(): (() => Promise<Finding>)[] {
    const onRecords = recordAccesses(this.#features).flatMap(({ action, kinds }) =>
      kinds.map((kind) => () => this.#probe(action, kind)),
    );
    const scan = new ScanCommand({ TableName: this.#options.table, Limit: 1 });
    // A policy with a prefix allows no scan.
    return listsRecords(this.#features) && this.#prefix === ""
      ? [...onRecords, () => this.#send("Scan", "", scan)]
      : onRecords;
  }

  /** Repeats the first probe after a pause: only a later answer shows whether the `Date` of the table moves. */
  async repeatLater(): Promise<void> {
    const { pauseMs } = this.dates;
    const [first] = this.all();
    if (pauseMs === 0) return;
    await sleep(systemTimers, pauseMs, true);
    await first?.();
  }

  #probe(action: RecordAction, kind: KeyKind): Promise<Finding> {
    const { keys } = schemaFor("native", this.#options.keys);
    const name = this.#prefix + PROBED_NAME;
    const { codec, queue } = nativeFormat(keys);
    const ref = codec.refOf(kind === "queue" ? "lock" : kind, name);
    const { key } = kind === "queue" ? (queue?.entryOf(ref, 0n) ?? ref) : ref;
    return this.#send(action, ` on ${kind}#${name}`, this.#command(action, key, keys.pk));
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
    this.dates.sending();
    const answer = await answerWithin(this.#client, command, PROBE_MS, (error) =>
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
}
