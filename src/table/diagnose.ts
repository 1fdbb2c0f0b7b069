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
import { bounded } from "../platform/bounded.js";
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
  /** What the process does with the table, as for `policyFor()`. Default `["lock"]`. */
  readonly for?: readonly Exclude<PolicyFeature, "object-commit">[] | undefined;
  /** What the probed names begin with, where the process may only touch such. Default none. */
  readonly prefix?: string | undefined;
  /** Civil time, for tests. Default: this machine's. */
  readonly clock?: Pick<Clock, "wallMs"> | undefined;
}

/** One thing that was looked at. */
export interface Finding {
  readonly check: "table" | "key" | "ttl" | "replication" | "permission" | "latency" | "clock";
  /** `problem`: something will not work. `warning`: it will, with a reservation. */
  readonly level: "ok" | "warning" | "problem";
  readonly message: string;
  /** What to do about it; undefined where nothing is to be done. */
  readonly fix: string | undefined;
  /** With a problem: the code of the error that it will be met as. */
  readonly code: ErrorCode | undefined;
  /** How long a probe took, in milliseconds. */
  readonly latencyMs: number | undefined;
}

const PROBE_MS = 5_000;
const SLOW_MS = 1_000;
// The header has whole seconds, and synchronised clocks differ by less.
const SKEW_MS = 5_000;
const PROBED_NAME = "holdfast-doctor";
const NEVER = "attribute_exists(#k) AND attribute_not_exists(#k)";

const partitionOf = (key: Item, pk: string) => ({
  KeyConditionExpression: "#k = :k",
  ExpressionAttributeNames: { "#k": pk },
  ExpressionAttributeValues: {
    ":k": key[pk],
  } as QueryCommand["input"]["ExpressionAttributeValues"],
});

/**
 * Looks at a table and at what these credentials may do with it: its key, TTL and replication; each
 * permission that the features need, with the time that it took; this machine's clock against the table's.
 * Writes nothing: the probes are writes whose conditions cannot hold, and reads of names that nobody uses.
 * Two requests about the table, and for each feature one to seven probes, of a unit or two each. Throws
 * `invalid-argument`; everything else is a finding.
 */
export async function diagnose(options: DiagnoseOptions): Promise<Finding[]> {
  checkFeatures(options);
  const shape = await examineShape(options);
  // Where there is no such table, or nobody answers, every probe would say so again.
  const isHopeless = ({ check, code }: Finding): boolean =>
    (check === "table" || check === "key") && code !== undefined && code !== "access-denied";
  if (shape.some(isHopeless)) return shape;
  const probes = new Probes(options);
  const probed: Finding[] = [];
  // One by one: each is to be timed by itself.
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
    "A table of commit records is checked by checkTable(), or `holdfast table check --format object-commit`.",
  );
}

async function examineShape(options: DiagnoseOptions): Promise<Finding[]> {
  const schema = schemaFor("native", options.keys);
  try {
    const description = await describe(options);
    const regions = regionsOf(description);
    return [
      ok("table", `Table "${options.table}" is ${description.TableStatus?.toLowerCase()}.`),
      ...findingsOf("key", keyDefects(description, schema), "Its key is the one configured."),
      ...findingsOf("ttl", ttlDefects(await ttlOf(options), schema), "TTL is on."),
      ...findingsOf(
        "replication",
        replicaDefects(description, options.homeRegion),
        regions.length === 0
          ? "It is in one region."
          : `It is replicated to ${regions.join(", ")}, and locks can rely on it.`,
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

// Holders need not be able to look at the table itself.
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
        ? "Nothing, if another role looks at the table; else allow what `holdfast table policy --for operate` prints."
        : "Allow what `holdfast table policy` prints for this process."
      : "Check the table's name, the region, the endpoint and the network.",
    code: isOptional ? undefined : error.code,
    latencyMs,
  };
}

/** The probes of one examination, and what their answers say of the clock. */
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
          "depend on it; times shown to people do, signatures fail at 15 minutes until the SDK has corrected " +
          "itself, and fences start from it.",
        fix: "Synchronise the clock (NTP).",
        code: undefined,
        latencyMs: undefined,
      },
    ];
  }

  #probe(action: RecordAction, kind: Kind): Promise<Finding> {
    const { keys } = schemaFor("native", this.#options.keys);
    const name = (kind === "session" ? "" : (this.#options.prefix ?? "")) + PROBED_NAME;
    const { key, id } = nativeFormat(keys).refOf(kind, name);
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
    const answer = await bounded(
      systemTimers,
      { timeoutMs: PROBE_MS },
      (signal) =>
        this.#client.send(command as GetItemCommand, { abortSignal: abortSignalOf(signal) }),
      (error) =>
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
        fix: "Look at the network and the region, and keep leases well above ten times that.",
      };
    }
    const isThrottled = answer.kind !== "unknown" && answer.kind !== "skewed";
    return {
      check: "latency",
      level: "problem",
      message: `${what} was ${isThrottled ? "refused for now" : `not answered within ${latencyMs} ms`}.`,
      fix: isThrottled
        ? "Look at the table's capacity and its throttling metrics."
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
