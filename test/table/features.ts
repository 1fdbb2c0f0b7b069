import { type DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import type { LockFormat } from "../../src/formats/index.js";
import {
  type Duration,
  type DynamoDBLike,
  Holdfast,
  type Lease,
  type Permit,
  type Term,
} from "../../src/index.js";
import { objectCommitter } from "../../src/object-commit/index.js";
import { checkTable, createTable, type PolicyFeature } from "../../src/table/index.js";
import { memoryClient } from "../../src/testing/dynamodb/client.js";
import { MemoryDynamoDB } from "../../src/testing/dynamodb/memory-dynamodb.js";
import { type MemoryAccess, MemoryObjects } from "../../src/testing/index.js";
import { pause } from "../support/sdk.js";

/** A table with an unrestricted owner, and a process limited to `allows`. */
export class PermissionScene {
  readonly #allowed = new MemoryDynamoDB({ nowMs: () => Date.now() });
  /** The owner's client, for the setup of every test. */
  readonly owner: DynamoDBClient = memoryClient(this.#allowed);
  /** The client of the process under test. */
  readonly client: DynamoDBClient;
  /** Every access of the process. */
  readonly asked: { readonly access: MemoryAccess; readonly isAllowed: boolean }[] = [];
  allows: (access: MemoryAccess) => boolean = () => true;
  readonly #opened: Holdfast[] = [];

  readonly #format: LockFormat | undefined;

  constructor(format?: LockFormat) {
    this.#format = format;
    // The same tables behind another door.
    const restricted: MemoryDynamoDB = Object.create(this.#allowed);
    restricted.handle = (operation, body) => {
      this.#allowed.allows = (access) => {
        const isAllowed = this.allows(access);
        this.asked.push({ access, isAllowed });
        return isAllowed;
      };
      try {
        return this.#allowed.handle(operation, body);
      } finally {
        this.#allowed.allows = undefined;
      }
    };
    this.client = memoryClient(restricted);
  }

  /** With a table of this format; default: native. */
  static async open(format?: LockFormat): Promise<PermissionScene> {
    const scene = new PermissionScene(format);
    await createTable({ client: scene.owner, table: "locks", format });
    await createTable({ client: scene.owner, table: "commits", format: "object-commit" });
    return scene;
  }

  // Lost requests cause background errors, which the test ignores.
  locks(
    client: DynamoDBLike = this.client,
    onError: (error: unknown) => void = () => undefined,
  ): Holdfast {
    const options = { poll: { min: "20ms", max: "20ms" }, onError } as const;
    const format = this.#format as undefined;
    const made = new Holdfast({
      client,
      table: "locks",
      format,
      closeTimeout: "100ms",
      ...options,
    });
    this.#opened.push(made);
    return made;
  }

  async close(): Promise<void> {
    this.allows = () => true;
    await Promise.allSettled(this.#opened.map((locks) => locks.close()));
  }
}

/** The behaviour of a process with a single feature; rejects with the first refused access. */
export const FEATURES: Readonly<Record<PolicyFeature, (scene: PermissionScene) => Promise<void>>> =
  {
    lock: async (scene) => {
      const mutex = scene.locks().mutex("free");
      const lease = await mutex.acquire({ renew: "manual" });
      await lease.renew();
      await lease.release();
      await waitsFor(scene, (locks) => locks.mutex("held").acquire({ wait: "5s" }));
    },
    "fair-lock": async (scene) => {
      const poll = { min: "20ms", max: "20ms" } as const;
      const untold: unknown[] = [];
      const locks = scene.locks(scene.client, (error) => untold.push(error));
      await waitsFor(scene, () => locks.fairLock("held", { poll }).acquire({ wait: "5s" }));
      await waitsFor(scene, () =>
        locks.multiLock(["held", "too"], { poll }).acquire({ wait: "5s" }),
      );
      // A waiter deletes the queue entry in the background.
      await locks.close();
      if (untold.length > 0) throw untold[0];
    },
    sessions: async (scene) => {
      const locks = scene.locks();
      const session = await locks.session({ lease: "1s", renew: "100ms" });
      await (await locks.mutex("on", { session }).acquire()).release();
      await session.close();
      const dead = await deadSession(scene, "left behind", "1s");
      await (await locks.mutex(dead).acquire({ wait: "10s" })).release();
    },
    permits: async (scene) => {
      const untold: unknown[] = [];
      const locks = scene.locks(scene.client, (error) => untold.push(error));
      const writer = await locks.readWriteLock("free").write().acquire();
      await (await writer.downgrade()).release();
      await waitsForPermit(scene, locks, (one) => one.semaphore("held", { permits: 1 }));
      await waitsForPermit(scene, locks, (one) => one.readWriteLock("held").write());
      await locks.close();
      if (untold.length > 0) throw untold[0];
    },
    elect: async (scene) => {
      const election = scene.locks().election("free");
      const term = await election.campaign();
      await election.leader();
      await term.resign();
      await standsBy(scene);
    },
    once: async (scene) => {
      const locks = scene.locks();
      await locks.once("report", { occurrence: "2026-11-21" }, () => undefined);
      await locks.once("report", { occurrence: "2026-11-21" }, () => undefined);
    },
    condition: async (scene) => {
      const locks = scene.locks(scene.owner);
      const lease = await locks.mutex("guarded").acquire();
      await commit(scene, lease);
      await commit(scene, await locks.election("guarded").campaign());
      await locks.once("guarded", { occurrence: "1" }, (run) => commit(scene, run));
      await commit(scene, await locks.semaphore("guarded", { permits: 2 }).acquire());
      await commit(scene, await locks.readWriteLock("guarded").read().acquire());
      await lease.release();
    },
    observe: async (scene) => {
      const onSession = await deadSession(scene, "observed");
      const locks = scene.locks();
      await locks.inspect(onSession);
      await locks.election("observed").leader();
      await locks.inspect("observed", { kind: "once" });
      await locks.inspect("observed", { kind: "semaphore" });
      await locks.inspect("observed", { kind: "read-write" });
      await locks.admin.queue(onSession);
      for await (const _ of locks.admin.list()) break;
    },
    operate: async (scene) => {
      const onSession = await deadSession(scene, "operated");
      const theirs = scene.locks(scene.owner);
      const lease = await theirs.mutex("stuck").acquire();
      const term = await theirs.election("operated").campaign();
      const locks = scene.locks();
      await locks.inspect(onSession);
      await locks.inspect("operated", { kind: "once" });
      await locks.admin.queue(onSession);
      await locks.admin.forceRelease(onSession, { reason: "its holder is gone", wait: 0 });
      await locks.admin.releaseByHolder("stuck", lease.holder);
      await locks.election("operated").requestResign({ wait: 0 });
      await locks.admin.sessions();
      await locks.admin.setLimit("operated", 3);
      const { holder } = await theirs.readWriteLock("stuck").write().acquire();
      const ofPermit = { kind: "read-write", holder, reason: "it is stuck", wait: 0 } as const;
      await locks.admin.forceRelease("stuck", ofPermit);
      await locks.inspect("operated", { kind: "semaphore" });
      await checkTable({ client: scene.client, table: "locks" });
      await term.resign();
    },
    table: async (scene) => {
      await createTable({ client: scene.client, table: "fresh", wait: "1s" });
    },
    "object-commit": async (scene) => {
      const dynamodb = { client: scene.client, table: "commits" };
      const s3 = new MemoryObjects();
      const committer = objectCommitter({ s3, bucket: "reports", strategy: "dynamo", dynamodb });
      await committer.putIfAbsent("report.csv", "1");
      await committer.inspect("report.csv");
    },
  };

/** The same for a table shared with other clients, as far as the format supports each feature. */
export function foreignFeatures(
  format: LockFormat,
): Readonly<Partial<Record<PolicyFeature, (scene: PermissionScene) => Promise<void>>>> {
  return {
    lock: async (scene) => {
      // A refused renewal is retried until the lease expires.
      const mutex = scene.locks().mutex("free", { lease: "500ms", renew: "manual" });
      const lease = await mutex.acquire();
      await lease.renew();
      await lease.release();
      await waitsFor(scene, (locks) => locks.mutex("held").acquire({ wait: "5s" }));
    },
    elect: async (scene) => {
      const election = scene.locks().election("free", { lease: "1s", renew: "200ms" });
      const term = await election.campaign();
      await election.leader();
      // Expired, unless renewed.
      await pause(1_200);
      term.assertLeading();
      await term.resign();
      await standsBy(scene);
    },
    condition: async (scene) => {
      const locks = scene.locks(scene.owner);
      await commit(scene, await locks.mutex("guarded").acquire());
      await commit(scene, await locks.election("led").campaign());
    },
    observe: async (scene) => {
      await scene.locks(scene.owner).mutex("held").acquire();
      const locks = scene.locks();
      await locks.inspect("held");
      await locks.election("held").leader();
      for await (const _ of locks.admin.list()) break;
    },
    operate: async (scene) => {
      const { holder } = await scene.locks(scene.owner).mutex("stuck").acquire();
      const locks = scene.locks();
      await locks.inspect("stuck");
      for await (const _ of locks.admin.list()) break;
      await locks.admin.releaseByHolder("stuck", holder);
      await checkTable({ client: scene.client, table: "locks", format });
    },
    table: async (scene) => {
      await createTable({ client: scene.client, table: "fresh", format, wait: "1s" });
    },
  };
}

async function waitsFor(
  scene: PermissionScene,
  acquire: (locks: Holdfast) => Promise<Pick<Lease, "release">>,
): Promise<void> {
  const held = await scene.locks(scene.owner).mutex("held").acquire();
  const waiting = acquire(scene.locks());
  await Promise.race([waiting, pause(200)]);
  await held.release();
  await (await waiting).release();
}

/** Waits until another client releases the permit. */
async function waitsForPermit(
  scene: PermissionScene,
  locks: Holdfast,
  of: (locks: Holdfast) => { acquire(options: object): Promise<Pick<Lease, "release">> },
): Promise<void> {
  const held = await of(scene.locks(scene.owner)).acquire({});
  const waiting = of(locks).acquire({ wait: "5s", poll: { min: "20ms", max: "20ms" } });
  await Promise.race([waiting, pause(200)]);
  await held.release();
  await (await waiting).release();
}

async function standsBy(scene: PermissionScene): Promise<void> {
  const leading = await scene.locks(scene.owner).election("led").campaign();
  const election = scene.locks().election("led", { poll: "100ms" });
  const standing = election.campaign();
  await Promise.race([standing, pause(300)]);
  await leading.resign();
  await (await standing).resign();
}

/** Makes a lock on the session of a dead process. Returns the lock's name. */
async function deadSession(
  scene: PermissionScene,
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
  while ((await watching.inspect(name)).session === undefined) await pause(10);
  isDead = true;
  return name;
}

async function commit(scene: PermissionScene, holding: Lease | Term | Permit): Promise<void> {
  const { conditions } = holding as Partial<Lease>;
  // A lease without a fence has no condition: the user adds a check instead.
  const own = {
    ConditionCheck: {
      TableName: "locks",
      Key: { key: { S: holding.name } },
      ConditionExpression: "attribute_exists(#key)",
      ExpressionAttributeNames: { "#key": "key" },
    },
  };
  const TransactItems = conditions === undefined ? [own] : [...holding.conditions()];
  await scene.client.send(new TransactWriteItemsCommand({ TransactItems }));
}
