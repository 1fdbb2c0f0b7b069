import {
  type DynamoDBClient,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import type { Duration, DynamoDBLike, Holdfast, Lease, Permit, Term } from "../../src/index.js";
import { objectCommitter } from "../../src/object-commit/index.js";
import { checkTable, createTable, type PolicyFeature } from "../../src/table/index.js";

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
    const mutex = scene.locks().mutex(scene.name("free"));
    const lease = await mutex.acquire({ renew: "manual" });
    await lease.renew();
    await lease.release();
    await waitsFor(scene, (locks) => locks.mutex(scene.name("held")).acquire({ wait: "5s" }));
  },
  "fair-lock": async (scene) => {
    const poll = { min: "20ms", max: "20ms" } as const;
    const untold: unknown[] = [];
    const locks = scene.locks(scene.client, (error) => untold.push(error));
    await waitsFor(scene, () =>
      locks.fairLock(scene.name("held"), { poll }).acquire({ wait: "5s" }),
    );
    await waitsFor(scene, () =>
      locks.multiLock([scene.name("held"), scene.name("too")], { poll }).acquire({ wait: "5s" }),
    );
    // A waiter deletes the queue entry in the background.
    await locks.close();
    if (untold.length > 0) throw untold[0];
  },
  sessions: async (scene) => {
    const locks = scene.locks();
    const session = await locks.session({ lease: "1s", renew: "100ms" });
    await (await locks.mutex(scene.name("on"), { session }).acquire()).release();
    await session.close();
    const dead = await deadSession(scene, scene.name("left behind"), "1s");
    await (await locks.mutex(dead).acquire({ wait: "10s" })).release();
  },
  permits: async (scene) => {
    const untold: unknown[] = [];
    const locks = scene.locks(scene.client, (error) => untold.push(error));
    const writer = await locks.readWriteLock(scene.name("free")).write().acquire();
    await (await writer.downgrade()).release();
    await waitsForPermit(scene, locks, (one) => one.semaphore(scene.name("held"), { permits: 1 }));
    await waitsForPermit(scene, locks, (one) => one.readWriteLock(scene.name("held")).write());
    await locks.close();
    if (untold.length > 0) throw untold[0];
  },
  elect: async (scene) => {
    const election = scene.locks().election(scene.name("free"));
    const term = await election.campaign();
    await election.leader();
    await term.resign();
    await standsBy(scene);
  },
  once: async (scene) => {
    const locks = scene.locks();
    await locks.once(scene.name("report"), { occurrence: "2026-11-21" }, () => undefined);
    await locks.once(scene.name("report"), { occurrence: "2026-11-21" }, () => undefined);
  },
  condition: async (scene) => {
    const locks = scene.locks(scene.owner);
    const lease = await locks.mutex(scene.name("guarded")).acquire();
    await commit(scene, lease);
    await commit(scene, await locks.election(scene.name("guarded")).campaign());
    await locks.once(scene.name("guarded"), { occurrence: "1" }, (run) => commit(scene, run));
    await commit(scene, await locks.semaphore(scene.name("guarded"), { permits: 2 }).acquire());
    await commit(scene, await locks.readWriteLock(scene.name("guarded")).read().acquire());
    await lease.release();
  },
  observe: async (scene) => {
    const onSession = await deadSession(scene, scene.name("observed"));
    const locks = scene.locks();
    await locks.inspect(onSession);
    await locks.election(scene.name("observed")).leader();
    await locks.inspect(scene.name("observed"), { kind: "once" });
    await locks.inspect(scene.name("observed"), { kind: "semaphore" });
    await locks.inspect(scene.name("observed"), { kind: "read-write" });
    await locks.admin.queue(onSession);
    for await (const _ of locks.admin.list()) break;
  },
  operate: async (scene) => {
    const onSession = await deadSession(scene, scene.name("operated"));
    const theirs = scene.locks(scene.owner);
    const lease = await theirs.mutex(scene.name("stuck")).acquire();
    const term = await theirs.election(scene.name("operated")).campaign();
    const locks = scene.locks();
    await locks.inspect(onSession);
    await locks.inspect(scene.name("operated"), { kind: "once" });
    await locks.admin.queue(onSession);
    await locks.admin.forceRelease(onSession, { reason: "its holder is gone", wait: 0 });
    await locks.admin.releaseByHolder(scene.name("stuck"), lease.holder);
    await locks.election(scene.name("operated")).requestResign({ wait: 0 });
    await locks.admin.sessions();
    await locks.admin.setLimit(scene.name("operated"), 3);
    const { holder } = await theirs.readWriteLock(scene.name("stuck")).write().acquire();
    const ofPermit = { kind: "read-write", holder, reason: "it is stuck", wait: 0 } as const;
    await locks.admin.forceRelease(scene.name("stuck"), ofPermit);
    await locks.inspect(scene.name("operated"), { kind: "semaphore" });
    await checkTable({ client: scene.client, table: scene.tables.locks });
    await term.resign();
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
  const held = await scene.locks(scene.owner).mutex(scene.name("held")).acquire();
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
  const leading = await scene.locks(scene.owner).election(scene.name("led")).campaign();
  const election = scene.locks().election(scene.name("led"), { poll: "100ms" });
  const standing = election.campaign();
  await Promise.race([standing, scene.pause(scene.joinMs * 1.5)]);
  await leading.resign();
  await (await standing).resign();
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
  const session = await locks.session({ lease, renew: "100ms" });
  await locks.mutex(name, { session }).acquire();
  const watching = scene.locks(scene.owner);
  while ((await watching.inspect(name)).session === undefined) await scene.pause(10);
  isDead = true;
  return name;
}

/** Commits a transaction of the process under test, with the conditions of the holding. */
export async function commit(scene: FeatureScene, holding: Lease | Term | Permit): Promise<void> {
  const { conditions } = holding as Partial<Lease>;
  // A lease without a fence has no condition: the user adds a check instead.
  const own: TransactWriteItem = {
    ConditionCheck: {
      TableName: scene.tables.locks,
      Key: { key: { S: holding.name } },
      ConditionExpression: "attribute_exists(#key)",
      ExpressionAttributeNames: { "#key": "key" },
    },
  };
  const TransactItems = conditions === undefined ? [own] : [...holding.conditions()];
  await scene.client.send(new TransactWriteItemsCommand({ TransactItems }));
}
