import { describe, expect, it } from "vitest";
import { NATIVE_KEYS, nativeFormat } from "../../src/formats/native.js";
import type { AcquireOptions, HoldfastError } from "../../src/index.js";
import { guardCondition } from "../../src/lease/guard.js";
import type { Hold } from "../../src/lease/hold.js";
import { checkName } from "../../src/lease/name.js";
import { type Inhabitant, World } from "../support/world.js";

/**
 * What the kernel says when something is wrong, each once and whole: a message is read by somebody who
 * has nothing else, so a word of it changes here and there together.
 */

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const SILENT = { fault: "request-lost" } as const;

interface Scene {
  readonly world: World;
  readonly mine: Inhabitant;
  readonly theirs: Inhabitant;
}

/** The error of a promise, once virtual time has brought it. */
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
  scene.world.until(scene.mine.locks.mutex("a").acquire(options));

const acquireFails = (scene: Scene, options: AcquireOptions = {}) =>
  errorOf(scene, scene.mine.locks.mutex("a").acquire(options));

/** A lease of mine, and its loss, once something has happened. */
async function lossAfter(scene: Scene, happen: () => void): Promise<HoldfastError> {
  const lease = await acquired(scene);
  happen();
  await scene.world.time.advance(60_000);
  return lease.signal.reason as HoldfastError;
}

/** Mine holds the turn of its process's line, with a claim that hangs; a second one waits behind it. */
async function behindAnother(scene: Scene): Promise<HoldfastError> {
  scene.mine.network.next("write", { fault: "delayed", delayMs: 1_000 });
  const first = scene.mine.locks.mutex("a").acquire();
  const error = await acquireFails(scene, { wait: 100 });
  await scene.world.until(first);
  return error;
}

const UNTOLD = "whether somebody holds the lock is not known.";
const nobodyAnswers = (cause: string): string =>
  `the table does not answer${cause}. Check the endpoint, the region and the network; ${UNTOLD}`;
const FREE_ANYWAY = "It is free, or will be when its lease has run out; there is nothing to do.";

type Row = [code: string, message: string, provoke: (scene: Scene) => Promise<HoldfastError>];

const MESSAGES: readonly Row[] = [
  [
    "not-acquired",
    'Lock "a" was not acquired within 5000 ms: worker-7 holds it.',
    async (scene) => {
      await scene.world.until(scene.theirs.locks.mutex("a").acquire({ owner: "worker-7" }));
      return acquireFails(scene, { wait: "5s" });
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired within 5000 ms: somebody holds it.',
    async (scene) => {
      await scene.world.until(scene.theirs.locks.mutex("a").acquire());
      const { owner: _, ...ownerless } = scene.world.record("a") ?? {};
      scene.world.table.putItem(KEY, ownerless);
      return acquireFails(scene, { wait: "5s" });
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired within 100 ms: no record of it was found.',
    behindAnother,
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired within 100 ms: no record of it was found.',
    async (scene) => {
      await scene.world.until(scene.mine.locks.inspect("a"));
      return behindAnother(scene);
    },
  ],
  [
    "not-acquired",
    'Lock "a" was not acquired within 100 ms: others were faster.',
    async (scene) => {
      await scene.world.until(scene.mine.locks.mutex("a").run(() => undefined));
      return behindAnother(scene);
    },
  ],
  [
    "closed",
    'Lock "a" cannot be acquired: the client was closed. Make a new one.',
    async (scene) => {
      await scene.world.until(scene.mine.locks.close());
      return acquireFails(scene);
    },
  ],
  [
    "unreachable",
    `Lock "a" was not acquired: ${nobodyAnswers("")}`,
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return acquireFails(scene, { wait: "5s" });
    },
  ],
  [
    "unreachable",
    `Lock "a" was not read: ${nobodyAnswers(" (no answer within 5000 ms)")}`,
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, scene.mine.locks.inspect("a"));
    },
  ],
  [
    "unreachable",
    `Lock "a" may not have been released: ${nobodyAnswers(" (no answer within 5000 ms)")}`,
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, scene.mine.locks.release("a", "somebody"));
    },
  ],
  [
    "throttled",
    'Lock "a" was not read: DynamoDB refused every request for now (throttled). Give the table more ' +
      `capacity, or wait longer; ${UNTOLD}`,
    (scene) => {
      scene.mine.network.script(() => ({ fault: "throttled" }));
      return errorOf(scene, scene.mine.locks.inspect("a"));
    },
  ],
  [
    "unreachable",
    "The locks could not be listed: the table does not answer (no answer within 5000 ms). Check the endpoint, the region and " +
      "the table's capacity.",
    (scene) => {
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, firstPage(scene));
    },
  ],
  [
    "throttled",
    "The locks could not be listed: DynamoDB refused every request for now. Check the endpoint, the " +
      "region and the table's capacity.",
    (scene) => {
      scene.mine.network.script(() => ({ fault: "throttled" }));
      return errorOf(scene, firstPage(scene));
    },
  ],
  [
    "misconfigured",
    'The claim of lock "a" was refused, and the answer does not show the record. Answers must carry it ' +
      "(ReturnValuesOnConditionCheckFailure): use @aws-sdk/client-dynamodb 3.363.0 or later, and a " +
      "server that knows it.",
    (scene) => {
      scene.world.table.write = async () => ({ kind: "refused", item: undefined });
      return acquireFails(scene);
    },
  ],
  [
    "foreign-record",
    'The record of lock "a" has no layout number `v`, so it is not one of format "native". Nothing was ' +
      "written. Use another table or name, or the format of the client that wrote it.",
    (scene) => {
      scene.world.table.putItem(KEY, { colour: { S: "red" } });
      return acquireFails(scene);
    },
  ],
  [
    "unsupported-layout",
    'The record of lock "a" has layout 2, which this version of holdfast does not know. Nothing was ' +
      "written. Upgrade holdfast here to the version that wrote it.",
    (scene) => {
      scene.world.table.putItem(KEY, { v: { N: "2" } });
      return acquireFails(scene);
    },
  ],
  [
    "lost",
    'Lock "a" is no longer held: the record names another holder. Stop what it protected.',
    (scene) =>
      lossAfter(scene, () => {
        const stolen = { ...scene.world.record("a"), holder: { S: "thief" }, fence: { N: "9" } };
        scene.world.table.putItem(KEY, stolen);
      }),
  ],
  [
    "lost",
    'Lock "a" is no longer held: its deadline passed before a renewal was answered. Stop what it protected.',
    (scene) => lossAfter(scene, () => scene.mine.network.script(() => SILENT)),
  ],
  [
    "lost",
    'Lock "a" is no longer held: its record is gone. Stop what it protected.',
    (scene) => lossAfter(scene, () => scene.world.table.deleteItem(KEY)),
  ],
  [
    "lost",
    'Lock "a" is no longer held: its record was freed by somebody else. Stop what it protected.',
    (scene) =>
      lossAfter(scene, () => {
        const { holder: _, ...freed } = scene.world.record("a") ?? {};
        scene.world.table.putItem(KEY, freed);
      }),
  ],
  [
    "lost",
    'Lock "a" is no longer held: the client was closed. Stop what it protected.',
    (scene) => lossAfter(scene, () => void scene.mine.locks.close()),
  ],
  [
    "lost",
    'Lock "a" was released by this holder.',
    async (scene) => {
      const lease = await acquired(scene);
      await scene.world.until(lease.release());
      return errorOf(scene, lease.renew());
    },
  ],
  [
    "outcome-unknown",
    'A write under lock "a" was refused although the lock is still held; another program may write to ' +
      "its record. Read it back with inspect().",
    async (scene) => {
      const lease = await acquired(scene);
      scene.world.table.putItem(KEY, { ...scene.world.record("a"), dataSeq: { N: "99" } });
      return errorOf(scene, lease.update(1));
    },
  ],
  [
    "outcome-unknown",
    `Nobody answered for 10000 ms whether lock "a" was released. ${FREE_ANYWAY}`,
    async (scene) => {
      const lease = await acquired(scene);
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, lease.release());
    },
  ],
  [
    "outcome-unknown",
    `Nobody answered whether lock "a" was released. ${FREE_ANYWAY}`,
    async (scene) => {
      const lease = await acquired(scene, { lease: "2s" });
      scene.mine.network.script(() => SILENT);
      return errorOf(scene, lease.release());
    },
  ],
  [
    "outcome-unknown",
    "Work in the background failed.",
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
    "invalid-argument",
    "A lock is released by its holder id: `lease.holder`, or what inspect() shows.",
    (scene) => errorOf(scene, scene.mine.locks.release("a", "")),
  ],
];

async function firstPage(scene: Scene): Promise<unknown> {
  for await (const page of scene.mine.locks.list()) return page;
  return undefined;
}

/** What each of these errors is about; a listing is about no lock, and wrong input about none yet. */
const LOCKLESS = /^(The locks could|Work in|A lock is released)/;

describe("the kernel says", () => {
  it.each(MESSAGES)("%s: %s", async (code, message, provoke) => {
    const world = new World();
    const scene = { world, mine: world.inhabitant(), theirs: world.inhabitant() };
    const error = await provoke(scene);
    expect(error).toMatchObject({ code, message });
    expect(error.lockName).toBe(LOCKLESS.test(message) ? undefined : "a");
  });
});

describe("closing a client says", () => {
  const closed = async (count: number): Promise<HoldfastError> => {
    const world = new World();
    const mine = world.inhabitant();
    const names = Array.from({ length: count }, (_, index) => `n${index}`);
    await world.until(Promise.all(names.map((name) => mine.locks.mutex(name).acquire())));
    mine.network.script(() => SILENT);
    return errorOf({ world, mine, theirs: mine }, mine.locks.close());
  };
  const END = "They are free, or will be when their leases have run out.";

  it("which locks nobody answered about, up to ten of them", async () => {
    const error = await closed(2);
    expect(error.message).toBe(
      "The client is closed, but of 2 of its 2 locks nobody answered whether they were released: " +
        `"n0", "n1". ${END}`,
    );
    expect(error.errors?.map(({ message }) => message)).toEqual([
      `Nobody answered whether lock "n0" was released. ${FREE_ANYWAY}`,
      `Nobody answered whether lock "n1" was released. ${FREE_ANYWAY}`,
    ]);
    expect((await closed(10)).message).toContain(`"n8", "n9". ${END}`);
    expect((await closed(11)).message).toContain(`"n8", "n9", .... ${END}`);
  });
});

describe("a name that is none is told", () => {
  it.each([
    ["", "The name of a lock must be a non-empty string."],
    [5 as never, "The name of a lock must be a non-empty string."],
    [
      "\ud83d",
      "The name of a lock must be well-formed Unicode; this one has half of a surrogate pair.",
    ],
    [
      "\u00e9".repeat(951),
      "The name of a lock has at most 1900 bytes; this one has 1902. Use a hash of it.",
    ],
  ])("%j", (name, message) => {
    expect(() => checkName(name)).toThrowError(
      expect.objectContaining({ code: "invalid-argument", message }),
    );
  });
});

describe("a guard", () => {
  it("is refused for a key that a condition cannot have", () => {
    const format = nativeFormat(NATIVE_KEYS);
    const held = { holder: "h", fence: 1n };
    const ref = { name: "a", id: "a", key: { pk: { BOOL: true } } };
    const hold = { kernel: { format, tableName: "locks" }, held, ref } as unknown as Hold;
    expect(() => guardCondition(hold)).toThrowError(
      "A key or a guard has an attribute that is neither a string nor a number.",
    );
  });
});
