import {
  DescribeTableCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { all, type Holdfast, type Lease, mutex } from "../../../src/index.js";
import { withoutRetries } from "../../../src/platform/dynamodb/sdk.js";
import { checkTable, diagnoseEngine } from "../../../src/table/index.js";
import type { Finding, Scene } from "../scene.js";
import { Clients, codeOf, type Ended, ended, pause } from "../steps-kit.js";
import { sweep } from "../sweep.js";
import { makeTable } from "../tables.js";
import { Times } from "./steps.js";

const PART = "global";
/** DynamoDB needs some minutes for the replicas. */
const CREATION_LIMIT_MS = 45 * 60_000;
const POLL_MS = 10_000;
const RACES = 10;
const TURNS = 5;
const HOLD_MS = 30;
const ROUNDS = 50;

const finding = (check: string, level: Finding["level"], message: string): Finding => ({
  part: PART,
  check,
  level,
  message,
});

/** Tries a global table with strong consistency, and the operations that such a table must refuse by name. */
export async function global(scene: Scene): Promise<Finding[]> {
  const { settings, names } = scene;
  const clients = new Clients();
  const regions = [settings.region, ...settings.replicas];
  const senders = regions.map((region) => scene.inRegion(region));
  try {
    await makeGlobal(scene, senders);
    const locks = senders.map((client) => clients.make({ client, table: names.global }));
    return [
      ...(await tried("refusals", () => refusals(scene, senders, locks))),
      ...(await tried("exclusion", () => exclusion(scene, locks))),
      ...(await tried("conflicts", () => conflictsSeen(scene, senders))),
      ...(await tried("engine", () => sound(scene, senders))),
      ...(await tried("sweep", () => swept(scene, senders))),
      ...(await tried("steps", () => measured(scene, locks))),
    ];
  } finally {
    await clients.close();
  }
}

/** Runs a group of checks. A failure is a finding, and does not stop the other groups. */
async function tried(check: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  const result = await ended(work());
  if ("value" in result) return result.value;
  return [finding(check, "problem", `${codeOf(result.error)}: ${result.error.message}`)];
}

const first = <T>(list: readonly T[]): T => list[0] as T;

async function makeGlobal(scene: Scene, senders: readonly DynamoDBClient[]): Promise<void> {
  const { ledger, names, settings, signal } = scene;
  const { region, replicas } = settings;
  const client = first(senders);
  ledger.add({ kind: "global-table", name: names.global, region, replicas });
  // Only an empty table without TTL becomes a strongly consistent global table.
  await makeTable(client, names.global);
  await untilActive(client, names.global, [], signal);
  await client.send(
    new UpdateTableCommand({
      TableName: names.global,
      MultiRegionConsistency: "STRONG",
      ReplicaUpdates: replicas.map((RegionName) => ({ Create: { RegionName } })),
    }),
  );
  scene.note("global: waiting for the replicas");
  await untilActive(client, names.global, replicas, signal);
}

async function untilActive(
  client: DynamoDBClient,
  TableName: string,
  replicas: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const untilMs = performance.now() + CREATION_LIMIT_MS;
  for (let pauseMs = 250; ; pauseMs = Math.min(2 * pauseMs, POLL_MS)) {
    const described = await ended(client.send(new DescribeTableCommand({ TableName })));
    // Right after its creation a table may be unknown to the next request.
    const isUnknown = "error" in described && described.error.name === "ResourceNotFoundException";
    if ("error" in described && !isUnknown) throw described.error;
    const table = "value" in described ? described.value.Table : undefined;
    const active = (table?.Replicas ?? [])
      .filter(({ ReplicaStatus }) => ReplicaStatus === "ACTIVE")
      .map(({ RegionName }) => RegionName);
    const isWhole = replicas.every((region) => active.includes(region));
    if (table?.TableStatus === "ACTIVE" && isWhole) return;
    if (performance.now() > untilMs) throw new Error(`Table ${TableName} is not active.`);
    await pause(pauseMs, signal);
  }
}

/** Checks that the table refuses each unsupported operation by name. */
async function refusals(
  scene: Scene,
  senders: readonly DynamoDBClient[],
  locks: readonly Holdfast[],
): Promise<Finding[]> {
  const client = first(senders);
  const table = scene.names.global;
  const ttl = { Enabled: true, AttributeName: "expiresAt" };
  const on = new UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification: ttl });
  const lease = await mutex(first(locks), "global/guarded").acquire({ renew: "manual" });
  const guarded = new TransactWriteItemsCommand({ TransactItems: [lease.condition()] });
  const transaction = await ended(client.send(guarded));
  await lease.release();
  const both = all(first(locks), ["global/a", "global/b"]);
  const several = await ended(both.acquire({ wait: "10s" }));
  if ("value" in several) await several.value.release();
  return [
    refusal("TTL", await ended(client.send(on)), /TTL|Time ?To ?Live|global table/i),
    refusal("a guarded transaction", transaction, /transact|global table/i),
    refusal("checkTable()", await ended(checkTable({ client, table })), /TTL/, "misconfigured"),
    refusal("several locks at once", several, /transact|global table/i, "misconfigured"),
  ];
}

function refusal(what: string, result: Ended<unknown>, names: RegExp, code?: string): Finding {
  const check = `${what}: refused by name`;
  if ("value" in result) return finding(check, "problem", "It was accepted.");
  const found = codeOf(result.error);
  const text = `${found}: ${result.error.message}`;
  const isFine = names.test(text) && (code === undefined || code === found);
  return finding(check, isFine ? "ok" : "problem", text);
}

/** Lets clients in all regions contend for one lock. */
async function exclusion(scene: Scene, locks: readonly Holdfast[]): Promise<Finding[]> {
  const held = await mutex(first(locks), "global/held").acquire();
  const tries = await Promise.all(
    locks.slice(1).map((one) => mutex(one, "global/held").tryAcquire()),
  );
  await held.release();
  const denied = tries.every((lease) => lease === null);
  await Promise.all(tries.map((lease) => lease?.release()));
  const { most, fences, failures } = await contention(scene, locks);
  const isGrowing = fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0n));
  const isFine = most === 1 && isGrowing && failures.length === 0;
  const counts = `${fences.length} grants, at most ${most} holder at once, fences ${isGrowing ? "growing" : "NOT growing"}`;
  return [
    finding(
      "a lock held in another region",
      denied ? "ok" : "problem",
      denied ? "No other region got it." : "Another region got it, too.",
    ),
    finding(
      "contention of all regions",
      isFine ? "ok" : "problem",
      `${counts}${failures.length === 0 ? "" : `; failed: ${failures.join("; ")}`}.`,
    ),
  ];
}

async function contention(scene: Scene, locks: readonly Holdfast[]) {
  const fences: bigint[] = [];
  let holders = 0;
  let most = 0;
  const contend = async (one: Holdfast): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      const lease: Lease = await mutex(one, "global/contended").acquire({ wait: "2m" });
      holders += 1;
      most = Math.max(most, holders);
      fences.push(lease.fence);
      await pause(HOLD_MS, scene.signal);
      holders -= 1;
      await lease.release();
    }
  };
  const results = await Promise.all(locks.map((one) => ended(contend(one))));
  const failures = results.flatMap((one) => ("error" in one ? [one.error.message] : []));
  return { most, fences, failures };
}

/** Writes one item from all regions at once, and counts the conflicts. */
async function conflictsSeen(scene: Scene, senders: readonly DynamoDBClient[]): Promise<Finding[]> {
  const TableName = scene.names.global;
  // A retry of the SDK would hide a conflict.
  const once = senders.map((client) => withoutRetries(client));
  let seen = 0;
  for (let race = 0; race < RACES; race += 1) {
    const Item = { pk: { S: "race#conflict" }, sk: { S: "race" }, n: { N: String(race) } };
    const puts = once.map((client) => ended(client.send(new PutItemCommand({ TableName, Item }))));
    for (const answer of await Promise.all(puts)) {
      if ("value" in answer) continue;
      if (answer.error.name !== "ReplicatedWriteConflictException") throw answer.error;
      seen += 1;
    }
  }
  const text = `${seen} of ${RACES * senders.length} writes met a ReplicatedWriteConflictException.`;
  return [finding("conflicts between regions", seen > 0 ? "ok" : "unseen", text)];
}

const WITHOUT_TRANSACTIONS = ["lock", "sessions", "permits", "elect", "once"] as const;

async function sound(scene: Scene, senders: readonly DynamoDBClient[]): Promise<Finding[]> {
  const { signal, names } = scene;
  const options = {
    client: first(senders),
    table: names.global,
    for: WITHOUT_TRANSACTIONS,
    signal,
  };
  const { findings } = await diagnoseEngine(options);
  return findings.map(({ check, level, message }) =>
    finding(`engine: ${check}`, level === "problem" ? "problem" : "ok", message),
  );
}

/** Checks that `sweep` deletes expired records only. */
async function swept(scene: Scene, senders: readonly DynamoDBClient[]): Promise<Finding[]> {
  const client = first(senders);
  const TableName = scene.names.global;
  const record = (at: string, afterS: number) => ({
    pk: { S: `swept#${at}` },
    sk: { S: "swept" },
    expiresAt: { N: String(Math.floor(Date.now() / 1000) + afterS) },
  });
  const items = [record("old", -60), record("older", -6_000), record("new", 3_600)];
  for (const Item of items) await client.send(new PutItemCommand({ TableName, Item }));
  const deleted = await sweep(client, TableName, Date.now());
  const left = await Promise.all(
    items.map(async ({ pk, sk }) => {
      const read = { TableName, Key: { pk, sk }, ConsistentRead: true };
      const { Item } = await (senders.at(-1) ?? client).send(new GetItemCommand(read));
      return Item === undefined ? "deleted" : "present";
    }),
  );
  const isFine = deleted === 2 && left.join() === "deleted,deleted,present";
  return [
    finding(
      "sweep, in place of TTL",
      isFine ? "ok" : "problem",
      `${deleted} records were deleted; read in another region: ${left.join(", ")}.`,
    ),
  ];
}

async function measured(scene: Scene, locks: readonly Holdfast[]): Promise<Finding[]> {
  const times = new Times(scene.signal);
  const one = first(locks);
  for (let round = 0; round < ROUNDS; round += 1) {
    scene.signal.throwIfAborted();
    const lock = mutex(one, `global/steps/${round}`);
    const lease = await times.of("acquire a free lock", () => lock.acquire({ renew: "manual" }));
    await times.of("renew", () => lease.renew());
    await times.of("release", () => lease.release());
  }
  return times.findings(PART);
}
