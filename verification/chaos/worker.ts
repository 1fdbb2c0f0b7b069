/** A worker: a process which acquires locks, acts under them, and reports each act to the referee. */

import { readSync, writeSync } from "node:fs";
import { DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import {
  condition,
  Holdfast,
  isHoldfastError,
  type Lease as MutexLease,
  mutex,
  openSession,
  type Session,
  semaphore,
  sharedSession,
} from "../../packages/holdfast/src/index.js";
import { type Duration, inMs } from "../../packages/holdfast/src/internal/duration.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { type FromWorker, ledgerKeyOf, REFEREE_FD, type WorkerSetup } from "./messages.js";
import { HEAVIEST } from "./permit-checks.js";

type Lease = MutexLease;

const setup = JSON.parse(process.argv[2] ?? "{}") as WorkerSetup;
const finishing = new AbortController();
process.once("SIGTERM", () => finishing.abort());

const client = new DynamoDBClient({
  endpoint: setup.endpoint,
  region: "local",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});
const poll = { min: inMs(setup.pollMs.min), max: inMs(setup.pollMs.max) };
const locks = new Holdfast({
  client,
  table: setup.table,
  owner: setup.name,
  requestTimeout: "800ms",
  poll,
  ...(setup.permits === undefined ? {} : { lease: setup.leaseMs[1] }),
  ...(setup.keptAliveBy === "shared"
    ? { sharedSession: sharedSession(), lease: setup.leaseMs[1] }
    : {}),
  onError: (error) => {
    // The notice of a table that answers nothing for a while concerns no lock.
    const isOutage = error.code === "unreachable" || error.code === "throttled";
    const isNotice = isOutage && error.lockName === undefined;
    if (error.code === "outcome-unknown" || isNotice) return;
    report({ kind: "failed", what: `reported: ${error}` });
  },
});

// Written at once and in one piece: a kill loses no part of a message.
function report(message: FromWorker): void {
  writeSync(REFEREE_FD, `${JSON.stringify(message)}\n`);
}

/** Blocks the process, so that no code runs between the referee's stamp and the check of the lease. */
function waitForStamp(): void {
  report({ kind: "asks" });
  // Without a referee, no further act would be seen.
  if (readSync(REFEREE_FD, Buffer.alloc(1)) === 0) process.exit(0);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function work(random: SeededRandom): Promise<void> {
  while (!finishing.signal.aborted) {
    await pause(random.fraction() * 100);
    const name = setup.names[random.integer(0, setup.names.length - 1)];
    const lease = name === undefined ? undefined : await take(random, name);
    if (lease !== undefined) await hold(random, lease);
  }
}

let session: Session | undefined;
let opening: Promise<Session> | undefined;

/** Returns the session of all tasks in the process; a new session after a loss. */
async function sessionFor(lease: Duration): Promise<Session> {
  if (session?.isHeld === true) return session;
  opening ??= openSession(locks, { lease, wait: 3_000 }).finally(() => {
    opening = undefined;
  });
  session = await opening;
  return session;
}

/** Most leases use the worker's way of staying alive; some renew their own record all the same. */
async function mutexOf(random: SeededRandom, name: string) {
  const lease = inMs(random.integer(...setup.leaseMs));
  if (setup.keptAliveBy === "leases" || random.chance(0.2)) return mutex(locks, name, { lease });
  if (setup.keptAliveBy === "shared") return mutex(locks, name);
  return mutex(locks, name, { session: await sessionFor(lease) });
}

/** A source of permits of one weight, with the methods of a mutex. */
function permitsOf(random: SeededRandom, name: string, permits: number) {
  const weight = random.integer(1, HEAVIEST);
  const limited = semaphore(locks, name, { permits, poll });
  return {
    acquire: (options: object) => limited.acquire({ ...options, weight }),
    tryAcquire: () => limited.tryAcquire({ weight }),
  };
}

async function take(random: SeededRandom, name: string): Promise<Lease | undefined> {
  const cancelled = AbortSignal.timeout(random.chance(0.1) ? random.integer(1, 1_000) : 60_000);
  const signal = AbortSignal.any([finishing.signal, cancelled]);
  report({ kind: "waits", name });
  try {
    const { permits } = setup;
    const mutex =
      permits === undefined ? await mutexOf(random, name) : permitsOf(random, name, permits);
    const wait = random.chance(0.3) ? random.integer(0, 3_000) : 60_000;
    const lease = random.chance(0.15)
      ? await mutex.tryAcquire()
      : await mutex.acquire({ wait: inMs(wait), signal });
    if (lease === null) {
      report({ kind: "gave up", name, code: "contended" });
      return undefined;
    }
    lease.signal.addEventListener("abort", () => lost(lease));
    if (isHeld(random, lease, true)) return lease;
    return undefined;
  } catch (error) {
    gaveUp(name, signal, error);
    return undefined;
  }
}

function lost({ name, fence, signal: { reason } }: Lease): void {
  const why = isHoldfastError(reason, "lost") ? reason.reason : undefined;
  if (why === undefined) report({ kind: "failed", what: `lost without a reason: ${reason}` });
  else report({ kind: "lost", name, fence: `${fence}`, reason: why });
}

// The client can lose a session during the opening, and before the first use.
const OF_SESSIONS = setup.keptAliveBy === "sessions" ? ["lost", "closed"] : [];
const EXPECTED = ["not-acquired", "unreachable", "throttled", "outcome-unknown", ...OF_SESSIONS];

function gaveUp(name: string, signal: AbortSignal, error: unknown): void {
  const code = isHoldfastError(error) ? error.code : undefined;
  if (code !== undefined && EXPECTED.includes(code)) report({ kind: "gave up", name, code });
  else if (signal.aborted && error === signal.reason)
    report({ kind: "gave up", name, code: "cancelled" });
  else
    report({
      kind: "failed",
      what: `acquire: ${error instanceof Error ? error.stack : String(error)}`,
    });
}

/** Checks the lease, in a randomly chosen way, after the referee's stamp. */
function isHeld(random: SeededRandom, lease: Lease, isFirst = false): boolean {
  const way = random.integer(0, 3);
  waitForStamp();
  const held = ask(lease, way);
  const { name, fence } = lease;
  const { weight } = lease;
  report({ kind: "asked", name, fence: `${fence}`, isHeld: held, isFirst, weight });
  return held;
}

function ask(lease: Lease, way: number): boolean {
  if (way === 0) return lease.isHeld;
  if (way === 1) return lease.remainingMs() > 0;
  if (way === 2) return !lease.signal.aborted;
  try {
    lease.assertHeld();
    return true;
  } catch {
    return false;
  }
}

/** Most jobs are short; a few last many leases, to be hit by faults. */
function holdMs(random: SeededRandom): number {
  const [, lease] = setup.leaseMs;
  const longMs = (2 + 3 * random.fraction()) * lease;
  // Only a hold longer than the first lease shows what keeps the lease alive.
  if (setup.keptAliveBy !== "leases" && random.chance(0.3)) return longMs;
  if (random.chance(0.6)) return random.integer(0, 150);
  return random.chance(0.7) ? random.fraction() * lease : longMs;
}

async function hold(random: SeededRandom, lease: Lease): Promise<void> {
  const untilMs = performance.now() + holdMs(random);
  let held = true;
  while (held && performance.now() < untilMs && !finishing.signal.aborted) {
    if (random.chance(0.3)) await guardedWrite(lease);
    else await pause(random.integer(1, 40));
    // Three times in a row: after a pause the second check comes before any timer or answer.
    for (let times = 0; held && times < 3; times += 1) held = isHeld(random, lease);
    if (held && "renew" in lease && random.chance(0.02)) await lease.renew().catch(expectLost);
  }
  // A careless user writes after the loss of the lease: only the condition can refuse this write.
  // A lost permit satisfies its condition until a waiter removes it, which takes a lease and `maxClockError`.
  const longestPauseMs = "weight" in lease ? 6_000 : 700;
  for (let times = 0; !held && times < 3; times += 1) {
    await pause(random.integer(0, longestPauseMs));
    await guardedWrite(lease);
  }
  await release(lease);
}

async function release(lease: Lease): Promise<void> {
  const { name, fence } = lease;
  try {
    await lease.release();
    report({ kind: "released", name, fence: `${fence}` });
  } catch (error) {
    expectLost(error);
  }
}

function expectLost(error: unknown): void {
  const codes = ["lost", "unreachable", "throttled", "outcome-unknown"];
  if (isHoldfastError(error) && codes.includes(error.code)) return;
  report({ kind: "failed", what: error instanceof Error ? `${error.stack}` : String(error) });
}

let entries = 0;

/** Appends to the ledger, conditional on the held lease. The witness sees the result. */
async function guardedWrite(lease: Lease): Promise<void> {
  const { name, fence } = lease;
  entries += 1;
  // The weight of a permit; a lock has none.
  const weight = lease.weight === undefined ? "" : ` ${lease.weight}`;
  const entry = { L: [{ S: `${fence} ${setup.name} ${entries}${weight}` }] };
  const append = {
    TableName: setup.table,
    Key: { pk: { S: ledgerKeyOf(name, fence) }, sk: { S: "ledger" } },
    UpdateExpression: "SET entries = list_append(if_not_exists(entries, :none), :entry)",
    ExpressionAttributeValues: { ":none": { L: [] }, ":entry": entry },
  };
  const TransactItems = [condition(lease), { Update: append }];
  const command = new TransactWriteItemsCommand({ TransactItems });
  const abortSignal = AbortSignal.timeout(1_500);
  await client.send(command, { abortSignal }).catch(() => undefined);
}

async function main(): Promise<void> {
  report({ kind: "ready" });
  const random = seededRandom(setup.seed);
  await Promise.all(Array.from({ length: setup.tasks }, () => work(random.fork())));
  await locks.close();
  client.destroy();
}

await main();
