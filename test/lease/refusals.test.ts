import { describe, expect, it } from "vitest";
import { awsLockClient, dynamolock } from "../../src/formats/index.js";
import { nativeFormat } from "../../src/formats/native.js";
import type { HoldfastError, Lease, LeaseHandle } from "../../src/index.js";
import type { LeaseFormat } from "../../src/lease/format.js";
import { assertSessions } from "../../src/lease/refs.js";
import { ForeignWorld } from "../formats/foreign-world.js";
import { type Inhabitant, World } from "../support/world.js";

/** What is said of requests that are none, and where nobody answers; each once and whole, as in messages.test.ts. */

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const SILENT = { fault: "request-lost", unknownAfterMs: 20 } as const;
const UNTOLD =
  "the table does not answer. Check the endpoint, the region and the network; whether somebody holds the " +
  "lock is not known.";
const HANDLE: LeaseHandle = {
  v: 1,
  name: "a",
  holder: "h",
  fence: "1",
  leaseMs: 1_000,
  owner: "o",
};

interface Scene {
  readonly world: World;
  readonly mine: Inhabitant;
  readonly theirs: Inhabitant;
}

/** What leads to it may take its time; what it answers then is the attempt itself. */
type Prepare = (scene: Scene) => (() => unknown) | Promise<() => unknown>;
type Row = [code: string, message: string, prepare: Prepare];

const acquired = ({ world, mine }: Scene, options: object = {}): Promise<Lease> =>
  world.until(mine.locks.mutex("a").acquire(options));

async function ownerless({ world, theirs }: Scene): Promise<void> {
  await world.until(theirs.locks.mutex("a").acquire());
  const { owner: _, ...record } = world.record("a") ?? {};
  world.table.putItem(KEY, record);
}

const NOW = { wait: 0 };

const AT_ONCE: readonly Row[] = [
  [
    "not-acquired",
    'Lock "a" was not acquired: it has no record, and `onlyIfExists` asks for one.',
    ({ mine }) =>
      () =>
        mine.locks.mutex("a").acquire({ ...NOW, onlyIfExists: true }),
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired: worker-7 holds it, and `wait` is 0.',
    async (scene) => {
      await scene.world.until(scene.theirs.locks.mutex("a").acquire({ owner: "worker-7" }));
      return () => scene.mine.locks.mutex("a").acquire({ ...NOW, onlyIfExists: true });
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired: somebody holds it, and `wait` is 0.',
    async (scene) => {
      await ownerless(scene);
      return () => scene.mine.locks.mutex("a").acquire(NOW);
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired: others are queued for it, and `wait` is 0.',
    async ({ world, mine, theirs }) => {
      const held = await world.until(theirs.locks.fairLock("a").acquire());
      const waiting = world.inhabitant();
      waiting.locks
        .fairLock("a")
        .acquire()
        .catch(() => undefined);
      await world.time.advance(1_000);
      waiting.process.kill();
      await world.until(held.release());
      return () => mine.locks.mutex("a").acquire(NOW);
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired: this process has it, or is about to, and `wait` is 0.',
    async ({ mine }) => {
      mine.network.next("write", { fault: "delayed", delayMs: 1_000 });
      mine.locks.mutex("a").acquire();
      return () => mine.locks.mutex("a").acquire(NOW);
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired: this process has it, or is about to, and `wait` is 0.',
    async (scene) => {
      await scene.world.until((await acquired(scene)).release());
      scene.mine.network.next("write", { fault: "delayed", delayMs: 1_000 });
      scene.mine.locks.mutex("a").acquire();
      return () => scene.mine.locks.mutex("a").acquire(NOW);
    },
  ],
];

const ARGUMENTS: readonly Row[] = [
  [
    "invalid-argument",
    "The option `session` must be a Session of this client.",
    ({ mine }) =>
      () =>
        mine.locks.mutex("a", { session: {} as never }),
  ],
  [
    "invalid-argument",
    "run() takes the body last, as a function.",
    ({ mine }) =>
      () =>
        mine.locks.mutex("a").run({} as never),
  ],
  [
    "invalid-argument",
    'Records of format "native" have no room for `attributes`: use `data`.',
    ({ mine }) =>
      () =>
        mine.locks.mutex("a").acquire({ attributes: { x: { S: "y" } } } as never),
  ],
  [
    "invalid-argument",
    'The option `kind` must be "lock" or "leader"; it is "session".',
    ({ mine }) =>
      () =>
        mine.locks.inspect("a", { kind: "session" as never }),
  ],
  [
    "invalid-argument",
    "A fair lock needs a table with a sort key, for the queue's entries: see the option `keys`.",
    ({ world }) =>
      () =>
        world.inhabitant({ keys: { sk: null } }).locks.fairLock("a"),
  ],
  [
    "invalid-argument",
    'A table of format "dynamolock" has no queue: its other clients would pass whoever waits in it.',
    () => () => new ForeignWorld(dynamolock()).client().locks.fairLock("a"),
  ],
  [
    "invalid-argument",
    'Records of format "dynamolock" have no room for sessions: every lock renews its own record.',
    () => () => assertSessions(dynamolock() as unknown as LeaseFormat),
  ],
  [
    "invalid-argument",
    "`within` (20000 ms) must be less than what is left of the lease at a renewal, 19390 ms: it would be told " +
      "of a lease that is well.",
    async (scene) => {
      const lease = await acquired(scene);
      return () => lease.onEndingSoon("20s", () => undefined);
    },
  ],
  [
    "invalid-argument",
    "The option `reason` must be a text of 1 to 1000 characters.",
    ({ mine }) =>
      () =>
        mine.locks.forceRelease("a", { reason: "x".repeat(1_001) }),
  ],
  [
    "invalid-argument",
    "The option `by` must be a text of 1 to 1000 characters.",
    ({ mine }) =>
      () =>
        mine.locks.forceRelease("a", { reason: "x".repeat(1_000), by: "" }),
  ],
  [
    "invalid-argument",
    'Records of format "dynamolock" have no room for a forced release.',
    () => () => new ForeignWorld(dynamolock()).client().locks.forceRelease("a", { reason: "x" }),
  ],
  [
    "invalid-argument",
    'Records of format "dynamolock" have no room for a history: it needs native records, and a table with a ' +
      "sort key.",
    () => () => new ForeignWorld(dynamolock()).client().locks.history("a"),
  ],
  [
    "invalid-argument",
    'Locks of format "dynamolock" cannot be handed to another process: its other clients would not know what ' +
      "to make of a grant that nobody has.",
    () => () => new ForeignWorld(dynamolock()).client().locks.import(HANDLE),
  ],
  [
    "invalid-argument",
    "A handle must be what `lease.export()` resolved to, as it was or through JSON.",
    ({ mine }) =>
      () =>
        mine.locks.import({ ...HANDLE, leaseMs: 99 }),
  ],
];

const HANDING_ON: readonly Row[] = [
  [
    "invalid-argument",
    'Lock "a" cannot be exported: it lives by a session of this process; acquire it without one.',
    async (scene) => {
      const session = await scene.world.until(scene.mine.locks.session());
      const lease = await scene.world.until(scene.mine.locks.mutex("a", { session }).acquire());
      return () => lease.export();
    },
  ],
  [
    "invalid-argument",
    'Lock "a" cannot be exported: it lives by a session of this process; acquire it without one.',
    // It has a record of its own for its first period only.
    async ({ world }) => {
      const { locks } = world.inhabitant({ renewal: "shared" });
      const lease = await world.until(locks.mutex("a").acquire());
      return () => lease.export();
    },
  ],
  [
    "invalid-argument",
    'Lock "a" cannot be exported: others of this process share it.',
    ({ mine }) => {
      const mutex = mine.locks.mutex("a", { reentrant: true });
      return () =>
        mutex.run(async () => {
          const inner = await mutex.acquire();
          return inner.export();
        });
    },
  ],
  [
    "invalid-argument",
    'Lock "a" cannot be exported: it is no lock.',
    ({ mine }) =>
      () =>
        mine.locks.once("a", { occurrence: "1" }, async (_, lease) => {
          await lease.export();
        }),
  ],
  [
    "outcome-unknown",
    'Nobody answered whether lock "a" was exported. It is not held any more, and is free, or will be when its ' +
      "lease has run out.",
    async (scene) => {
      const lease = await acquired(scene);
      scene.mine.network.script(() => SILENT);
      return () => lease.export();
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not imported: the handle was used before, or has run out; nobody holds it now.',
    ({ mine }) =>
      () =>
        mine.locks.import(HANDLE),
  ],
  [
    "not-acquired",
    'Lock "a" was not imported: the handle was used before, or has run out; somebody holds it.',
    async (scene) => {
      await ownerless(scene);
      return () => scene.mine.locks.import(HANDLE);
    },
  ],
];

const NOBODY_ANSWERS: readonly Row[] = [
  [
    "unreachable",
    `Lock "a" could not be released by force: ${UNTOLD}`,
    ({ mine }) => {
      mine.network.script(() => SILENT);
      return () => mine.locks.forceRelease("a", { reason: "x", wait: "1s" });
    },
  ],
  [
    "closed",
    'The client was closed while it released lock "a" by force; what was asked stays asked.',
    async (scene) => {
      await scene.world.until(scene.theirs.locks.mutex("a").acquire());
      const { locks } = scene.mine;
      const forced = locks.forceRelease("a", { reason: "x" });
      forced.catch(() => undefined);
      await scene.world.time.advance(200);
      await scene.world.until(locks.close());
      return () => forced;
    },
  ],
  [
    "unreachable",
    `Lock "a" did not show its history: ${UNTOLD}`,
    ({ mine }) => {
      mine.network.script(() => SILENT);
      return () => mine.locks.history("a");
    },
  ],
  [
    "unreachable",
    `Lock "a" was not listed with its queue: ${UNTOLD}`,
    ({ mine }) => {
      mine.network.script(({ kind }) => (kind === "query" ? SILENT : undefined));
      return () => mine.locks.queue("a");
    },
  ],
  [
    "outcome-unknown",
    'What was to be told that the lease of "a" ends soon failed: no time',
    async (scene) => {
      const lease = await acquired(scene, { renew: "manual" });
      lease.onEndingSoon("5s", () => {
        throw new Error("no time");
      });
      await scene.world.time.advance(26_000);
      return () => Promise.reject(scene.mine.reported[0]);
    },
  ],
  [
    "outcome-unknown",
    'What was to be told that the lease of "a" ends soon failed: no time',
    async (scene) => {
      const lease = await acquired(scene, { renew: "manual" });
      lease.onEndingSoon("5s", () => {
        throw "no time";
      });
      await scene.world.time.advance(26_000);
      return () => Promise.reject(scene.mine.reported[0]);
    },
  ],
];

/** The error of an attempt, once virtual time has brought it. */
async function errorOf(scene: Scene, prepare: Prepare): Promise<HoldfastError> {
  const attempt = await prepare(scene);
  const outcome = (async () => attempt())().then(
    () => {
      throw new Error("It did not fail.");
    },
    (error: HoldfastError) => error,
  );
  return scene.world.until(outcome);
}

/** What is wrong with what was asked is about no lock yet. */
const LOCKED = /^(Lock "a"|Nobody answered|The client was closed|What was to be told)/;

describe("the kernel refuses", () => {
  it.each([...AT_ONCE, ...ARGUMENTS, ...HANDING_ON, ...NOBODY_ANSWERS])(
    "%s: %s",
    async (code, message, prepare) => {
      const world = new World();
      const scene = { world, mine: world.inhabitant(), theirs: world.inhabitant() };
      const error = await errorOf(scene, prepare);
      expect(error).toMatchObject({ code, message });
      expect(error.lockName).toBe(LOCKED.test(message) ? "a" : undefined);
    },
  );

  it("a lock before which others are queued, in a table that has no room for a queue", async () => {
    const format = nativeFormat({ pk: "pk", sk: null });
    const here = new ForeignWorld({ ...format, schema: { keys: { pk: "pk" } } } as never);
    const { locks, network } = here.client();
    await here.until((await here.until(locks.mutex("a").acquire())).release());
    const key = { pk: { S: "lock#a" } };
    here.table.putItem(key, { ...here.item(key), tail: { N: "5" }, served: { N: "3" } });
    const acquiring = here.until(locks.mutex("a").acquire({ wait: "5s" }));
    await expect(acquiring).rejects.toMatchObject({ code: "not-acquired" });
    // A claim that is refused, and looks from then on: nothing is claimed in a loop.
    expect(network.requests.write).toBe(3);
    expect(network.requests.read).toBeLessThan(20);
  });

  it("a number where something else is kept in its place", async () => {
    const here = new ForeignWorld(awsLockClient({ fences: "companion" }));
    here.table.putItem({ key: { S: "a#holdfast-fence" } }, { total: { N: "3" } });
    const acquiring = here.until(here.client().locks.mutex("a").acquire());
    await expect(acquiring).rejects.toMatchObject({
      code: "foreign-record",
      message:
        'The item that keeps the fences of lock "a" has no number that can be counted up. Nothing was written. ' +
        "Find out who wrote it, and move it.",
      lockName: "a",
    });
  });
});
