import {
  type DynamoDBClient,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import {
  forceRelease,
  listLocks,
  listQueue,
  listSessions,
  releaseByHolder,
  setLimit,
} from "../../packages/holdfast/src/admin/index.js";
import type { FormatTypes } from "../../packages/holdfast/src/core/record/format-types.js";
import { election } from "../../packages/holdfast/src/election/index.js";
import {
  all,
  conditions,
  type Duration,
  type DynamoDBLike,
  downgrade,
  fairLock,
  type Holdfast,
  inspect,
  type Lease,
  mutex,
  once,
  openSession,
  readLock,
  semaphore,
  writeLock,
} from "../../packages/holdfast/src/index.js";
import {
  checkTable,
  createTable,
  type PolicyFeature,
} from "../../packages/holdfast/src/table/index.js";
import { objectCommitter } from "../../packages/object-commit/src/index.js";

/** A table with an unrestricted owner, and a process with fewer permissions. */
export interface FeatureScene {
  /** The owner's client, for the setup of every feature. */
  readonly owner: DynamoDBClient;
  /** The client of the process under test. */
  readonly client: DynamoDBClient;
  readonly tables: {
    readonly locks: string;
    readonly commits: string;
    /** A table that does not exist yet. */
    readonly fresh: string;
  };
  readonly bucket: string;
  /** The object store of the process under test. */
  readonly s3: Parameters<typeof objectCommitter>[0]["s3"];
  /** Returns the name of a lock or an object, unused by other cases. */
  name(of: string): string;
  /** The time for a waiter to join a queue. */
  readonly joinMs: number;
  /** Waits, in the time of the clients. */
  pause(ms: number): Promise<void>;
  /** For how long to wait for the fresh table. */
  readonly creation: Duration;
  /** Makes a client for locks; the default is the client under test. Background errors are ignored by default. */
  locks(client?: DynamoDBLike, onError?: (error: unknown) => void): Holdfast;
}

/** The behaviour of a process with a single feature; rejects with the first refused access. */
export const FEATURES: Readonly<Record<PolicyFeature, (scene: FeatureScene) => Promise<void>>> = {
  lock: async (scene) => {
    const lock = mutex(scene.locks(), scene.name("free"));
    const lease = await lock.acquire({ renew: "manual" });
    await lease.renew();
    await lease.release();
    await waitsFor(scene, (locks) => mutex(locks, scene.name("held")).acquire({ wait: "5s" }));
  },
  "fair-lock": async (scene) => {
    const poll = { min: "20ms", max: "20ms" } as const;
    const untold: unknown[] = [];
    const locks = scene.locks(scene.client, (error) => untold.push(error));
    await waitsFor(scene, () =>
      fairLock(locks, scene.name("held"), { poll }).acquire({ wait: "5s" }),
    );
    await waitsFor(scene, () =>
      all(locks, [scene.name("held"), scene.name("too")], { poll }).acquire({ wait: "5s" }),
    );
    // A waiter deletes the queue entry in the background.
    await locks.close();
    if (untold.length > 0) throw untold[0];
  },
  sessions: async (scene) => {
    const locks = scene.locks();
    const session = await openSession(locks, { lease: "1s", renew: "100ms" });
    await (await mutex(locks, scene.name("on"), { session }).acquire()).release();
    await session.close();
    const dead = await deadSession(scene, scene.name("left behind"), "1s");
    await (await mutex(locks, dead).acquire({ wait: "10s" })).release();
  },
  permits: async (scene) => {
    const untold: unknown[] = [];
    const locks = scene.locks(scene.client, (error) => untold.push(error));
    const writer = await writeLock(locks, scene.name("free")).acquire();
    await (await downgrade(writer)).release();
    await waitsForPermit(scene, locks, (one) => semaphore(one, scene.name("held"), { permits: 1 }));
    await waitsForPermit(scene, locks, (one) => writeLock(one, scene.name("held")));
    await locks.close();
    if (untold.length > 0) throw untold[0];
  },
  elect: async (scene) => {
    const candidate = election(scene.locks(), scene.name("free"));
    const term = await candidate.campaign();
    await candidate.leader();
    await term.release();
    await standsBy(scene);
  },
  once: async (scene) => {
    const locks = scene.locks();
    await once(locks, scene.name("report"), { occurrence: "2026-11-21" }, () => undefined);
    await once(locks, scene.name("report"), { occurrence: "2026-11-21" }, () => undefined);
  },
  condition: async (scene) => {
    const locks = scene.locks(scene.owner);
    const lease = await mutex(locks, scene.name("guarded")).acquire();
    await commit(scene, lease);
    await commit(scene, await election(locks, scene.name("guarded")).campaign());
    await once(locks, scene.name("guarded"), { occurrence: "1" }, (run) => commit(scene, run));
    await commit(scene, await semaphore(locks, scene.name("guarded"), { permits: 2 }).acquire());
    await commit(scene, await readLock(locks, scene.name("guarded")).acquire());
    await lease.release();
  },
  observe: async (scene) => {
    const onSession = await deadSession(scene, scene.name("observed"));
    const locks = scene.locks();
    await inspect(locks, onSession);
    await election(locks, scene.name("observed")).leader();
    await inspect(locks, scene.name("observed"), { kind: "once" });
    await inspect(locks, scene.name("observed"), { kind: "semaphore" });
    await inspect(locks, scene.name("observed"), { kind: "read-write" });
    await listQueue(locks, onSession);
    for await (const _ of listLocks(locks)) break;
  },
  operate: async (scene) => {
    const onSession = await deadSession(scene, scene.name("operated"));
    const theirs = scene.locks(scene.owner);
    const lease = await mutex(theirs, scene.name("stuck")).acquire();
    const term = await election(theirs, scene.name("operated")).campaign();
    const locks = scene.locks();
    await inspect(locks, onSession);
    await inspect(locks, scene.name("operated"), { kind: "once" });
    await listQueue(locks, onSession);
    await forceRelease(locks, onSession, { reason: "its holder is gone", wait: 0 });
    await releaseByHolder(locks, scene.name("stuck"), lease.holder);
    await election(locks, scene.name("operated")).requestResign({ wait: 0 });
    await listSessions(locks);
    await setLimit(locks, scene.name("operated"), 3);
    const { holder } = await writeLock(theirs, scene.name("stuck")).acquire();
    const ofPermit = { kind: "read-write", holder, reason: "it is stuck", wait: 0 } as const;
    await forceRelease(locks, scene.name("stuck"), ofPermit);
    await inspect(locks, scene.name("operated"), { kind: "semaphore" });
    await checkTable({ client: scene.client, table: scene.tables.locks });
    await term.release();
  },
  table: async (scene) => {
    const { client, tables, creation } = scene;
    await createTable({ client, table: tables.fresh, wait: creation });
  },
  "object-commit": async (scene) => {
    const { client, tables, s3, bucket } = scene;
    const dynamodb = { client, table: tables.commits };
    const committer = objectCommitter({ s3, bucket, strategy: "dynamo", dynamodb });
    await committer.putIfAbsent(scene.name("report.csv"), "1");
    await committer.inspect(scene.name("report.csv"));
    await committer.read(scene.name("report.csv"));
    await committer.delete(scene.name("report.csv"));
  },
};

/** Waits for a lock until another client releases it. */
export async function waitsFor(
  scene: FeatureScene,
  acquire: (locks: Holdfast) => Promise<Pick<Lease, "release">>,
): Promise<void> {
  const held = await mutex(scene.locks(scene.owner), scene.name("held")).acquire();
  const waiting = acquire(scene.locks());
  await Promise.race([waiting, scene.pause(scene.joinMs)]);
  await held.release();
  await (await waiting).release();
}

/** Waits until another client releases the permit. */
async function waitsForPermit(
  scene: FeatureScene,
  locks: Holdfast,
  of: (locks: Holdfast) => { acquire(options: object): Promise<Pick<Lease, "release">> },
): Promise<void> {
  const held = await of(scene.locks(scene.owner)).acquire({});
  const waiting = of(locks).acquire({ wait: "5s", poll: { min: "20ms", max: "20ms" } });
  await Promise.race([waiting, scene.pause(scene.joinMs)]);
  await held.release();
  await (await waiting).release();
}

/** Waits for a leadership until another client resigns. */
export async function standsBy(scene: FeatureScene): Promise<void> {
  const leading = await election(scene.locks(scene.owner), scene.name("led")).campaign();
  const candidate = election(scene.locks(), scene.name("led"), { poll: "100ms" });
  const standing = candidate.campaign();
  await Promise.race([standing, scene.pause(scene.joinMs * 1.5)]);
  await leading.release();
  await (await standing).release();
}

/** Makes a lock on the session of a dead process. Returns the lock's name. */
async function deadSession(
  scene: FeatureScene,
  name: string,
  lease: Duration = "30s",
): Promise<string> {
  let isDead = false;
  const mortal: DynamoDBLike = {
    config: {},
    send: (command: never, options) =>
      isDead ? new Promise(() => undefined) : (scene.owner as DynamoDBLike).send(command, options),
  };
  const locks = scene.locks(mortal);
  const session = await openSession(locks, { lease, renew: "100ms" });
  await mutex(locks, name, { session }).acquire();
  const watching = scene.locks(scene.owner);
  while ((await inspect(watching, name)).session === undefined) await scene.pause(10);
  isDead = true;
  return name;
}

/** Commits a transaction of the process under test, with the conditions of the holding. */
export async function commit(scene: FeatureScene, holding: Lease<FormatTypes>): Promise<void> {
  // A lease without a fence has no condition: the user adds a check instead.
  const own: TransactWriteItem = {
    ConditionCheck: {
      TableName: scene.tables.locks,
      Key: { key: { S: holding.name } },
      ConditionExpression: "attribute_exists(#key)",
      ExpressionAttributeNames: { "#key": "key" },
    },
  };
  const TransactItems = holding.fence === undefined ? [own] : [...conditions(holding)];
  await scene.client.send(new TransactWriteItemsCommand({ TransactItems }));
}
