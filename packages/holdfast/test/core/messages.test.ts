import { describe, expect, it } from "vitest";
import {
  type ExpectedError,
  expectErrorToBe,
  expectThrown,
} from "../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { listLocks, releaseByHolder } from "../../src/admin/index.js";
import { guardCondition } from "../../src/core/hold/condition.js";
import type { Hold } from "../../src/core/hold/hold.js";
import { checkName } from "../../src/core/record/name.js";
import {
  type AcquireOptions,
  type ErrorCode,
  type HoldfastError,
  inspect,
  type LossReason,
  mutex,
  openSession,
  semaphore,
} from "../../src/index.js";
import { NATIVE_KEYS, nativeFormat } from "../../src/native/native.js";

/** The facts in each error of the core: its code, its lock, and what the reader can do. */

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const SILENT = { fault: "request-lost" } as const;

interface Scene {
  readonly world: World;
  readonly mine: Inhabitant;
  readonly theirs: Inhabitant;
}

/** Returns the error of a promise, after the virtual time that it needs. */
function errorOf({ world }: Scene, promise: Promise<unknown>): Promise<HoldfastError> {
  return world.until(
    promise.then(
      () => {
        throw new Error("It did not fail.");
      },
      (error: HoldfastError) => error,
    ),
  );
}

const acquired = (scene: Scene, options: AcquireOptions = {}) =>
  scene.world.until(mutex(scene.mine.locks, "a").acquire(options));

const acquireFails = (scene: Scene, options: AcquireOptions = {}) =>
  errorOf(scene, mutex(scene.mine.locks, "a").acquire(options));

/** Returns the loss of a lease after `happen`. */
async function lossAfter(scene: Scene, happen: () => void): Promise<HoldfastError> {
  const lease = await acquired(scene);
  happen();
  await scene.world.time.advance(60_000);
  return lease.signal.reason as HoldfastError;
}

/** The first acquisition has the turn in the local queue, with a hanging claim; the second one waits behind it. */
async function behindAnother(scene: Scene): Promise<HoldfastError> {
  scene.mine.network.next("write", { fault: "delayed", delayMs: 1_000 });
  const first = mutex(scene.mine.locks, "a").acquire();
  const error = await acquireFails(scene, { wait: "100ms" });
  await scene.world.until(first);
  return error;
}

type Row = [
  what: string,
  expected: ExpectedError,
  provoke: (scene: Scene) => Promise<HoldfastError>,
];

/** An error about lock "a". */
const about = (code: ErrorCode, ...mentions: (string | RegExp)[]): ExpectedError => ({
  code,
  lockName: "a",
  mentions,
});

const lost = (reason: LossReason): ExpectedError => ({ ...about("lost"), reason });

const MESSAGES: readonly Row[] = [
  [
    "a wait that ends while another client holds the lock",
    about("not-acquired", "5000 ms", "worker-7"),
    async (scene) => {
      await scene.world.until(mutex(scene.theirs.locks, "a").acquire({ owner: "worker-7" }));
      return acquireFails(scene, { wait: "5s" });
    },
  ],
  [
    "a wait that ends while a holder without an owner label holds the lock",
    about("not-acquired", "5000 ms", /\bholds\b|\bheld\b/),
    async (scene) => {
      await scene.world.until(mutex(scene.theirs.locks, "a").acquire());
      const { owner: _, ...ownerless } = scene.world.record("a") ?? {};
      scene.world.table.putItem(KEY, ownerless);
      return acquireFails(scene, { wait: "5s" });
    },
  ],
  [
    "a wait that ends behind a waiter of the same process, without a read",
    about("not-acquired", "100 ms", /\bno record\b/),
    behindAnother,
  ],
  [
    "a wait that ends behind a waiter of the same process, after a read of an absent record",
    about("not-acquired", "100 ms", /\bno record\b/),
    async (scene) => {
      await scene.world.until(inspect(scene.mine.locks, "a"));
      return behindAnother(scene);
    },
  ],
  [
    "a wait that ends behind a waiter of the same process, after an earlier lease",
    { ...about("not-acquired", "100 ms"), omits: [/\brecord\b/, /\bholds\b|\bheld\b/] },
    async (scene) => {
      await scene.world.until(mutex(scene.mine.locks, "a").run(() => undefined));
      return behindAnother(scene);
    },
  ],
  [
    "an acquisition after the close of the client",
    about("closed", /\bacquire/),
    async (scene) => {
      await scene.world.until(scene.mine.locks.close());
      return acquireFails(scene);
    },
  ],
  [
    "an acquisition without any answer",
    about("unreachable", /\bacquire/, "region"),
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return acquireFails(scene, { wait: "5s" });
    },
  ],
  [
    "an inspection without an answer",
    about("unreachable", /\bread\b/, "region", "5000"),
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, inspect(scene.mine.locks, "a"));
    },
  ],
  [
    "a release by holder without an answer",
    about("unreachable", /\breleased?\b/, "region", "5000"),
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, releaseByHolder(scene.mine.locks, "a", "somebody"));
    },
  ],
  [
    "a throttled inspection",
    about("throttled", /\bread\b/, "capacity"),
    (scene) => {
      scene.mine.network.script(() => ({ fault: "throttled" }));
      return errorOf(scene, inspect(scene.mine.locks, "a"));
    },
  ],
  [
    "a listing without an answer",
    { code: "unreachable", mentions: [/\blist/, "region", "5000"] },
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, firstPage(scene));
    },
  ],
  [
    "a throttled listing",
    { code: "throttled", mentions: [/\blist/, "capacity"] },
    (scene) => {
      scene.mine.network.script(() => ({ fault: "throttled" }));
      return errorOf(scene, firstPage(scene));
    },
  ],
  [
    "a refusal without the item",
    about("misconfigured", "ReturnValuesOnConditionCheckFailure", "3.363.0"),
    (scene) => {
      scene.world.table.write = async () => ({ kind: "refused", item: undefined });
      return acquireFails(scene);
    },
  ],
  [
    "a record of another program",
    about("foreign-record", "`v`", '"native"'),
    (scene) => {
      scene.world.table.putItem(KEY, { colour: { S: "red" } });
      return acquireFails(scene);
    },
  ],
  [
    "a record of a newer version",
    about("unsupported-layout", "layout 2"),
    (scene) => {
      scene.world.table.putItem(KEY, { v: { N: "2" } });
      return acquireFails(scene);
    },
  ],
  [
    "a lease whose record names another holder",
    lost("stolen"),
    (scene) =>
      lossAfter(scene, () => {
        const stolen = { ...scene.world.record("a"), holder: { S: "thief" }, fence: { N: "9" } };
        scene.world.table.putItem(KEY, stolen);
      }),
  ],
  [
    "a lease without any answer to its renewals",
    lost("expired"),
    (scene) => lossAfter(scene, () => scene.mine.network.script(() => SILENT)),
  ],
  [
    "a lease whose record is deleted",
    lost("deleted"),
    (scene) => lossAfter(scene, () => scene.world.table.deleteItem(KEY)),
  ],
  [
    "a lease whose record an operator freed",
    lost("released-elsewhere"),
    (scene) =>
      lossAfter(scene, () => {
        const { holder: _, ...freed } = scene.world.record("a") ?? {};
        scene.world.table.putItem(KEY, freed);
      }),
  ],
  [
    "a lease of a closed client",
    lost("closed"),
    (scene) => lossAfter(scene, () => void scene.mine.locks.close()),
  ],
  [
    "a renewal after the release",
    about("lost", /\breleased\b/),
    async (scene) => {
      const lease = await acquired(scene);
      await scene.world.until(lease.release());
      return errorOf(scene, lease.renew());
    },
  ],
  [
    "a refused write of data",
    about("outcome-unknown", "inspect()"),
    async (scene) => {
      const lease = await acquired(scene);
      scene.world.table.putItem(KEY, { ...scene.world.record("a"), dataSeq: { N: "99" } });
      return errorOf(scene, lease.update(1));
    },
  ],
  [
    "a release without an answer",
    about("outcome-unknown", "10000 ms", /\brelease\b/),
    async (scene) => {
      const lease = await acquired(scene);
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, lease.release());
    },
  ],
  [
    "a release without an answer before the lease ends",
    { ...about("outcome-unknown", /\brelease\b/), omits: [/\d ms\b/] },
    async (scene) => {
      const lease = await acquired(scene, { lease: "2s" });
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, lease.release());
    },
  ],
  [
    "failed work in the background",
    { code: "outcome-unknown" },
    async (scene) => {
      await acquired(scene);
      scene.world.table.write = () => Promise.reject(new Error("not answered at all"));
      await scene.world.time.advance(15_000);
      const [error] = scene.mine.reported;
      expect(error?.cause).toMatchObject({ message: "not answered at all" });
      return error as HoldfastError;
    },
  ],
  [
    "a release by an empty holder id",
    { code: "invalid-argument", mentions: ["`lease.holder`", "inspect()"] },
    (scene) => errorOf(scene, releaseByHolder(scene.mine.locks, "a", "")),
  ],
];

async function firstPage(scene: Scene): Promise<unknown> {
  for await (const page of listLocks(scene.mine.locks)) return page;
  return undefined;
}

describe("the core's errors name the code, the lock and the facts of", () => {
  it.each(MESSAGES)("%s", async (_what, expected, provoke) => {
    const world = new World();
    const scene = { world, mine: world.inhabitant(), theirs: world.inhabitant() };
    expectErrorToBe(await provoke(scene), expected);
  });
});

describe("the error of a release says what is free when", () => {
  const ways = {
    lock: ({ locks }: Inhabitant) => mutex(locks, "a").acquire({ lease: "10s" }),
    "lock on a session": async ({ locks }: Inhabitant) => {
      const session = await openSession(locks, { lease: "10s" });
      return mutex(locks, "a", { session }).acquire();
    },
    permit: ({ locks }: Inhabitant) => semaphore(locks, "a", { permits: 1 }).acquire(),
  } as const;
  const AT_END = /its lease/;
  const AT_RETRY = /its session/;

  it.each([
    ["lock", "1s", AT_END, /a permit of/],
    ["lock", "20s", AT_END, /a permit of/],
    ["lock on a session", "1s", AT_RETRY, /a permit of/],
    ["lock on a session", "20s", AT_RETRY, /a permit of/],
    ["permit", "1s", AT_RETRY, AT_END],
  ] as const)("%s, with a request timeout of %s", async (way, requestTimeout, mentions, omits) => {
    const world = new World();
    const mine = world.inhabitant({ requestTimeout });
    const lease = await world.until<{ release(): Promise<void> }>(ways[way](mine));
    await world.time.advance(4_000);
    mine.network.script(() => SILENT);
    const error = await errorOf({ world, mine, theirs: mine }, lease.release());
    const code = "outcome-unknown";
    expectErrorToBe(error, { code, lockName: "a", mentions: [mentions], omits: [omits] });
    expect(error.message.includes("a permit of")).toBe(way === "permit");
  });
});

describe("the error of close()", () => {
  const closed = async (count: number): Promise<HoldfastError> => {
    const world = new World();
    const mine = world.inhabitant();
    const names = Array.from({ length: count }, (_, index) => `n${index}`);
    await world.until(Promise.all(names.map((name) => mutex(mine.locks, name).acquire())));
    mine.network.script(() => SILENT);
    return errorOf({ world, mine, theirs: mine }, mine.locks.close());
  };

  it("lists the locks without an acknowledged release, at most ten of them", async () => {
    const error = await closed(2);
    expectErrorToBe(error, { code: "outcome-unknown", mentions: ["2 of its 2", '"n0", "n1"'] });
    expect(error.errors?.length).toBe(2);
    for (const [index, one] of (error.errors ?? []).entries()) {
      expectErrorToBe(one, { code: "outcome-unknown", lockName: `n${index}` });
    }
    const tenth = '"n8", "n9"';
    const omitted = /"n9", \.\.\./;
    expectErrorToBe(await closed(10), {
      code: "outcome-unknown",
      mentions: ["10 of its 10", tenth],
      omits: [omitted],
    });
    expectErrorToBe(await closed(11), {
      code: "outcome-unknown",
      mentions: ["11 of its 11", tenth, omitted],
      omits: ['"n10"'],
    });
  });
});

describe("the error of an invalid name", () => {
  it.each([
    ["", /\bempty\b/],
    [5 as never, /\bstring\b/],
    ["\ud83d", /\bsurrogate\b/],
    ["\u00e9".repeat(951), /\b1900 bytes\b.*\b1902\b/],
  ])("%j", (name, fact) => {
    expectThrown(() => checkName(name), { code: "invalid-argument", mentions: [fact] });
  });
});

describe("guardCondition", () => {
  it("throws for a key of a type that a condition cannot contain", () => {
    const format = nativeFormat(NATIVE_KEYS);
    const held = { holder: "h", fence: 1n };
    const ref = { name: "a", id: "a", key: { pk: { BOOL: true } } };
    const hold = { context: { format, tableName: "locks" }, held, ref } as unknown as Hold;
    expect(() => guardCondition(hold)).toThrowError(/\bstring\b.*\bnumber\b/);
  });
});
