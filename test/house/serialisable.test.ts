import { beforeAll, describe, expect, it } from "vitest";
import { grantHistory } from "../../packages/holdfast/src/admin/grant-history.js";
import { history, listQueue, survey } from "../../packages/holdfast/src/admin/index.js";
import { ASSIGNMENT_CHANNEL, assign } from "../../packages/holdfast/src/assign/index.js";
import { emitPlaceExpired } from "../../packages/holdfast/src/core/events.js";
import { election, leaderTasks } from "../../packages/holdfast/src/election/index.js";
import { ELECTION_CHANNELS, LEASE_CHANNELS } from "../../packages/holdfast/src/events/index.js";
import {
  all,
  fairLock,
  type Holdfast,
  inspect,
  mutex,
  semaphore,
} from "../../packages/holdfast/src/index.js";
import { listenTo } from "../../packages/holdfast/src/platform/diagnostics.js";
import { objectCommitter } from "../../packages/object-commit/src/index.js";
import { MemoryObjects, MemoryTable } from "../../packages/testing/src/index.js";
import { subpaths } from "../../scripts/lib/entries.mjs";
import { inWorld } from "../support/world.js";
import { textOf } from "./source.js";

/** These types exist only for the compiler. */
const NO_VALUES = ["FormatTypes", "NativeTypes", "BareLeases", "ByteLeases", "TokenLeases"];

/** Finds the types of the public surface with a member that is, or may be, a BigInt. */
function typesWithBigInts(): string[] {
  const texts = subpaths.map(({ report }) => textOf(report));
  const declared = texts.flatMap((text) => [
    ...text.matchAll(/^(?:export )?(?:interface|class) (\w+).*\n([\s\S]*?)^\}/gm),
  ]);
  const found = declared.filter(([, , body = ""]) => /\bbigint\b|: Version\b|"fence"/.test(body));
  const names = new Set(found.map(([, name = ""]) => name));
  return [...names].filter((name) => !NO_VALUES.includes(name)).sort();
}

const CHANNEL_OF = {
  LeaseEvent: LEASE_CHANNELS.grant,
  PositionEvent: LEASE_CHANNELS.position,
  PlaceExpiredEvent: LEASE_CHANNELS.overslept,
  LeadershipChange: ELECTION_CHANNELS.transition,
  RenewalEvent: ELECTION_CHANNELS.renewal,
  TaskRunEvent: ELECTION_CHANNELS.tick,
  AssignmentChange: ASSIGNMENT_CHANNEL,
};

/** Returns one value of each type, as the library returns or emits it. */
async function returnedBy(locks: Holdfast, waiter: Holdfast): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  const stops = Object.entries(CHANNEL_OF).map(([type, channel]) =>
    listenTo(channel, (event) => {
      values[type] = event;
    }),
  );
  const lease = await mutex(locks, "mutex").acquire();
  const permit = await semaphore(locks, "permits", { permits: 1 }).acquire();
  const several = await all(locks, ["a", "b"]).acquire();
  const waiting = new AbortController();
  let queued: Promise<unknown> | undefined;
  await new Promise((resolve) => {
    const options = { signal: waiting.signal, onPosition: resolve };
    queued = fairLock(waiter, "mutex")
      .acquire(options)
      .catch(() => undefined);
  });
  const isRenewed = new Promise((resolve) => {
    stops.push(listenTo(ELECTION_CHANNELS.renewal, resolve));
  });
  const tasks = [{ name: "task", every: "1s", run: () => undefined }];
  const pool = leaderTasks(locks, { name: "pool", tasks });
  pool.start();
  await isRenewed;
  await assign(locks, "work", { names: ["a"], run: () => undefined }).start();
  emitPlaceExpired({ kind: "lock", name: "mutex" }, "me", 1n);
  const { permits, queued: entries, terms } = await survey(locks);
  const [queue, told] = [await listQueue(locks, "mutex"), await history(locks, "mutex")];
  const inspection = await inspect(locks, "mutex");
  Object.assign(values, {
    ...{ Lease: lease, permit, several, Inspection: inspection },
    ...{ PermitInspection: permits[0]?.lock, InspectedPermit: permits[0]?.lock.permits[0] },
    ...{ GrantNote: told.grants[0], ListedEntry: entries[0], QueuedWaiter: queue.waiters[0] },
    ...{ LeaderInfo: await election(locks, "pool").leader(), LeaderTasksHealth: pool.health() },
    ...{ InspectedRecord: (await commitRecords())[0] },
    ...{ surveyedTerm: terms[0]?.grant, queuedLock: queue.lock },
  });
  waiting.abort();
  await queued;
  await locks.close();
  for (const stop of stops) stop();
  return values;
}

async function commitRecords() {
  const client = new MemoryTable({ keyAttributes: ["path", "etag"] });
  const objects = { s3: new MemoryObjects(), bucket: "bucket", strategy: "dynamo" } as const;
  const committer = objectCommitter({ ...objects, dynamodb: { client, table: "t" } });
  await committer.putIfAbsent("key", "1");
  return (await committer.inspect("key")).records;
}

/** Returns the names of members with BigInts, and the expected text of each. */
const numbersIn = (value: object, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names
      .map((name) => [name, (value as Record<string, unknown>)[name]] as const)
      .filter(([, member]) => typeof member === "bigint")
      .map(([name, member]) => [name, String(member)]),
  );

describe("JSON.stringify", () => {
  let values: Record<string, unknown>;
  beforeAll(async () => {
    const { world, locks } = inWorld({ history: grantHistory() });
    const waiter = world.inhabitant();
    values = await world.time.runUntil(returnedBy(locks, waiter.locks));
  });

  it("is tested on a value of every type of the public surface with a BigInt", () => {
    expect(typesWithBigInts().filter((type) => values[type] === undefined)).toEqual([]);
  });

  it("writes the BigInts of each value as digits", () => {
    const fields = ["fence", "term", "ticket", "version", "generation"];
    for (const [type, value] of Object.entries(values)) {
      const written = JSON.parse(JSON.stringify(value)) as object;
      const expected = numbersIn(value as object, fields);
      if (type !== "several") expect(Object.keys(expected), type).not.toEqual([]);
      expect(written, type).toMatchObject(expected);
    }
    expect(JSON.stringify(values["several"])).toMatch(/"fences":\{"a":"\d+","b":"\d+"\}/);
  });
});
