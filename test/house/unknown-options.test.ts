import { describe, expect, it } from "vitest";
import { diagnoseEngine } from "../../packages/cli/src/engine/diagnose-engine.js";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  lockClientFailOpen,
} from "../../packages/formats/src/index.js";
import {
  forceRelease,
  history,
  interruptHolder,
  listLocks,
  listQueue,
  releaseByHolder,
  survey,
} from "../../packages/holdfast/src/admin/index.js";
import { assign, slot } from "../../packages/holdfast/src/assign/index.js";
import { coalesce, runOwed } from "../../packages/holdfast/src/coalesce/index.js";
import { election, leaderTasks } from "../../packages/holdfast/src/election/index.js";
import {
  adoptLease,
  all,
  condition,
  conditions,
  exportLease,
  fairLock,
  inspect,
  isHoldfastError,
  mutex,
  once,
  openSession,
  readLock,
  semaphore,
  sharedSession,
  writeLock,
} from "../../packages/holdfast/src/index.js";
import { lockMiddleware, withLock } from "../../packages/holdfast/src/lambda/index.js";
import { lean } from "../../packages/holdfast/src/lean/index.js";
import { HoldfastModule } from "../../packages/holdfast/src/nestjs/module.js";
import { Once } from "../../packages/holdfast/src/nestjs/once.js";
import { WithLock } from "../../packages/holdfast/src/nestjs/with-lock.js";
import { nodeCronCoordinator } from "../../packages/holdfast/src/node-cron/index.js";
import { ring } from "../../packages/holdfast/src/ring/index.js";
import { schedule } from "../../packages/holdfast/src/schedule/index.js";
import {
  checkTable,
  createTable,
  diagnose,
  policyFor,
} from "../../packages/holdfast/src/table/index.js";
import { startTelemetry } from "../../packages/holdfast/src/telemetry/index.js";
import { objectCommitter } from "../../packages/object-commit/src/index.js";
import {
  FaultyObjects,
  FaultyTable,
  local,
  MemoryDynamoDB,
  MemoryObjects,
  MemoryTable,
  startFaultProxy,
  startMemoryServer,
  unlocked,
  VirtualTime,
} from "../../packages/testing/src/index.js";
import { expectErrorToBe, expectThrown } from "../support/errors.js";
import { sourcePaths, textOf } from "./source.js";

/** A misspelt `lease` left the default in place, and nothing said so. */
type Options = Record<string, unknown>;
type Function = (...given: unknown[]) => unknown;

const locks = local({ table: "unknown-options", wait: 0 });
const held = () => mutex(locks, "held", { wait: 0 }).acquire();
const client = { send: () => Promise.reject(new Error("No request is sent.")), config: {} };
const committer = () => objectCommitter({ s3: new MemoryObjects(), bucket: "b" });
const task = { name: "t", every: "1m", run: () => undefined };

/** Every public function with options: how to call it with these options. */
const CALLS: Record<string, (options: Options) => unknown> = {
  Holdfast: (o) => local(o),
  "Holdfast: poll": (poll) => local({ poll }),
  mutex: (o) => mutex(locks, "x", o),
  fairLock: (o) => fairLock(locks, "x", o),
  all: (o) => all(locks, ["x"], o),
  semaphore: (o) => semaphore(locks, "x", { ...o, permits: 1 }),
  readLock: (o) => readLock(locks, "x", o),
  writeLock: (o) => writeLock(locks, "x", o),
  "Semaphore.acquire": (o) => semaphore(locks, "x", { permits: 1 }).acquire(o),
  "Semaphore.tryAcquire": (o) => semaphore(locks, "x", { permits: 1 }).tryAcquire(o),
  "Semaphore.run": (o) => semaphore(locks, "x", { permits: 1 }).run(o, () => undefined),
  "PermitLock.acquire": (o) => readLock(locks, "x").acquire(o),
  "PermitLock.tryAcquire": (o) => writeLock(locks, "x").tryAcquire(o),
  "PermitLock.run": (o) => readLock(locks, "x").run(o, () => undefined),
  openSession: (o) => openSession(locks, o),
  election: (o) => election(locks, "x", o),
  leaderTasks: (o) => leaderTasks(locks, { ...o, name: "x", tasks: [task] }),
  "leaderTasks: a task": (o) => leaderTasks(locks, { name: "x", tasks: [{ ...task, ...o }] }),
  once: (o) => once(locks, "x", { ...o, occurrence: "1" }, () => undefined),
  assign: (o) => assign(locks, "g", { names: () => ["a"], run: () => undefined, ...o }),
  slot: (o) => slot(locks, "g", { of: 1, ...o }),
  schedule: (o) => schedule(locks, "x", { every: "1m", ...o } as never, () => undefined),
  coalesce: (o) => coalesce(locks, "x", o, () => undefined),
  runOwed: (o) => runOwed(locks, "x", o, () => undefined),
  ring: (o) => ring({ host: "127.0.0.1", ...o }),
  sharedSession: (o) => sharedSession(o as never),
  inspect: (o) => inspect(locks, "x", o),
  adoptLease: (o) => adoptLease(locks, undefined as never, o),
  "Lock.acquire": (o) => mutex(locks, "x").acquire(o),
  "Lock.tryAcquire": (o) => mutex(locks, "x").tryAcquire(o),
  "Lock.run": (o) => mutex(locks, "x").run(o, () => undefined),
  "MultiLock.acquire": (o) => all(locks, ["x"]).acquire(o),
  "MultiLock.tryAcquire": (o) => all(locks, ["x"]).tryAcquire(o),
  "MultiLock.run": (o) => all(locks, ["x"]).run(o, () => undefined),
  "Lease.renew": async (o) => withLease((lease) => lease.renew(o)),
  "Lease.release": async (o) => withLease((lease) => lease.release(o)),
  exportLease: async (o) => withLease((lease) => exportLease(lease, o)),
  condition: async (o) => withLease(async (lease) => condition(lease, o)),
  conditions: async (o) => withLease(async (lease) => conditions(lease, o)),
  "Session.close": async (o) => {
    await using session = await openSession(locks);
    await session.close(o);
  },
  "Election.campaign": (o) => election(locks, "x").campaign(o),
  "Election.lead": (o) => election(locks, "led").lead(o, () => undefined),
  "Election.requestResign": (o) => election(locks, "x").requestResign(o),
  "Election.observe": (o) => election(locks, "x").observe(o).next(),
  "Admin.list": (o) => listLocks(locks, o)[Symbol.asyncIterator]().next(),
  "Admin.queue": (o) => listQueue(locks, "x", o),
  "Admin.history": (o) => history(locks, "x", o),
  "Admin.survey": (o) => survey(locks, o),
  "Admin.interruptHolder": (o) => interruptHolder(locks, "x", o),
  "Admin.releaseByHolder": (o) => releaseByHolder(locks, "x", "h", o),
  "Admin.forceRelease": (o) => forceRelease(locks, "unheld", { ...o, reason: "r" }),
  "Admin.forceRelease of a permit": (o) =>
    forceRelease(locks, "x", { ...o, kind: "semaphore", holder: "h", reason: "r" }),
  awsLockClient: (o) => awsLockClient(o),
  dynamolock: (o) => dynamolock(o),
  dynamodbLease: (o) => dynamodbLease(o),
  lockClientFailOpen: (o) => lockClientFailOpen(o),
  withLock: (o) => withLock({ ...o, locks, name: "x" }, () => undefined),
  lockMiddleware: (o) => lockMiddleware({ ...o, locks, name: "x" }),
  lean: (o) => lean(client as never, o),
  forRootAsync: (o) => HoldfastModule.forRootAsync({ ...o, useFactory: () => locks }),
  "@Once": (o) => Once({ ...o, occurrence: () => 1 }),
  "@WithLock": (o) => WithLock("x", o),
  nodeCronCoordinator: (o) => nodeCronCoordinator(locks, o),
  startTelemetry: (o) => startTelemetry({ ...o, meter: false, tracer: false }),
  createTable: (o) => createTable({ ...o, client, table: "unknown" } as never),
  checkTable: (o) => checkTable({ ...o, client, table: "unknown" } as never),
  diagnose: (o) => diagnose({ ...o, client, table: "unknown" } as never),
  diagnoseEngine: (o) => diagnoseEngine({ ...o, client, table: "unknown" } as never),
  policyFor: (o) => policyFor({ ...o, for: ["lock"], table: "unknown" }),
  objectCommitter: (o) => objectCommitter({ ...o, s3: new MemoryObjects(), bucket: "b" }),
  putIfAbsent: (o) => committer().putIfAbsent("k", "", o),
  putIfMatch: (o) => committer().putIfMatch("k", '"e"', "", o),
  update: (o) => committer().update("k", () => "", o),
  copyIfAbsent: (o) => committer().copyIfAbsent("k", "l", o),
  renameIfAbsent: (o) => committer().renameIfAbsent("k", "l", o),
  delete: (o) => committer().delete("k", o),
  read: (o) => committer().read("k", o),
  "inspect of an object": (o) => committer().inspect("k", o),
};

/** The same for the tools for tests. */
const TOOLS: Record<string, (options: Options) => unknown> = {
  local,
  unlocked,
  VirtualTime: (o) => new VirtualTime(o),
  runUntil: (o) => new VirtualTime().runUntil(Promise.resolve(), o),
  process: (o) => new VirtualTime().process(o),
  pendingTimers: (o) => new VirtualTime().process().pendingTimers(o),
  pause: (o) => new VirtualTime().process().pause(o),
  resume: (o) => new VirtualTime().process().resume(o),
  block: (o) => new VirtualTime().process().block(1, o),
  MemoryTable: (o) => new MemoryTable(o),
  FaultyTable: (o) => new FaultyTable(new MemoryTable(), undefined, o),
  MemoryObjects: (o) => new MemoryObjects(o),
  FaultyObjects: (o) => new FaultyObjects(new MemoryObjects(), undefined, o),
  MemoryDynamoDB: (o) => new MemoryDynamoDB(o as never),
  startMemoryServer: (o) => startMemoryServer(o),
  startFaultProxy: (o) => startFaultProxy(o as never),
};

async function withLease(use: (lease: Awaited<ReturnType<typeof held>>) => Promise<unknown>) {
  const lease = await held();
  try {
    await use(lease);
  } finally {
    await lease.release();
  }
}

describe("an option that does not exist", () => {
  it.each(Object.entries({ ...CALLS, ...TOOLS }))("is refused: %s", async (_call, call) => {
    const refused = await errorOf(() => call({ leese: "1m" }));
    expectErrorToBe(refused, { code: "invalid-argument", mentions: ["leese"] });
  });

  it.each(Object.entries(TOOLS))("is not looked for in what is no object: %s", async (_, call) => {
    for (const wrong of [null, 5]) {
      const refused = await errorOf(() => call(wrong as never));
      expectErrorToBe(refused, { code: "invalid-argument", mentions: ["object"] });
    }
  });

  it.each(["constructor", "toString", "__proto__"])("is refused with the name %s", (name) => {
    const options = JSON.parse(`{ "${name}": true }`);
    expect(() => mutex(locks, "x", options)).toThrow(new RegExp(name));
  });

  it("is refused with the value undefined, too", () => {
    expect(() => mutex(locks, "x", { leese: undefined } as object)).toThrow(/`leese`/);
  });

  it.each([null, "30s", 5, ["30s"], true])(
    "is not an option of %o, which is no object",
    (options) => {
      expect(() => mutex(locks, "x", options as never)).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );

  it("is refused wherever the library takes options", () => {
    const files = sourcePaths()
      .filter((path) => !/^packages\/cli\/src\/(?!engine\/)/.test(path))
      .map((path) => ({ path, text: textOf(path) }));
    const declared = files.flatMap(({ text }) =>
      [...text.matchAll(/^export (?:interface|type) (\w+Options)\b/gm)].map(([, name]) => name),
    );
    const checked = files.flatMap(({ text }) =>
      [...text.matchAll(/OptionNames<(?:[^>]*\b)?(\w+Options)\b/g)].map(([, name]) => name),
    );
    expect(declared.length).toBeGreaterThan(30);
    const missing = declared.filter((name) => !checked.includes(name));
    expect(missing.sort()).toEqual([...NOT_CHECKED].sort());
  });
});

const NOT_CHECKED = [
  // Those of a client, which checks them.
  "LocalOptions",
  // Two of the options of an acquisition, which checks them.
  "QueueOptions",
  // One name, written where the call checks it.
  "ReleaseByHolderOptions",
  // Inside the library alone: the compiler checks them.
  ...["FreeOptions", "GrantOptions", "RetryOptions"],
];

/** `campaign({ signal: "stop" })` rejected with a TypeError, because only acquisitions checked the option. */
describe("a signal that is no AbortSignal", () => {
  it.each(Object.entries(CALLS))("is refused: %s", async (_call, call) => {
    for (const signal of ["stop", null, {}]) {
      const refused = await errorOf(() => call({ signal }));
      expectErrorToBe(refused, { code: "invalid-argument", mentions: ["`signal`"] });
    }
  });

  it("leaves a candidate able to campaign", async () => {
    const candidate = election(locks, "free");
    await errorOf(() => candidate.campaign({ signal: "stop" as never }));
    const term = await candidate.campaign();
    await term.release();
  });
});

/** A symbol in a message was a TypeError, and so was 0n as `maxClockDrift`, by the first deadline. */
describe("a value of a type that no option has", () => {
  const wrong = [
    1n,
    0n,
    Symbol("wrong"),
    Object.create(null, { of: { value: 1n, enumerable: true } }),
  ];

  it.each(Object.entries(CALLS))("is never a TypeError: %s", async (_call, call) => {
    const { message } = (await errorOf(() => call({ leese: "1m" }))) as Error;
    const [, ...names] = [...message.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? "");
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      for (const value of wrong) {
        const error = await errorOf(() => call({ [name]: value }));
        expect(error === undefined || isHoldfastError(error), `${name}: ${error}`).toBe(true);
      }
    }
  });

  it("is refused as a length of time", () => {
    for (const lease of wrong) {
      const error = { code: "invalid-argument", mentions: ["`lease`"] } as const;
      expectThrown(() => mutex(locks, "x", { lease: lease as never }), error);
    }
  });
});

async function errorOf(call: Function): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}
