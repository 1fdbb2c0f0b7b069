import { describe, expect, it } from "vitest";
import {
  type ExpectedError,
  expectError,
  expectErrorToBe,
} from "../../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { awsLockClient, dynamolock } from "../../../../formats/src/index.js";
import { ForeignWorld } from "../../../../formats/test/foreign-world.js";
import { forceRelease, history, listLocks, listQueue } from "../../../src/admin/index.js";
import { requireCapability } from "../../../src/core/record/capability.js";
import type { LeaseFormat } from "../../../src/core/record/format.js";
import {
  adoptLease,
  type ErrorCode,
  exportLease,
  fairLock,
  type HoldfastError,
  inspect,
  type Lease,
  type LeaseTransfer,
  mutex,
  once,
  onExpiring,
  openSession,
  sharedSession,
} from "../../../src/index.js";
import { nativeFormat } from "../../../src/native/native.js";
import { SESSIONS } from "../../../src/native/native-sessions.js";

/** The facts in the errors for invalid and for unanswered requests, as in messages.test.ts. */

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const SILENT = { fault: "request-lost", unknownAfterMs: 20 } as const;
const HANDLE: LeaseTransfer = {
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

/** Prepares the scene, in any time. The returned function makes the attempt. */
type Prepare = (scene: Scene) => (() => unknown) | Promise<() => unknown>;
type Row = [what: string, expected: ExpectedError, prepare: Prepare];

/** An error about lock "a". */
const about = (code: ErrorCode, ...mentions: (string | RegExp)[]): ExpectedError => ({
  code,
  lockName: "a",
  mentions,
});

/** An error about an option, which names no lock. */
const invalid = (...mentions: (string | RegExp)[]): ExpectedError => ({
  code: "invalid-argument",
  mentions,
});

const acquired = ({ world, mine }: Scene, options: object = {}): Promise<Lease> =>
  world.until(mutex(mine.locks, "a").acquire(options));

async function ownerless({ world, theirs }: Scene): Promise<void> {
  await world.until(mutex(theirs.locks, "a").acquire());
  const { owner: _, ...record } = world.record("a") ?? {};
  world.table.putItem(KEY, record);
}

const NOW = { wait: 0 };

const AT_ONCE: readonly Row[] = [
  [
    "a lock without a record, where one must exist",
    about("not-acquired", "`onlyIfExists`", /\bno record\b/),
    ({ mine }) =>
      () =>
        mutex(mine.locks, "a").acquire({ ...NOW, onlyIfExists: true }),
  ],
  [
    "a lock that another holds, at once",
    about("not-acquired", "worker-7", "`wait`"),
    async (scene) => {
      await scene.world.until(mutex(scene.theirs.locks, "a").acquire({ owner: "worker-7" }));
      return () => mutex(scene.mine.locks, "a").acquire({ ...NOW, onlyIfExists: true });
    },
  ],
  [
    "a lock that a holder without an owner holds, at once",
    about("not-acquired", /\bholds\b|\bheld\b/, "`wait`"),
    async (scene) => {
      await ownerless(scene);
      return () => mutex(scene.mine.locks, "a").acquire(NOW);
    },
  ],
  [
    "a lock with a queue, at once",
    about("not-acquired", /\bqueued?\b/, "`wait`"),
    async ({ world, mine, theirs }) => {
      const held = await world.until(fairLock(theirs.locks, "a").acquire());
      const waiting = world.inhabitant();
      fairLock(waiting.locks, "a")
        .acquire()
        .catch(() => undefined);
      await world.time.advance(1_000);
      waiting.process.kill();
      await world.until(held.release());
      return () => mutex(mine.locks, "a").acquire(NOW);
    },
  ],
  [
    "a lock that its own process is about to have, at once",
    about("not-acquired", "this process", "`wait`"),
    async ({ mine }) => {
      mine.network.next("write", { fault: "delayed", delayMs: 1_000 });
      mutex(mine.locks, "a").acquire();
      return () => mutex(mine.locks, "a").acquire(NOW);
    },
  ],
  [
    "a lock that its own process is about to have again, at once",
    about("not-acquired", "this process", "`wait`"),
    async (scene) => {
      await scene.world.until((await acquired(scene)).release());
      scene.mine.network.next("write", { fault: "delayed", delayMs: 1_000 });
      mutex(scene.mine.locks, "a").acquire();
      return () => mutex(scene.mine.locks, "a").acquire(NOW);
    },
  ],
];

const ARGUMENTS: readonly Row[] = [
  [
    "a session that is none",
    invalid("`session`", /\bthis client\b/),
    ({ mine }) =>
      () =>
        mutex(mine.locks, "a", { session: {} as never }),
  ],
  [
    "a body that is no function",
    invalid("run()", /\bfunction\b/),
    ({ mine }) =>
      () =>
        mutex(mine.locks, "a").run({} as never),
  ],
  [
    "attributes in a native record",
    invalid("`attributes`", '"native"', "`data`"),
    ({ mine }) =>
      () =>
        mutex(mine.locks, "a").acquire({ attributes: { x: { S: "y" } } } as never),
  ],
  [
    "an unknown kind",
    invalid("`kind`", '"lock"', '"leader"', '"session"'),
    ({ mine }) =>
      () =>
        inspect(mine.locks, "a", { kind: "session" as never }),
  ],
  [
    "a listing by a prefix that is no string",
    invalid("`prefix`", "string", "number"),
    ({ mine }) =>
      async () => {
        for await (const _ of listLocks(mine.locks, { prefix: 5 as never }));
      },
  ],
  [
    "a fair lock in a table without a sort key",
    invalid(/\bfair locks\b/, "sort key", "`keys`"),
    ({ world }) =>
      () =>
        fairLock(world.inhabitant({ keys: { sk: null } }).locks, "a"),
  ],
  [
    "a fair lock in a format without a queue",
    invalid('"dynamolock"', /\bqueue\b/),
    () => () => fairLock(new ForeignWorld(dynamolock()).client().locks, "a"),
  ],
  [
    "sessions in a format without any",
    invalid('"dynamolock"', /\bsessions\b/),
    () => () => requireCapability(dynamolock() as unknown as LeaseFormat, SESSIONS),
  ],
  [
    "a warning that would come before a renewal is late",
    invalid("`within`", "20000 ms", "19390 ms"),
    async (scene) => {
      const lease = await acquired(scene);
      return () => onExpiring(lease, "20s", () => undefined);
    },
  ],
  [
    "a reason that is too long",
    invalid("`reason`", "1 to 1000"),
    ({ mine }) =>
      () =>
        forceRelease(mine.locks, "a", { reason: "x".repeat(1_001) }),
  ],
  [
    "a name of the operator that is empty",
    invalid("`by`", "1 to 1000"),
    ({ mine }) =>
      () =>
        forceRelease(mine.locks, "a", { reason: "x".repeat(1_000), by: "" }),
  ],
  [
    "a forced release in a format without any",
    invalid('"dynamolock"', /\bforced releases\b/),
    () => () => forceRelease(new ForeignWorld(dynamolock()).client().locks, "a", { reason: "x" }),
  ],
  [
    "a history in a format without any",
    invalid('"dynamolock"', /\bhistory\b/, "sort key"),
    () => () => history(new ForeignWorld(dynamolock()).client().locks, "a"),
  ],
  [
    "an import in a format without any",
    invalid('"dynamolock"', /\btransfers\b/),
    () => () => adoptLease(new ForeignWorld(dynamolock()).client().locks, HANDLE),
  ],
  [
    "a handle that is none",
    invalid("`exportLease()`"),
    ({ mine }) =>
      () =>
        adoptLease(mine.locks, { ...HANDLE, leaseMs: 99 }),
  ],
];

const HANDING_ON: readonly Row[] = [
  [
    "an export from a session",
    about("invalid-argument", /\bsession\b/),
    async (scene) => {
      const session = await scene.world.until(openSession(scene.mine.locks));
      const lease = await scene.world.until(mutex(scene.mine.locks, "a", { session }).acquire());
      return () => exportLease(lease);
    },
  ],
  [
    "an export from the session that the client shares",
    about("invalid-argument", /\bsession\b/),
    // The lease has a deadline of its own only during its first period.
    async ({ world }) => {
      const { locks } = world.inhabitant({ sharedSession: sharedSession() });
      const lease = await world.until(mutex(locks, "a").acquire());
      return () => exportLease(lease);
    },
  ],
  [
    "an export of a reentrant lock",
    about("invalid-argument", /\bshares\b/),
    ({ mine }) => {
      const lock = mutex(mine.locks, "a", { reentrant: true });
      return () =>
        lock.run(async () => {
          const inner = await lock.acquire();
          return exportLease(inner);
        });
    },
  ],
  [
    "an export of an occurrence",
    about("invalid-argument", /\bnot a lock\b/),
    ({ mine }) =>
      () =>
        once(mine.locks, "a", { occurrence: "1" }, async (lease) => {
          await exportLease(lease);
        }),
  ],
  [
    "an export that is not answered",
    about("outcome-unknown", /\bexport\b/),
    async (scene) => {
      const lease = await acquired(scene);
      scene.mine.network.script(() => SILENT);
      return () => exportLease(lease);
    },
  ],
  [
    "an import of a free lock",
    about("not-acquired", /\bimported\b/, /\bnobody holds\b|\bfree\b/),
    ({ mine }) =>
      () =>
        adoptLease(mine.locks, HANDLE),
  ],
  [
    "an import of a lock that a holder without an owner holds",
    { ...about("not-acquired", /\bimported\b/), omits: [/\bnobody holds\b|\bfree\b/] },
    async (scene) => {
      await ownerless(scene);
      return () => adoptLease(scene.mine.locks, HANDLE);
    },
  ],
];

const NOBODY_ANSWERS: readonly Row[] = [
  [
    "a forced release that is not answered",
    about("unreachable", /\bby force\b/, "region"),
    ({ mine }) => {
      mine.network.script(() => SILENT);
      return () => forceRelease(mine.locks, "a", { reason: "x", wait: "1s" });
    },
  ],
  [
    "a forced release while the client closes",
    about("closed", /\bforced release\b/),
    async (scene) => {
      await scene.world.until(mutex(scene.theirs.locks, "a").acquire());
      const { locks } = scene.mine;
      const forced = forceRelease(locks, "a", { reason: "x" });
      forced.catch(() => undefined);
      await scene.world.time.advance(200);
      await scene.world.until(locks.close());
      return () => forced;
    },
  ],
  [
    "a history that is not answered",
    about("unreachable", /\bhistory\b/, "region"),
    ({ mine }) => {
      mine.network.script(() => SILENT);
      return () => history(mine.locks, "a");
    },
  ],
  [
    "a queue that is not answered",
    about("unreachable", /\bqueue\b/, "region"),
    ({ mine }) => {
      mine.network.script(({ kind }) => (kind === "query" ? SILENT : undefined));
      return () => listQueue(mine.locks, "a");
    },
  ],
  [
    "a callback before the end that throws an error",
    about("outcome-unknown", /: no time$/),
    async (scene) => {
      const lease = await acquired(scene, { renew: "manual" });
      onExpiring(lease, "5s", () => {
        throw new Error("no time");
      });
      await scene.world.time.advance(26_000);
      return () => Promise.reject(scene.mine.reported[0]);
    },
  ],
  [
    "a callback before the end that throws a text",
    about("outcome-unknown", /: "no time"$/),
    async (scene) => {
      const lease = await acquired(scene, { renew: "manual" });
      onExpiring(lease, "5s", () => {
        throw "no time";
      });
      await scene.world.time.advance(26_000);
      return () => Promise.reject(scene.mine.reported[0]);
    },
  ],
  [
    "a callback before the end that throws what has no text",
    about("outcome-unknown", /: an object$/),
    async (scene) => {
      const lease = await acquired(scene, { renew: "manual" });
      onExpiring(lease, "5s", () => {
        throw Object.create(null);
      });
      await scene.world.time.advance(26_000);
      return () => Promise.reject(scene.mine.reported[0]);
    },
  ],
];

/** Advances virtual time until the attempt rejects, and returns the error. */
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

describe("the core refuses", () => {
  it.each([...AT_ONCE, ...ARGUMENTS, ...HANDING_ON, ...NOBODY_ANSWERS])(
    "%s",
    async (_what, expected, prepare) => {
      const world = new World();
      const scene = { world, mine: world.inhabitant(), theirs: world.inhabitant() };
      expectErrorToBe(await errorOf(scene, prepare), expected);
    },
  );

  it("a lock with a queue, in a table without a sort key", async () => {
    const format = nativeFormat({ pk: "pk", sk: null });
    const here = new ForeignWorld(format as never);
    const { locks, network } = here.client();
    await here.until((await here.until(mutex(locks, "a").acquire())).release());
    const key = { pk: { S: "lock#a" } };
    here.table.putItem(key, { ...here.item(key), tail: { N: "5" }, served: { N: "3" } });
    const acquiring = here.until(mutex(locks, "a").acquire({ wait: "5s" }));
    await expect(acquiring).rejects.toMatchObject({ code: "not-acquired" });
    // One refused claim, and then polls: no claims in a loop.
    expect(network.requests.write).toBe(3);
    expect(network.requests.read).toBeLessThan(20);
  });

  it("a fence if a foreign item is in the place of the counter", async () => {
    const here = new ForeignWorld(awsLockClient({ fences: "companion" }));
    here.table.putItem({ key: { S: "a#holdfast-fence" } }, { total: { N: "3" } });
    const acquiring = here.until(mutex(here.client().locks, "a").acquire());
    await expectError(acquiring, { ...about("foreign-record"), mentions: [/\bfences\b/] });
  });
});
