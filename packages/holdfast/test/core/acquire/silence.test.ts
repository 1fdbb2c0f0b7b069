import { beforeEach, describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { type Fault, keyOf } from "../../../../testing/src/faults/fault-plan.js";
import { partsOf } from "../../../src/client.js";
import { FailingCall } from "../../../src/core/failing-call.js";
import { OutageWatch } from "../../../src/core/outage-watch.js";
import type { Unavailable } from "../../../src/core/unavailable.js";
import { election } from "../../../src/election/index.js";
import { HoldfastError } from "../../../src/errors.js";
import { all, fairLock, inspect, mutex, once, semaphore } from "../../../src/index.js";
import { keepFor } from "../../../src/keep/index.js";
import { isNoAnswer } from "../../../src/platform/retry.js";
import type { ReadAnswer, WriteAnswer } from "../../../src/platform/table.js";

let world: World;
let mine: Inhabitant;
let errors: HoldfastError[];
beforeEach(() => {
  world = new World();
  errors = [];
  mine = world.inhabitant({ requestTimeout: "5s", onError: (error) => void errors.push(error) });
});

describe("a table that answers nothing", () => {
  it("is reported once, while acquisitions still wait", async () => {
    mine.network.script(() => ({ fault: "request-lost", unknownAfterMs: 100 }));
    const waiting = ["a", "b"].map((name) => mutex(mine.locks, name).acquire({ wait: "10m" }));
    for (const each of waiting) each.catch(() => undefined);
    await world.time.advance(4_000);
    expect(errors).toEqual([]);
    await world.time.advance(60_000);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: "unreachable", lockName: undefined });
    expect(errors[0]?.cause).toBeDefined();
  });

  it("is not reported to the caller of a single attempt, whose error says so", async () => {
    mine.network.script(() => ({ fault: "request-lost" }));
    const error = await world.until(
      mutex(mine.locks, "a")
        .tryAcquire()
        .catch((e) => e),
    );
    expect(error).toMatchObject({ code: "unreachable" });
    expect(errors).toEqual([]);
  });

  it("is not reported if the client gets other answers", async () => {
    mine.network.script((request) =>
      JSON.stringify(keyOf(request)).includes("lock#a") ? { fault: "request-lost" } : undefined,
    );
    mutex(mine.locks, "a")
      .acquire({ wait: "10m" })
      .catch(() => undefined);
    for (let i = 0; i < 30; i += 1) {
      await world.until(mutex(mine.locks, "b").run(() => undefined));
      await world.until(inspect(mine.locks, "b"));
      await world.time.advance(1_000);
    }
    expect(errors).toEqual([]);
  });

  it.each([
    ["2 s for a short request timeout", "200ms", 2_000],
    ["a request timeout", "7s", 7_000],
  ])("is reported after %s", async (_title, requestTimeout, afterMs) => {
    const one = world.inhabitant({ requestTimeout, onError: (error) => void errors.push(error) });
    one.network.script(() => ({ fault: "request-lost", unknownAfterMs: 50 }));
    mutex(one.locks, "a")
      .acquire({ wait: "10m" })
      .catch(() => undefined);
    await world.time.advance(afterMs - 100);
    expect(errors).toEqual([]);
    // The pauses between two requests grow.
    await world.time.advance(3_000);
    expect(errors).toHaveLength(1);
  });

  it.each([
    ["a mutex", (who: Inhabitant, wait: string) => mutex(who.locks, "a").acquire({ wait })],
    ["a fair lock", (who: Inhabitant, wait: string) => fairLock(who.locks, "a").acquire({ wait })],
    [
      "several locks",
      (who: Inhabitant, wait: string) => all(who.locks, ["a", "b"]).acquire({ wait }),
    ],
    [
      "a semaphore",
      (who: Inhabitant, wait: string) =>
        semaphore(who.locks, "a", { permits: 1 }).acquire({ wait }),
    ],
  ] as const)(
    "is reported once for each outage that begins while %s waits",
    async (_title, acquire) => {
      await world.until<unknown>(acquire(world.inhabitant(), "1s"));
      acquire(mine, "5h").catch(() => undefined);
      await world.time.advance(60_000);
      expect(errors).toEqual([]);
      for (let outage = 1; outage <= 2; outage += 1) {
        mine.network.script(() => ({ fault: "request-lost" }));
        // Two request timeouts after the first lost request, and the pause before it.
        await world.time.advance(10_000 + 5_000);
        expect(errors).toHaveLength(outage);
        await world.time.advance(600_000);
        expect(errors).toHaveLength(outage);
        mine.network.clear();
        await world.time.advance(120_000);
      }
      expect(errors).toMatchObject([{ code: "unreachable" }, { code: "unreachable" }]);
    },
  );

  it("is reported again if other calls of the client were answered meanwhile", async () => {
    await world.until(mutex(world.inhabitant().locks, "a").acquire());
    mutex(mine.locks, "a")
      .acquire({ wait: "5h" })
      .catch(() => undefined);
    await world.time.advance(60_000);
    for (let outage = 1; outage <= 3; outage += 1) {
      mine.network.script(() => ({ fault: "request-lost" }));
      await world.time.advance(60_000);
      expect(errors).toHaveLength(outage);
      mine.network.script((request) =>
        JSON.stringify(keyOf(request)).includes("lock#a") ? { fault: "request-lost" } : undefined,
      );
      await world.until(inspect(mine.locks, "b"));
    }
  });

  it.each([
    ["a mutex", () => mutex(mine.locks, "a"), () => mutex(mine.locks, "a")],
    ["a fair lock", () => fairLock(mine.locks, "a"), () => fairLock(mine.locks, "a")],
    [
      "a kept lock",
      () => mutex(mine.locks, "a", { keep: keepFor("1h") }),
      () => mutex(mine.locks, "a", { owner: "another" }),
    ],
  ] as const)(
    "is reported in time to a waiter of the process behind a release of %s",
    async (_title, held, wanted) => {
      const lease = await world.until(held().acquire({ lease: "2m" }));
      wanted()
        .acquire({ wait: "10m" })
        .catch(() => undefined);
      await world.time.advance(1_000);
      mine.network.script(() => ({ fault: "request-lost" }));
      lease.release().catch(() => undefined);
      await world.time.advance(4_900);
      expect(errors).toEqual([]);
      await world.time.advance(6_000);
      expect(errors).toMatchObject([{ code: "unreachable", lockName: undefined }]);
    },
  );

  it("is no reason any more for a waiter behind a release that was answered at last", async () => {
    const lease = await world.until(mutex(mine.locks, "a").acquire());
    const next = mutex(mine.locks, "a").acquire({ wait: "10m" });
    const last = mutex(mine.locks, "a")
      .acquire({ wait: "30s" })
      .catch((error: HoldfastError) => error);
    mine.network.next("write", { fault: "request-lost" });
    await world.until(lease.release());
    await world.until(next);
    expect(await world.until(last)).toMatchObject({ code: "not-acquired" });
    expect(errors).toEqual([]);
  });

  it("is reported in time if it begins with a read of a predecessor's session", async () => {
    const acquire = (who: Inhabitant) =>
      semaphore(who.locks, "a", { permits: 1 }).acquire({ wait: "5h" });
    await world.until(acquire(world.inhabitant()));
    for (const who of [world.inhabitant(), mine]) {
      acquire(who).catch(() => undefined);
      await world.time.advance(20_000);
    }
    // Not the session of the holder, which the waiter reads in the background.
    const predecessor = world.table
      .items()
      .find(({ pk }) => JSON.stringify(pk ?? {}).includes("queue"));
    const session = predecessor?.["session"];
    const id = session !== undefined && "S" in session ? session.S : "none";
    let lostMs: number | undefined;
    mine.network.script((request) => {
      const isOfSession = JSON.stringify(keyOf(request) ?? {}).includes(`session#${id}`);
      if (request.kind === "read" && isOfSession) lostMs ??= world.time.nowMs;
      return lostMs === undefined ? undefined : { fault: "request-lost", unknownAfterMs: 4_900 };
    });
    for (let i = 0; i < 1_000 && lostMs === undefined; i += 1) await world.time.advance(10);
    expect(lostMs).toBeDefined();
    await world.time.advance(10_000);
    expect(errors).toMatchObject([{ code: "unreachable" }]);
  });

  it("is reported while a candidate stands by, also if the requests fail at once", async () => {
    await world.until(election(world.inhabitant().locks, "boss").campaign());
    election(mine.locks, "boss")
      .campaign()
      .catch(() => undefined);
    await world.time.advance(60_000);
    mine.network.script(() => ({ fault: "request-lost", unknownAfterMs: 1 }));
    await world.time.advance(15_000);
    expect(errors).toMatchObject([{ code: "unreachable" }]);
  });

  it.each([
    [
      "a candidate stands by",
      ({ locks }: Inhabitant) => election(locks, "boss", { lease: "30s" }).campaign(),
    ],
    [
      "a call waits for a run",
      ({ locks }: Inhabitant) =>
        once(
          locks,
          "report",
          { occurrence: "1", ifInterrupted: "rerun", atMostFor: "30s" },
          () => new Promise<void>(() => undefined),
        ),
    ],
  ] as const)("is reported in time if it begins with a grant while %s", async (_title, call) => {
    const other = world.inhabitant();
    call(other).catch(() => undefined);
    await world.time.advance(1_000);
    call(mine).catch(() => undefined);
    await world.time.advance(10_000);
    other.process.kill();
    let lostMs: number | undefined;
    mine.network.script(({ kind }) => {
      if (kind === "write") lostMs ??= world.time.nowMs;
      return lostMs === undefined ? undefined : { fault: "request-lost" };
    });
    for (let i = 0; i < 600 && lostMs === undefined; i += 1) await world.time.advance(100);
    expect(lostMs).toBeDefined();
    await world.time.advance(10_100);
    expect(errors).toMatchObject([{ code: "unreachable" }]);
  });

  it("is reported in time if it begins when a preferred candidate asks the leader", async () => {
    const leads = election(world.inhabitant().locks, "boss").campaign();
    await world.until(leads);
    let lostMs: number | undefined;
    mine.network.script(({ kind }) => {
      if (kind === "write") lostMs ??= world.time.nowMs;
      return lostMs === undefined ? undefined : { fault: "request-lost" };
    });
    election(mine.locks, "boss", { preferred: true })
      .campaign()
      .catch(() => undefined);
    for (let i = 0; i < 600 && lostMs === undefined; i += 1) await world.time.advance(100);
    expect(lostMs).toBeDefined();
    await world.time.advance(10_100);
    expect(errors).toMatchObject([{ code: "unreachable" }]);
  });

  it.each(["skip", "rerun"] as const)(
    "is reported in time if it begins when a call of `once` names its occurrence (%s)",
    async (ifInterrupted) => {
      let writes = 0;
      mine.network.script(({ kind }) => {
        if (kind === "write") writes += 1;
        return writes > 1 ? { fault: "request-lost" } : undefined;
      });
      const options = { occurrence: "1", ifInterrupted, atMostFor: "1m" } as const;
      const called = once(mine.locks, "report", options, () => undefined).catch((e) => e);
      await world.time.advance(10_200);
      expect(errors).toMatchObject([{ code: "unreachable", lockName: undefined }]);
      expect(await world.until(called)).toMatchObject({ code: "lost" });
      await world.time.advance(120_000);
      expect(errors.filter(({ code }) => code === "unreachable")).toHaveLength(1);
    },
  );

  it("is not one lost request", async () => {
    await world.until(mutex(world.inhabitant().locks, "a").acquire());
    mutex(mine.locks, "a")
      .acquire({ wait: "5h" })
      .catch(() => undefined);
    for (let i = 0; i < 20; i += 1) {
      await world.time.advance(30_000);
      mine.network.next("read", { fault: "request-lost" });
    }
    expect(errors).toEqual([]);
  });

  it("is reported once by many calls, also while it ends for one after another", async () => {
    mine.network.script(() => (world.time.nowMs < 5_000 ? { fault: "throttled" } : undefined));
    const names = Array.from({ length: 300 }, (_, at) => `lock ${at}`);
    const got = names.map((name) => mutex(mine.locks, name).acquire({ wait: "10m" }));
    await world.until(Promise.all(got));
    expect(errors.map(({ code }) => code)).toEqual(["throttled"]);
  });

  it("is reported with the reason if the table refuses every request", async () => {
    await world.until(mutex(world.inhabitant().locks, "a").acquire());
    mutex(mine.locks, "a")
      .acquire({ wait: "5h" })
      .catch(() => undefined);
    await world.time.advance(60_000);
    mine.network.script(() => ({ fault: "throttled" }));
    await world.time.advance(600_000);
    expect(errors).toMatchObject([{ code: "throttled", lockName: undefined }]);
  });
});

// A policy refuses; a failure of the table's leaders, or a proxy before it, leaves without answer.
describe("a table that serves reads and no write", () => {
  const calls = [
    ["a mutex", (who: Inhabitant) => mutex(who.locks, "a").acquire({ wait: "5h" })],
    ["a fair lock", (who: Inhabitant) => fairLock(who.locks, "a").acquire({ wait: "5h" })],
    ["several locks", (who: Inhabitant) => all(who.locks, ["a", "b"]).acquire({ wait: "5h" })],
    [
      "a semaphore",
      (who: Inhabitant) => semaphore(who.locks, "a", { permits: 1 }).acquire({ wait: "5h" }),
    ],
    ["a candidate", (who: Inhabitant) => election(who.locks, "boss").campaign()],
    [
      "a call that waits for a run",
      (who: Inhabitant) =>
        once(
          who.locks,
          "report",
          { occurrence: "1", ifInterrupted: "rerun", atMostFor: "30s" },
          () => new Promise<void>(() => undefined),
        ),
    ],
  ] as const;

  it.each(
    calls.flatMap(([what, call]) =>
      (
        [
          ["request-lost", "unreachable"],
          ["throttled", "throttled"],
        ] as const
      ).map(([fault, code]) => [what, fault, code, call] as const),
    ),
  )("is reported once while %s waits: %s", async (_what, fault, code, call) => {
    const other = world.inhabitant();
    call(other).catch(() => undefined);
    await world.time.advance(1_000);
    call(mine).catch(() => undefined);
    await world.time.advance(10_000);
    expect(errors).toEqual([]);
    other.process.kill();
    let failedMs: number | undefined;
    mine.network.script(({ kind }) => {
      if (kind === "read") return undefined;
      failedMs ??= world.time.nowMs;
      return { fault };
    });
    for (let i = 0; i < 600 && failedMs === undefined; i += 1) await world.time.advance(100);
    expect(failedMs).toBeDefined();
    await world.time.advance(60_000);
    expect(errors).toMatchObject([{ code, lockName: undefined }]);
    await world.time.advance(3_600_000);
    expect(errors).toHaveLength(1);
  });
});

describe("calls that wait in an outage", () => {
  const THROTTLED: Fault = { fault: "throttled" };
  const LOST: Fault = { fault: "request-lost", unknownAfterMs: 10 };
  const DENIED: Fault = {
    fault: "misconfigured",
    error: new HoldfastError("access-denied", "The token has expired."),
  };
  const codes = (): readonly string[] => errors.map(({ code }) => code);
  const contextOf = () => partsOf(mine.locks, "a test").context;

  /** A call that waits. Each request gets the fault, or is served. */
  function calling() {
    const context = contextOf();
    const watch = new OutageWatch(context, context.nowMs());
    const { key } = context.format.codec.refOf("lock", "a");
    const hear = async (sent: Promise<WriteAnswer | ReadAnswer>): Promise<void> => {
      const answer = context.healing(await world.until(sent));
      if (isNoAnswer(answer)) watch.onNoResponse(answer);
      else watch.onResponse();
    };
    const plan = (kind: "read" | "write", fault: Fault | undefined): void => {
      if (fault !== undefined) mine.network.next(kind, fault);
    };
    return {
      watch,
      read(fault?: Fault): Promise<void> {
        plan("read", fault);
        return hear(context.read({ key, consistent: false }, 1_000));
      },
      write(fault?: Fault): Promise<void> {
        plan("write", fault);
        const condition = { kind: "absent", attribute: "other" } as const;
        const change = { set: { some: { S: "text" } }, remove: [] };
        return hear(context.write({ key, condition, change }, 1_000));
      },
    };
  }

  /** Does something once a second. */
  async function eachSecond(seconds: number, work: () => Promise<void>): Promise<void> {
    for (let at = 0; at < seconds; at += 1) {
      await work();
      await world.time.advance(1_000);
    }
  }

  it("is reported although reads were silent before, and served for no call since", async () => {
    const one = calling();
    for (let at = 0; at < 10; at += 1) {
      await one.read({ fault: "request-lost" });
      await one.write();
    }
    expect(codes()).toEqual(["unreachable"]);
    await world.time.advance(60_000);
    await one.read({ fault: "request-lost" });
    // Two request timeouts from the first failure.
    for (let at = 0; at < 9; at += 1) await one.write({ fault: "request-lost" });
    expect(errors).toHaveLength(2);
    one.watch.dispose();
  });

  it("is reported in time after words that became rare, although reads are silent for longer", async () => {
    const [one, other] = [calling(), calling()];
    await eachSecond(10, () => one.read(LOST));
    for (let round = 0; round < 6; round += 1) {
      await other.write();
      await eachSecond(20, () => one.write(LOST));
    }
    await one.write();
    await world.time.advance(120_000);
    const before = errors.length;
    await one.read(LOST);
    await eachSecond(8, () => one.write(LOST));
    expect(errors.length).toBe(before + 1);
  });

  it.each([
    ["silent, then throttled", [LOST, THROTTLED]],
    ["throttled, then silent", [THROTTLED, LOST]],
  ] as const)("are told of both, with what is not served: writes %s", async (_title, faults) => {
    const one = calling();
    for (const fault of faults) {
      await eachSecond(8, async () => {
        await one.write(fault);
        await one.read();
      });
    }
    expect(codes()).toEqual(faults.map((fault) => (fault === LOST ? "unreachable" : "throttled")));
    expect(errors[0]?.message).toMatch(/ has served no write of a waiting call for 5\d{3} ms: /);
  });

  it("are not told of single refused requests", async () => {
    const one = calling();
    for (let at = 0; at < 10; at += 1) {
      await one.write(THROTTLED);
      await world.time.advance(29_000);
      await one.write();
    }
    expect(errors).toEqual([]);
  });

  it.each([
    ["a conflict", (): Unavailable => ({ kind: "conflict", cause: undefined })],
    ["requests before theirs", (): Unavailable => contextOf().whyQueued(contextOf().nowMs())],
  ])("are told nothing of %s", async (_title, why) => {
    const { watch } = calling();
    await eachSecond(20, async () => watch.onNoResponse(why()));
    expect(errors).toEqual([]);
  });

  it("are told nothing once they have ended", async () => {
    const one = calling();
    one.watch.dispose();
    await one.read(DENIED);
    await eachSecond(20, () => one.write(LOST));
    expect(errors).toEqual([]);
  });

  it("are told of a refusal at once, also just after an outage", async () => {
    const one = calling();
    await eachSecond(6, () => one.write(THROTTLED));
    await one.write(DENIED);
    expect(codes()).toEqual(["throttled", "access-denied"]);
  });

  it("are told of an outage in time, also just after a long one", async () => {
    const one = calling();
    await eachSecond(22, () => one.write(THROTTLED));
    await one.write(LOST);
    await one.write();
    expect(codes()).toEqual(["throttled", "unreachable"]);
    await eachSecond(7, () => one.write(THROTTLED));
    expect(codes()).toEqual(["throttled", "unreachable", "throttled"]);
  });

  it("are told seldom of one record, also if others are served seldom", async () => {
    const [one, other] = [calling(), calling()];
    for (let round = 0; round < 120; round += 1) {
      await eachSecond(20, () => one.write(LOST));
      await other.write();
    }
    expect(errors.length).toBeLessThan(20);
  });

  it("are told of an outage in time, also just after refusals", async () => {
    const one = calling();
    for (let at = 0; at < 3; at += 1) {
      await one.write(DENIED);
      await one.write();
    }
    await eachSecond(6, () => one.write(LOST));
    expect(codes()).toEqual([...Array<string>(3).fill("access-denied"), "unreachable"]);
  });

  it("are told of an outage again if one of them fails after the others were served", async () => {
    const [one, other] = [calling(), calling()];
    await one.write(THROTTLED);
    await eachSecond(6, () => other.write(THROTTLED));
    expect(codes()).toEqual(["throttled"]);
    await other.write();
    await world.time.advance(30_000);
    expect(errors).toHaveLength(1);
    await one.write(THROTTLED);
    await world.time.advance(100);
    expect(codes()).toEqual(["throttled", "throttled"]);
  });

  it("are told of an outage once, also while it ends for one of them first", async () => {
    const [one, other] = [calling(), calling()];
    await eachSecond(8, async () => {
      await one.write(THROTTLED);
      await other.write(THROTTLED);
    });
    await one.write();
    await eachSecond(8, () => other.write(THROTTLED));
    expect(codes()).toEqual(["throttled"]);
  });

  it("are told of throttled writes after another was told of silent reads", async () => {
    const [one, other] = [calling(), calling()];
    await eachSecond(3, () => other.read(LOST));
    await eachSecond(8, async () => {
      await one.write(THROTTLED);
      await other.read(LOST);
    });
    expect(codes()).toEqual(["unreachable", "throttled"]);
  });

  it("are told of an outage just after a long one", async () => {
    const one = calling();
    await eachSecond(400, () => one.read(LOST));
    await one.read();
    expect(errors).toHaveLength(1);
    await eachSecond(7, () => one.read(LOST));
    expect(codes()).toEqual(["unreachable", "unreachable"]);
  });

  it("are told seldom of one record, and of each outage again after a while", async () => {
    const [one, other] = [calling(), calling()];
    await eachSecond(1_200, async () => {
      await one.write(LOST);
      if (world.time.nowMs % 7_000 < 1_000) await other.write();
    });
    const before = errors.length;
    expect(before).toBeGreaterThan(4);
    expect(before).toBeLessThan(10);
    await one.write();
    await world.time.advance(3_600_000);
    for (let outage = 1; outage <= 2; outage += 1) {
      await eachSecond(8, () => one.write(LOST));
      await one.write();
      expect(errors).toHaveLength(before + outage);
    }
  });

  describe("beside those that go on for ever", () => {
    const SILENT = new HoldfastError("unreachable", "The table does not answer.");

    it("are told of an outage once", () => {
      const [one, other] = [new FailingCall(contextOf()), new FailingCall(contextOf())];
      expect(one.onFailure(SILENT)).toBe(true);
      expect(other.onFailure(SILENT)).toBe(false);
      expect(errors).toEqual([SILENT]);
    });

    it.each(["before", "after"])("are told of one silence once: %s those", async (when) => {
      const one = calling();
      const failing = new FailingCall(contextOf());
      await one.read(LOST);
      if (when === "after") failing.onFailure(SILENT);
      await eachSecond(8, () => one.read(LOST));
      failing.onFailure(SILENT);
      expect(codes()).toEqual(["unreachable"]);
    });

    it("are told of a silence after those were told of another outage", async () => {
      new FailingCall(contextOf()).onFailure(SILENT);
      const one = calling();
      await eachSecond(8, () => one.read(LOST));
      expect(codes()).toEqual(["unreachable", "unreachable"]);
    });

    it("are told of a refusal, and those of the outage", async () => {
      const failing = new FailingCall(contextOf(), { tries: 2, lastsMs: 5_000 });
      failing.onFailure(SILENT);
      await world.time.advance(1_000);
      await calling().write(DENIED);
      await world.time.advance(5_000);
      failing.onFailure(SILENT);
      expect(codes()).toEqual(["access-denied", "unreachable"]);
    });
  });
});
