import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  lockClientFailOpen,
} from "../../src/formats/index.js";
import { lockMiddleware, withLock } from "../../src/lambda/index.js";
import { lean } from "../../src/lean/index.js";
import { HoldfastModule } from "../../src/nestjs/module.js";
import { Once } from "../../src/nestjs/once.js";
import { WithLock } from "../../src/nestjs/with-lock.js";
import { nodeCronCoordinator } from "../../src/node-cron/index.js";
import { objectCommitter } from "../../src/object-commit/index.js";
import {
  checkTable,
  createTable,
  diagnose,
  diagnoseEngine,
  policyFor,
} from "../../src/table/index.js";
import { startTelemetry } from "../../src/telemetry/index.js";
import { local, MemoryObjects } from "../../src/testing/index.js";
import { expectErrorToBe } from "../support/errors.js";

/** A misspelt `lease` left the default in place, and nothing said so. */
type Options = Record<string, unknown>;
type Function = (...given: unknown[]) => unknown;

const locks = local({ table: "unknown-options" });
const held = () => locks.mutex("held", { wait: 0 }).acquire();
const client = { send: () => Promise.reject(new Error("No request is sent.")) };
const committer = () => objectCommitter({ s3: new MemoryObjects(), bucket: "b" });
const task = { name: "t", every: "1m", run: () => undefined };

/** Every public function with options: how to call it with these options. */
const CALLS: Record<string, (options: Options) => unknown> = {
  Holdfast: (o) => local(o),
  "Holdfast: poll": (poll) => local({ poll }),
  mutex: (o) => locks.mutex("x", o),
  fairLock: (o) => locks.fairLock("x", o),
  multiLock: (o) => locks.multiLock(["x"], o),
  semaphore: (o) => locks.semaphore("x", { ...o, permits: 1 }),
  readWriteLock: (o) => locks.readWriteLock("x", o),
  "Semaphore.acquire": (o) => locks.semaphore("x", { permits: 1 }).acquire(o),
  "Semaphore.tryAcquire": (o) => locks.semaphore("x", { permits: 1 }).tryAcquire(o),
  "Semaphore.run": (o) => locks.semaphore("x", { permits: 1 }).run(o, () => undefined),
  "PermitLock.acquire": (o) => locks.readWriteLock("x").read().acquire(o),
  "PermitLock.tryAcquire": (o) => locks.readWriteLock("x").write().tryAcquire(o),
  "PermitLock.run": (o) =>
    locks
      .readWriteLock("x")
      .read()
      .run(o, () => undefined),
  session: (o) => locks.session(o),
  election: (o) => locks.election("x", o),
  leaderTasks: (o) => locks.leaderTasks({ ...o, name: "x", tasks: [task] }),
  "leaderTasks: a task": (o) => locks.leaderTasks({ name: "x", tasks: [{ ...task, ...o }] }),
  once: (o) => locks.once("x", { ...o, occurrence: "1" }, () => undefined),
  inspect: (o) => locks.inspect("x", o),
  import: (o) => locks.import(undefined as never, o),
  "Lock.acquire": (o) => locks.mutex("x").acquire(o),
  "Lock.tryAcquire": (o) => locks.mutex("x").tryAcquire(o),
  "Lock.run": (o) => locks.mutex("x").run(o, () => undefined),
  "MultiLock.acquire": (o) => locks.multiLock(["x"]).acquire(o),
  "MultiLock.tryAcquire": (o) => locks.multiLock(["x"]).tryAcquire(o),
  "MultiLock.run": (o) => locks.multiLock(["x"]).run(o, () => undefined),
  "Lease.renew": async (o) => withLease((lease) => lease.renew(o)),
  "Lease.release": async (o) => withLease((lease) => lease.release(o)),
  "Lease.export": async (o) => withLease((lease) => lease.export(o)),
  "Session.close": async (o) => {
    await using session = await locks.session();
    await session.close(o);
  },
  "Election.campaign": (o) => locks.election("x").campaign(o),
  "Election.lead": (o) => locks.election("x").lead(o, () => undefined),
  "Election.requestResign": (o) => locks.election("x").requestResign(o),
  "Election.observe": (o) => locks.election("x").observe(o).next(),
  "Admin.list": (o) => locks.admin.list(o)[Symbol.asyncIterator]().next(),
  "Admin.queue": (o) => locks.admin.queue("x", o),
  "Admin.history": (o) => locks.admin.history("x", o),
  "Admin.releaseByHolder": (o) => locks.admin.releaseByHolder("x", "h", o),
  "Admin.forceRelease": (o) => locks.admin.forceRelease("x", { ...o, reason: "r" }),
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

async function withLease(use: (lease: Awaited<ReturnType<typeof held>>) => Promise<unknown>) {
  const lease = await held();
  try {
    await use(lease);
  } finally {
    await lease.release();
  }
}

describe("an option that does not exist", () => {
  it.each(Object.entries(CALLS))("is refused: %s", async (_call, call) => {
    const refused = await errorOf(() => call({ leese: "1m" }));
    expectErrorToBe(refused, { code: "invalid-argument", mentions: ["leese"] });
  });

  it.each(["constructor", "toString", "__proto__"])("is refused with the name %s", (name) => {
    const options = JSON.parse(`{ "${name}": true }`);
    expect(() => locks.mutex("x", options)).toThrow(new RegExp(name));
  });

  it("is refused with the value undefined, too", () => {
    expect(() => locks.mutex("x", { leese: undefined } as object)).toThrow(/`leese`/);
  });

  it.each([null, "30s", 5, ["30s"], true])(
    "is not an option of %o, which is no object",
    (options) => {
      expect(() => locks.mutex("x", options as never)).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );

  it("is refused wherever the library takes options", () => {
    const files = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/^(?:cli|testing)\//.test(path))
      .map((path) => ({ path, text: readFileSync(join("src", path), "utf8") }));
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
  // `AnyAcquireOptions` has the same names.
  "AcquireOptions",
  // `tryAcquire` of several locks takes the names of `acquire`.
  "MultiTryOptions",
  // One name, written where the call checks it.
  "ReleaseByHolderOptions",
  // Inside the library alone: the compiler checks them.
  ...["FreeOptions", "GrantOptions", "KeptOptions", "RaiseOptions", "RetryOptions"],
  "TombstoneOptions",
];

async function errorOf(call: Function): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}
