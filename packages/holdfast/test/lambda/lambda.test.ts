import middy from "@middy/core";
import type { Context } from "aws-lambda";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { pause } from "../../../../test/support/sdk.js";
import { inWorld } from "../../../../test/support/world.js";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  lockClientFailOpen,
} from "../../../formats/src/index.js";
import { MemoryDynamoDB, memoryClient } from "../../../testing/src/index.js";
import { forceRelease } from "../../src/admin/index.js";
import type { FormatTypes } from "../../src/core/record/format-types.js";
import {
  adoptLease,
  type DynamoDBLike,
  exportLease,
  Holdfast,
  type HoldfastError,
  inspect,
  type Lease,
  mutex,
} from "../../src/index.js";
import { type LockOptions, leaseOf, lockMiddleware, withLock } from "../../src/lambda/index.js";
import { interrupt, listen } from "../../src/requests/index.js";
import { createTable } from "../../src/table/index.js";

const context = (remainingMs: number) => {
  const endMs = Date.now() + remainingMs;
  return { getRemainingTimeInMillis: () => endMs - Date.now() };
};

let sent: number;
let client: DynamoDBLike;
let locks: Holdfast;
let rivals: Holdfast;
const poll = { min: "20ms", max: "50ms" } as const;

beforeEach(async () => {
  const dynamodb = new MemoryDynamoDB({ nowMs: Date.now });
  const plain = memoryClient(dynamodb);
  await createTable({ client: plain, table: "locks" });
  sent = 0;
  client = {
    config: plain.config,
    send: (command, options) => {
      sent += 1;
      return (plain as DynamoDBLike).send(command, options);
    },
  };
  locks = new Holdfast({ client, table: "locks", poll });
  rivals = new Holdfast({ client: plain, table: "locks", poll });
});
afterEach(async () => {
  await Promise.all([locks.close(), rivals.close()]);
});

const timeouts = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("a handler with a lock", () => {
  const options = (more: object = {}): LockOptions<string> => {
    return { locks, name: (event) => `order/${event}`, ...more };
  };

  it("has a lease no longer than the remaining time, and leaves no background work", async () => {
    const before = timeouts();
    const handler = withLock(options(), async (event, _, lease) => {
      expect(lease.leaseMs).toBe(2_500);
      return `${event} by ${lease.name}`;
    });
    // Without a clock: on a slow machine, the answer to the grant would leave so much less that a write shortens the lease.
    const inTime = { getRemainingTimeInMillis: () => 3_000 };
    expect(await handler("42", inTime)).toBe("42 by order/42");
    // A write to acquire, a write to release, and no renewal.
    expect(sent).toBe(2);
    expect(timeouts()).toBe(before);
    expect((await inspect(rivals, "order/42")).state).toBe("free");
    await pause(300);
    expect(sent).toBe(2);
  });

  it.each([{}, { reuse: true }])(
    "does not run if the answer to its grant leaves less time than it needs: %j",
    async (more) => {
      const slow: DynamoDBLike = {
        config: client.config,
        send: async (command, how) => {
          const output = await client.send(command, how);
          await pause(400);
          return output;
        },
      };
      const mine = new Holdfast({ client: slow, table: "locks" });
      let runs = 0;
      const settings = options({ locks: mine, needs: "800ms", ...more });
      const run = () => {
        runs += 1;
        return "done";
      };
      const error = await errorOf(withLock(settings, run)("42", context(1_500)));
      expect(error).toMatchObject({ code: "not-acquired", lockName: "order/42" });
      const onBusy = () => "too late";
      expect(await withLock({ ...settings, onBusy }, run)("42", context(1_500))).toBe("too late");
      expect(runs).toBe(0);
      expect(await inspect(rivals, "order/42")).toMatchObject({ state: "free", data: undefined });
      expect(await withLock(settings, run)("42", context(3_000))).toBe("done");
      await mine.close();
    },
  );

  it.each([
    ["awsLockClient", awsLockClient()],
    ["dynamolock", dynamolock()],
    ["dynamodbLease", dynamodbLease()],
    ["lockClientFailOpen", lockClientFailOpen()],
  ] as const)("is refused with `reuse` in the format %s, before it runs", async (_, format) => {
    const foreign = new Holdfast<FormatTypes>({ client, table: "foreign", format });
    const settings = { locks: foreign as Holdfast, name: "order/42", reuse: true };
    const refused = expect.objectContaining({ code: "invalid-argument" });
    expect(() => withLock(settings, () => "done")).toThrowError(refused);
    expect(() => lockMiddleware(settings)).toThrowError(refused);
    await foreign.close();
  });

  it("waits by the timers of its client, so that a test in virtual time needs no other", async () => {
    const { world, locks: mine, network } = inWorld({ requestTimeout: "1s" });
    const given = { getRemainingTimeInMillis: () => 60_000 - world.time.nowMs };
    const handler = withLock({ locks: mine, name: "a" }, () => {
      network.script(() => ({ fault: "request-lost" }));
      return "done";
    });
    expect(await world.until(handler("42", given))).toBe("done");
    expect(world.time.nowMs).toBeLessThan(4_000);
    network.clear();
    const late = withLock({ locks: mine, name: "b" }, (_event, _context, { signal }) => {
      return new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    expect(await errorOf(world.until(late("42", given)))).toMatchObject({ code: "lost" });
  });

  it("waits three request timeouts, and not the whole invocation, for the rollback of a lost request", async () => {
    let isDown = true;
    const failing: DynamoDBLike = {
      config: client.config,
      send: (command, more) =>
        isDown ? Promise.reject(new Error("ECONNREFUSED")) : client.send(command, more),
    };
    const short = new Holdfast({ client: failing, table: "locks", requestTimeout: "200ms" });
    const handler = withLock({ locks: short, name: "order/42" }, () => "done");
    const fromMs = performance.now();
    expect(await errorOf(handler("42", context(60_000)))).toMatchObject({ code: "unreachable" });
    // The invocation would last for longer than this test may.
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(600);
    isDown = false;
    // The next acquisition finds no leftover.
    expect(await handler("42", context(10_000))).toBe("done");
    await short.close();
  });

  it.each([{}, { reuse: true }])(
    "answers in time although the table is silent at the end: %j",
    async (more) => {
      let isDown = false;
      const failing: DynamoDBLike = {
        config: client.config,
        send: (command, how) => (isDown ? new Promise(() => undefined) : client.send(command, how)),
      };
      const onError = () => undefined;
      const mine = new Holdfast({ client: failing, table: "locks", requestTimeout: "1s", onError });
      const handler = withLock(options({ locks: mine, needs: 0, ...more }), async () => {
        await pause(700);
        isDown = true;
        return "done";
      });
      const around = context(1_500);
      expect(await handler("42", around)).toBe("done");
      expect(around.getRemainingTimeInMillis()).toBeGreaterThan(0);
      isDown = false;
      await mine.close();
    },
  );

  /** Answers no write after the one that grants, or refuses each. */
  function silentAfterGrant(refusal?: Error) {
    const state = { hasLock: false };
    const failing: DynamoDBLike = {
      config: client.config,
      send: async (command, more) => {
        const isWrite = (command as object).constructor.name === "UpdateItemCommand";
        if (isWrite && state.hasLock) {
          if (refusal !== undefined) throw refusal;
          return new Promise(() => undefined);
        }
        const answer = await client.send(command, more);
        if (isWrite) state.hasLock = true;
        return answer;
      },
    };
    return { failing, state };
  }

  it("runs although the table does not answer the write that shortens the lease", async () => {
    const { failing, state } = silentAfterGrant();
    const theirs = await mutex(rivals, "order/42").acquire();
    const onError = () => undefined;
    const mine = new Holdfast({
      client: failing,
      table: "locks",
      requestTimeout: "200ms",
      onError,
    });
    const handler = withLock(options({ locks: mine, wait: "2s", needs: 0 }), (_, around, lease) => {
      expect(lease.remainingMs()).toBeGreaterThan(500);
      expect(lease.remainingMs()).toBeLessThan(around.getRemainingTimeInMillis());
      return "done";
    });
    const running = handler("42", context(3_000));
    await pause(500);
    await theirs.release();
    expect(await running).toBe("done");
    state.hasLock = false;
    await mine.close();
  });

  it.each([
    ["AccessDeniedException", "access-denied"],
    ["CredentialsProviderError", "misconfigured"],
  ])(
    "runs although the write that shortens the lease is refused, and reports it: %s",
    async (name, code) => {
      const { failing, state } = silentAfterGrant(Object.assign(new Error("No."), { name }));
      const theirs = await mutex(rivals, "order/42").acquire();
      const reported: HoldfastError[] = [];
      const onError = (error: HoldfastError): void => void reported.push(error);
      const mine = new Holdfast({ client: failing, table: "locks", onError, poll });
      const handler = withLock(options({ locks: mine, wait: "2s", needs: 0 }), () => {
        state.hasLock = false;
        return "done";
      });
      const running = handler("42", context(3_000));
      await pause(500);
      await theirs.release();
      expect(await running).toBe("done");
      expect(reported.map((error) => error.code)).toContain(code);
      await mine.close();
    },
  );

  it("leaves the handler what it needs while the table does not answer the write that shortens the lease", async () => {
    const { failing, state } = silentAfterGrant();
    const theirs = await mutex(rivals, "order/42").acquire();
    const onError = () => undefined;
    const mine = new Holdfast({
      ...{ client: failing, table: "locks", requestTimeout: "1s", onError, poll },
    });
    const settings = options({ locks: mine, wait: "2s", needs: "1.5s" });
    const handler = withLock(settings, (_, around) => around.getRemainingTimeInMillis());
    // Less than the margin of half a second is not the handler's.
    const running = handler("42", context(3_000));
    await pause(500);
    await theirs.release();
    expect(await running).toBeGreaterThan(1_900);
    state.hasLock = false;
    await mine.close();
  });

  it.each([undefined, {}])("refuses the context %j, and says how to test", async (wrong) => {
    const handler = withLock(options(), () => "done") as (...given: unknown[]) => Promise<string>;
    expect(await errorOf(handler("42", wrong))).toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining("getRemainingTimeInMillis: () =>"),
    });
    const { before } = lockMiddleware(options()) as { before: (given: object) => Promise<unknown> };
    expect(await errorOf(before({ event: "42", context: wrong }))).toMatchObject({
      code: "invalid-argument",
    });
    expect(sent).toBe(0);
  });

  it("is not run while another client holds the lock, and says so", async () => {
    const theirs = await mutex(rivals, "order/42").acquire();
    let runs = 0;
    const handler = withLock(options(), () => {
      runs += 1;
    });
    expect(await errorOf(handler("42", context(3_000)))).toMatchObject({ code: "not-acquired" });
    expect(runs).toBe(0);
    await theirs.release();
  });

  it.each([
    ["locks", { locks: undefined }],
    ["locks", { locks: 5 }],
    ["locks", { locks: {} }],
    ["name", { name: undefined }],
    ["name", { name: 5 }],
    ["name", { name: "" }],
    ["wait", { wait: -1 }],
    ["needs", { needs: Number.NaN }],
    ["margin", { margin: "soon" }],
  ])("refuses a wrong `%s` when the handler is wrapped: %j", (mention, wrong) => {
    const refused = { code: "invalid-argument", mentions: [mention] } as const;
    expectThrown(() => withLock(options(wrong), () => "done"), refused);
    expectThrown(() => lockMiddleware(options(wrong)), refused);
  });

  it("names the function whose options are missing", () => {
    const refused = (name: string) => ({ code: "invalid-argument", mentions: [name] }) as const;
    expectThrown(() => withLock(undefined as never, () => "done"), refused("withLock()"));
    expectThrown(() => lockMiddleware(undefined as never), refused("lockMiddleware()"));
  });

  it("refuses to wrap what is no handler", () => {
    const refused = { code: "invalid-argument", mentions: ["withLock()"] } as const;
    for (const handler of [undefined, 5]) {
      expectThrown(() => withLock(options(), handler as never), refused);
    }
  });

  it("refuses an onBusy that is no function, when the handler is wrapped", () => {
    const wrong = { ...options(), onBusy: 503 as never };
    const refused = expect.objectContaining({ code: "invalid-argument" });
    expect(() => withLock(wrong, () => "done")).toThrowError(refused);
    expect(() => lockMiddleware(wrong)).toThrowError(refused);
  });

  it("answers a busy invocation with the result of onBusy, and keeps other errors", async () => {
    const theirs = await mutex(rivals, "order/42").acquire({ owner: "them" });
    const seen: unknown[] = [];
    const onBusy = async (error: { readonly retryAfterMs?: number | undefined }, event: string) => {
      seen.push(error, event);
      return { statusCode: 503 } as const;
    };
    const handler = withLock({ ...options(), onBusy }, () => ({ statusCode: 200 }) as const);
    const answer: { readonly statusCode: 200 | 503 } = await handler("42", context(3_000));
    expect(answer).toEqual({ statusCode: 503 });
    expect(seen).toMatchObject([{ code: "not-acquired", retryAfterMs: expect.any(Number) }, "42"]);
    const middleware = lockMiddleware({ ...options(), onBusy });
    const busy = middy(async () => "the handler ran").use(middleware);
    expect(await busy("42", context(3_000) as Context)).toEqual({ statusCode: 503 });
    const silent = lockMiddleware({ ...options(), onBusy: () => undefined });
    const unanswered = middy(async () => "the handler ran").use(silent);
    expect(await errorOf(unanswered("42", context(3_000) as Context))).toMatchObject({
      code: "invalid-argument",
    });
    await theirs.release();
    const failing = withLock({ ...options(), onBusy }, async () => {
      await mutex(rivals, "order/42").acquire({ wait: 0 });
    });
    // Another lock that the handler does not get is the handler's own error.
    expect(await errorOf(failing("42", context(3_000)))).toMatchObject({ code: "not-acquired" });
    expect(seen).toHaveLength(4);
  });

  it("waits for at most the remaining time less `needs`, and then has a shorter lease", async () => {
    const theirs = await mutex(rivals, "order/42").acquire();
    const wait = Number.POSITIVE_INFINITY;
    const handler = withLock(options({ wait, needs: "1s" }), (_, around, lease) => {
      expect(lease.remainingMs()).toBeLessThanOrEqual(around.getRemainingTimeInMillis() - 500);
      expect(lease.leaseMs).toBeLessThan(3_000);
      return "done";
    });
    // The remaining time is longer than this test may last.
    const needy = withLock(options({ wait, needs: "60s" }), () => "done");
    expect(await errorOf(needy("42", context(61_000)))).toMatchObject({ code: "not-acquired" });
    const running = handler("42", context(4_000));
    await pause(700);
    await theirs.release();
    expect(await running).toBe("done");
  });

  it("sends no request if less time remains than the handler needs", async () => {
    const handler = withLock(options({ needs: "5s" }), () => "done");
    const error = await errorOf(handler("42", context(3_000)));
    expect(error).toMatchObject({
      code: "not-acquired",
      message: expect.stringMatching(/\b2\d\d\d ms\b.*\b5000 ms\b/),
    });
    expect(sent).toBe(0);
  });

  it("aborts when the time is over, before Lambda ends the function, and frees the lock", async () => {
    let leftMs = 0;
    const handler = withLock(options({ needs: 0 }), async (_, around, lease) => {
      await new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
      leftMs = around.getRemainingTimeInMillis();
      expect(lease.isHeld).toBe(false);
      return "too late";
    });
    const error = await errorOf(handler("42", context(1_000)));
    expect(error).toMatchObject({ code: "lost", reason: "expired" });
    expect(leftMs).toBeGreaterThan(200);
    expect((await inspect(rivals, "order/42")).state).toBe("free");
  });

  it("keeps its own error, and frees the lock", async () => {
    const handler = withLock(options(), () => {
      throw new Error("its own");
    });
    expect(await errorOf(handler("42", context(3_000)))).toMatchObject({ message: "its own" });
    expect((await inspect(rivals, "order/42")).state).toBe("free");
  });

  it("leaves nothing to roll back if the table answers again within three request timeouts", async () => {
    let isLost = true;
    const lossy: DynamoDBLike = {
      config: {},
      send: (command, sending) => {
        if (!isLost) return pause(200).then(() => client.send(command, sending));
        const answer = client.send(command, sending);
        // Applied, and never answered.
        isLost = false;
        answer.catch(() => undefined);
        return new Promise(() => undefined);
      },
    };
    const mine = new Holdfast({ client: lossy, table: "locks", requestTimeout: "1s" });
    const handler = withLock(options({ locks: mine, wait: "50ms" }), () => "done");
    await errorOf(handler("42", context(3_000)));
    const after = sent;
    await pause(500);
    expect(sent).toBe(after);
    expect((await inspect(rivals, "order/42")).state).toBe("free");
    await mine.close();
  });
});

describe("a handler that ended well", () => {
  const asks = () => mutex(rivals, "a").run({ ifHeld: interrupt, wait: "5s" }, () => "next");

  it.each([{}, { reuse: true }])(
    "keeps its result although it was interrupted: %j",
    async (more) => {
      let asking: Promise<unknown> | undefined;
      const handler = withLock({ locks, name: "a", ...more }, async (_event, _context, lease) => {
        listen(lease, "100ms");
        asking = asks();
        await pause(400);
        expect(lease.signal.aborted).toBe(true);
        return "done";
      });
      expect(await handler({}, context(5_000))).toBe("done");
      expect(await asking).toBe("next");
    },
  );

  it("keeps its result although the write that stores it shows the interruption", async () => {
    let asking: Promise<unknown> | undefined;
    const handler = withLock({ locks, name: "a", reuse: true }, async () => {
      asking = asks();
      await pause(300);
      return "done";
    });
    expect(await handler({}, context(5_000))).toBe("done");
    expect(await asking).toBe("next");
  });

  it("rejects with the loss that followed an interruption", async () => {
    let asking: Promise<unknown> | undefined;
    const handler = withLock({ locks, name: "a" }, async (_event, _context, lease) => {
      listen(lease, "100ms");
      asking = asks();
      while (!lease.signal.aborted) await pause(20);
      await forceRelease(rivals, "a", { reason: "it hangs", now: true });
      expect(await asking).toBe("next");
      return "done";
    });
    await expect(handler({}, context(5_000))).rejects.toMatchObject({
      reason: "released-by-force",
    });
  });

  it("returns the handle of the lease that it exported", async () => {
    const handler = withLock({ locks, name: "a" }, (_event, _context, lease) =>
      exportLease(lease, { lease: "10s" }),
    );
    await (await adoptLease(rivals, await handler({}, context(5_000)))).release();
  });
});

describe("with reuse, a handler that had to wait", () => {
  let runs: number;
  let fails: boolean;
  let isUnderWay: Promise<void>;
  let begun: () => void;
  beforeEach(() => {
    [runs, fails] = [0, false];
    isUnderWay = new Promise((resolve) => {
      begun = resolve;
    });
  });
  const handlerOf = (of: Holdfast) =>
    withLock({ locks: of, name: "report", wait: "5s", reuse: true }, async () => {
      runs += 1;
      const run = runs;
      begun();
      await pause(300);
      if (fails && run === 1) throw new Error("its own");
      return { run };
    });

  it("reuses the result of the awaited run, and no older result", async () => {
    const first = handlerOf(rivals)({}, context(9_000));
    await isUnderWay;
    const waiters = [handlerOf(locks)({}, context(9_000))];
    expect(await Promise.all([first, ...waiters])).toEqual([{ run: 1 }, { run: 1 }]);
    expect(runs).toBe(1);
    expect(await handlerOf(locks)({}, context(9_000))).toEqual({ run: 2 });
    const next = mutex(rivals, "report").run({ existingData: "keep", keepData: true }, () =>
      pause(200),
    );
    await pause(50);
    expect(await handlerOf(locks)({}, context(9_000))).toEqual({ run: 3 });
    await next;
  });

  it.each([
    ["a refused permission", "access-denied", { billed: true }, true],
    ["a result above 350,000 bytes", "invalid-argument", "x".repeat(400_000), false],
    ["a result that is no JSON", "invalid-argument", 1n, false],
  ] as const)(
    "does not fail after its work for %s, and reports it",
    async (_, code, given, isRefused) => {
      let isOn = false;
      const refusing: DynamoDBLike = {
        config: client.config,
        send: (command, sending) => {
          const refusal = Object.assign(new Error("No."), { name: "AccessDeniedException" });
          return isOn ? Promise.reject(refusal) : client.send(command, sending);
        },
      };
      const reported: HoldfastError[] = [];
      const mine = new Holdfast({
        ...{ client: refusing, table: "locks", requestTimeout: "300ms" },
        onError: (error) => reported.push(error),
      });
      const handler = withLock({ locks: mine, name: "report", reuse: true }, () => {
        isOn = isRefused;
        return given;
      });
      const result: unknown = await handler({}, context(5_000));
      isOn = false;
      expect(result).toEqual(given);
      const notStored = reported.filter(({ message }) => message.includes("was not stored"));
      expect(notStored).toMatchObject([{ code, lockName: "report" }]);
      await mine.close();
    },
  );

  it("runs if the awaited run failed", async () => {
    fails = true;
    const first = errorOf(handlerOf(rivals)({}, context(9_000)));
    await isUnderWay;
    expect(await handlerOf(locks)({}, context(9_000))).toEqual({ run: 2 });
    expect(await first).toMatchObject({ message: "its own" });
  });
});

describe("the middleware for middy", () => {
  const invoke = async (
    work: (event: object, context: Context) => unknown,
    more: object = {},
  ): Promise<unknown> => {
    const options = { locks, name: "nightly", ...more };
    const handler = middy(async (event: object, around: Context) => work(event, around)).use(
      lockMiddleware(options),
    );
    return handler({}, context(3_000) as Context, { signal: new AbortController().signal });
  };

  it("passes the lease to the handler, and frees the lock before the response", async () => {
    let lease: Lease | undefined;
    const work = (_: object, around: Context): string => {
      lease = leaseOf(around);
      return lease?.isHeld === true ? "held" : "not held";
    };
    expect(await invoke(work)).toBe("held");
    expect(lease?.isHeld).toBe(false);
    expect((await inspect(rivals, "nightly")).state).toBe("free");
    expect(leaseOf({})).toBeUndefined();
  });

  it("frees the lock after an error, and rethrows the error", async () => {
    const work = (): never => {
      throw new Error("its own");
    };
    expect(await errorOf(invoke(work))).toMatchObject({ message: "its own" });
    expect((await inspect(rivals, "nightly")).state).toBe("free");
  });

  it("does not run the handler while another client holds the lock", async () => {
    const theirs = await mutex(rivals, "nightly").acquire();
    expect(await errorOf(invoke(() => "run"))).toMatchObject({ code: "not-acquired" });
    await theirs.release();
  });

  it("responds with a reused result without running the handler", async () => {
    const under = { wait: "5s", reuse: true } as const;
    let runs = 0;
    const first = withLock({ locks: rivals, name: "nightly", ...under }, async () => {
      await pause(300);
      return "theirs";
    })({}, context(9_000));
    await pause(50);
    const mine = invoke(() => {
      runs += 1;
    }, under);
    expect(await mine).toBe("theirs");
    expect(await first).toBe("theirs");
    expect(runs).toBe(0);
    expect((await inspect(rivals, "nightly")).state).toBe("free");
  });
});
