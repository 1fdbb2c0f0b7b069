import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  commit,
  type FeatureScene,
  standsBy,
  waitsFor,
} from "../../../../test/support/policy-features.js";
import type { LockFormat } from "../../../formats/src/index.js";
import { memoryClient } from "../../../testing/src/dynamodb/client.js";
import { MemoryDynamoDB } from "../../../testing/src/dynamodb/memory-dynamodb.js";
import { type MemoryAccess, MemoryObjects, VirtualTime } from "../../../testing/src/index.js";
import { listLocks, releaseByHolder } from "../../src/admin/index.js";
import { election } from "../../src/election/index.js";
import { type DynamoDBLike, Holdfast, inspect, isHoldfastError, mutex } from "../../src/index.js";
import { checkTable, createTable, type PolicyFeature } from "../../src/table/index.js";

/** A table with an unrestricted owner, and a process limited to `allows`, in virtual time. */
export class PermissionScene implements FeatureScene {
  // From now on: the SDK repeats a request, after a pause in real time, if the `Date` of an error is far from its own time.
  readonly #time = new VirtualTime({ wallStartMs: Date.now() });
  readonly #process = this.#time.process();
  readonly #allowed = new MemoryDynamoDB({ nowMs: () => this.#time.wallMs });
  readonly owner: DynamoDBClient = memoryClient(this.#allowed);
  readonly client: DynamoDBClient;
  readonly tables = { locks: "locks", commits: "commits", fresh: "fresh" };
  readonly bucket = "reports";
  readonly s3 = new MemoryObjects();
  readonly creation = "1s";
  readonly joinMs = 200;
  /** Every access of the process. */
  readonly asked: { readonly access: MemoryAccess; readonly isAllowed: boolean }[] = [];
  allows: (access: MemoryAccess) => boolean = () => true;
  readonly #opened: Holdfast[] = [];
  /** The first refusal that a client has reported: its calls wait for better credentials. */
  readonly denied: Promise<Error>;
  #onDenied: (error: Error) => void = () => undefined;

  readonly #format: LockFormat | undefined;

  constructor(format?: LockFormat) {
    this.#format = format;
    this.denied = new Promise((resolve) => {
      this.#onDenied = resolve;
    });
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

  /** Begins all names, and the ids of all sessions. */
  prefix = "";

  name(of: string): string {
    return `${this.prefix}${of}`;
  }

  pause(ms: number): Promise<void> {
    return this.#time.sleep(ms);
  }

  /** Lets time pass until the promise settles. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#time.runUntil(promise);
  }

  // Lost requests cause background errors, which the test ignores.
  locks(
    client: DynamoDBLike = this.client,
    onReport: (error: unknown) => void = () => undefined,
  ): Holdfast {
    const onError = (error: Error): void => {
      if (isHoldfastError(error, "access-denied")) this.#onDenied(error);
      onReport(error);
    };
    const options = { poll: { min: "20ms", max: "20ms" }, onError } as const;
    const format = this.#format as undefined;
    const made = new Holdfast({
      client,
      table: "locks",
      format,
      closeTimeout: "100ms",
      sessionPrefix: this.prefix,
      environment: this.#process,
      ...options,
    });
    this.#opened.push(made);
    return made;
  }

  async close(): Promise<void> {
    this.allows = () => true;
    await this.until(Promise.allSettled(this.#opened.map((locks) => locks.close())));
  }
}

/** The same for a table shared with other clients, as far as the format supports each feature. */
export function foreignFeatures(
  format: LockFormat,
): Readonly<Partial<Record<PolicyFeature, (scene: PermissionScene) => Promise<void>>>> {
  return {
    lock: async (scene) => {
      // A refused renewal is retried until the lease expires.
      const lock = mutex(scene.locks(), "free", { lease: "500ms", renew: "manual" });
      const lease = await lock.acquire();
      await lease.renew();
      await lease.release();
      await waitsFor(scene, (locks) => mutex(locks, "held").acquire({ wait: "5s" }));
    },
    elect: async (scene) => {
      const candidate = election(scene.locks(), "free", { lease: "1s", renew: "200ms" });
      const term = await candidate.campaign();
      await candidate.leader();
      // Expired, unless renewed.
      await scene.pause(1_200);
      term.assertHeld();
      await term.release();
      await standsBy(scene);
    },
    condition: async (scene) => {
      const locks = scene.locks(scene.owner);
      await commit(scene, await mutex(locks, "guarded").acquire());
      await commit(scene, await election(locks, "led").campaign());
    },
    observe: async (scene) => {
      await mutex(scene.locks(scene.owner), "held").acquire();
      const locks = scene.locks();
      await inspect(locks, "held");
      await election(locks, "held").leader();
      for await (const _ of listLocks(locks)) break;
    },
    operate: async (scene) => {
      const { holder } = await mutex(scene.locks(scene.owner), "stuck").acquire();
      const locks = scene.locks();
      await inspect(locks, "stuck");
      for await (const _ of listLocks(locks)) break;
      await releaseByHolder(locks, "stuck", holder);
      await checkTable({ client: scene.client, table: "locks", format });
    },
    table: async (scene) => {
      await createTable({ client: scene.client, table: "fresh", format, wait: "1s" });
    },
  };
}
