import { afterEach, describe, expect, it, vi } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { VirtualTime } from "../../../testing/src/time/virtual-time.js";
import { LocalQueue, LocalWaiter } from "../../src/core/local-queue.js";
import { LocalQueues } from "../../src/core/local-queues.js";
import { resolveAcquire } from "../../src/core/options.js";
import { mutex } from "../../src/index.js";
import { systemTimers, type Timers } from "../../src/platform/timers.js";

const newWaiter = (): LocalWaiter<unknown, unknown> => new LocalWaiter(resolveAcquire([], "me"));
const turnOf = (waiter: LocalWaiter<unknown, unknown>): Promise<unknown> =>
  waiter.turn.catch((error: unknown) => error);

type Line = LocalQueue<unknown, unknown>;

function setUp() {
  let idle = 0;
  const line = new LocalQueue(systemTimers, () => {
    idle += 1;
  });
  return { line, idle: () => idle };
}

describe("LocalQueue", () => {
  it("gives the turn to one hold at a time", () => {
    const { line, idle } = setUp();
    expect(line.isBusy).toBe(false);
    expect(line.tryEnter()).toBe(true);
    expect(line.isBusy).toBe(true);
    expect(line.tryEnter()).toBe(false);
    line.next();
    expect(line.isBusy).toBe(false);
    expect(idle()).toBe(1);
    expect(line.tryEnter()).toBe(true);
  });

  it("gives the turn to waiters in order, and stays busy between turns", async () => {
    const { line, idle } = setUp();
    line.tryEnter();
    const waiters = [1, 2, 3].map(() => newWaiter());
    for (const waiter of waiters) line.wait(waiter);
    const order: number[] = [];
    for (const [index, waiter] of waiters.entries()) {
      turnOf(waiter).then(() => order.push(index));
    }
    for (let turn = 0; turn < 3; turn += 1) {
      line.next();
      expect(line.isBusy).toBe(true);
      await Promise.resolve();
    }
    await Promise.all(waiters.map(turnOf));
    expect(order).toEqual([0, 1, 2]);
    expect(idle()).toBe(0);
    line.next();
    expect(idle()).toBe(1);
  });

  it.each([
    ["no answer", () => undefined, 0],
    ["an answer", (line: Line) => line.setUnavailable(undefined), 1],
    [
      "the end of a hold",
      (line: Line) => {
        line.setUnavailable(undefined);
        line.occupy({ isManual: false, remainingMs: () => 1_000, check: () => undefined });
      },
      0,
    ],
  ] as const)("says to the next after %s whether DynamoDB answered", (_title, before, expected) => {
    const { line } = setUp();
    line.tryEnter();
    const tell = vi.fn();
    line.wait(new LocalWaiter<unknown, unknown>(undefined, {}, tell));
    before(line);
    line.next();
    expect(tell).toHaveBeenCalledTimes(expected);
  });

  it("skips cancelled waiters, and rejects them at once with the reason", async () => {
    const { line } = setUp();
    line.tryEnter();
    const [gone, next] = [newWaiter(), newWaiter()];
    line.wait(gone);
    line.wait(next);
    line.leave(gone, "no longer wanted");
    expect(gone.isWaiting).toBe(false);
    expect(await turnOf(gone)).toBe("no longer wanted");
    line.next();
    expect(await turnOf(next)).toEqual({ kind: "contend" });
  });

  it("ends, with its place, as many waiters as had a ticket, besides the one that contends", async () => {
    const { line } = setUp();
    line.tryEnter();
    const waiters = [1, 2].map(
      () => new LocalWaiter(resolveAcquire([], "me"), { failsWithoutPlace: true }),
    );
    for (const waiter of waiters) line.wait(waiter);
    const lossSignal = new AbortController().signal;
    const gone = { take: () => undefined, leave: () => undefined };
    line.keepPlace({ ...gone, isHeld: false, lossSignal, next: 5n, last: 6n });
    line.placeExpired("expired");
    expect(await turnOf(waiters[0] as LocalWaiter<unknown, unknown>)).toBe("expired");
    expect(waiters.map(({ isWaiting }) => isWaiting)).toEqual([false, true]);
  });

  it("skips a waiter that gave up outside the queue, and returns another to the front", async () => {
    const { line, idle } = setUp();
    line.tryEnter();
    const [first, second] = [newWaiter(), newWaiter()];
    line.wait(first);
    line.wait(second);
    expect(line.shift()).toBe(first);
    line.waitFirst(first);
    expect(line.shift()).toBe(first);
    line.leave(first, "gone");
    expect(await turnOf(first)).toBe("gone");
    line.leave(second, "gone too");
    expect(await turnOf(second)).toBe("gone too");
    expect(line.shift()).toBeUndefined();
    line.next();
    expect(idle()).toBe(1);
  });
});

describe("LocalQueue with a crowd of waiters", () => {
  const SIZE = 2_000;

  function crowded(onPosition: ((position: number) => void) | undefined) {
    const time = new VirtualTime();
    const line = new LocalQueue(time.process().timers, () => undefined);
    line.tryEnter();
    line.occupy({ isManual: false, remainingMs: () => 1_000, check: () => undefined });
    let looks = 0;
    const waiters = Array.from({ length: SIZE }, () => {
      const listener = {
        get onPosition() {
          looks += 1;
          return onPosition;
        },
      };
      const waiter = new LocalWaiter<unknown, unknown>(resolveAcquire([], "me"), listener);
      waiter.turn.catch(() => undefined);
      line.wait(waiter);
      return waiter;
    });
    const looksFor = async (work: () => void): Promise<number> => {
      looks = 0;
      work();
      await time.advance(1);
      return looks;
    };
    return { line, waiters, looksFor };
  }

  it("visits only the waiter that gives up, from either end", async () => {
    const { line, waiters, looksFor } = crowded(undefined);
    const half = SIZE / 2;
    const front = await looksFor(() => {
      for (const waiter of waiters.slice(0, half)) line.leave(waiter, "gone");
    });
    const back = await looksFor(() => {
      for (const waiter of waiters.slice(half).reverse()) line.leave(waiter, "gone");
    });
    expect([front, back]).toEqual([half, half]);
    expect(line.hasWaiters).toBe(false);
  });

  it("visits no other waiter at a hand-off", async () => {
    const { line, looksFor } = crowded(undefined);
    const looks = await looksFor(() => {
      for (let waiter = line.shift(); waiter !== undefined; waiter = line.shift()) {
        line.occupy({ isManual: false, remainingMs: () => 1_000, check: () => undefined });
      }
    });
    expect(looks).toBe(SIZE);
  });

  it("visits no other waiter once none follows its position", async () => {
    const { line, looksFor } = crowded(undefined);
    const told: number[] = [];
    const follower = () => {
      const onPosition = (position: number) => told.push(position);
      const waiter = new LocalWaiter<unknown, unknown>(undefined, { onPosition });
      waiter.turn.catch(() => undefined);
      return waiter;
    };
    const gone = follower();
    line.wait(gone);
    line.leave(gone, "gone");
    expect(await looksFor(() => line.announce(5))).toBe(0);
    line.waitFirst(follower());
    line.announce(6);
    expect(told).toEqual([SIZE, 6]);
    line.shift();
    expect(await looksFor(() => line.announce(7))).toBe(0);
    const other = newWaiter();
    line.waitFirst(other);
    expect(await looksFor(() => line.announce(8))).toBe(0);
  });

  it("tells the waiters behind a crowd that gives up their positions once", async () => {
    const told: number[] = [];
    const { line, waiters, looksFor } = crowded((position) => told.push(position));
    told.length = 0;
    await looksFor(() => {
      for (const waiter of waiters.slice(0, SIZE - 3)) line.leave(waiter, "gone");
    });
    expect(told).toEqual([0, 1, 2]);
  });
});

describe("LocalQueue behind a manually renewed lease", () => {
  function occupied(isManual = true) {
    const time = new VirtualTime();
    const process = time.process();
    const set: { delayMs: number; keepsAlive: boolean }[] = [];
    const timers: Timers = {
      set: (delayMs, keepsAlive, callback) => {
        set.push({ delayMs, keepsAlive });
        return process.timers.set(delayMs, keepsAlive, callback);
      },
    };
    const line = new LocalQueue(timers, () => undefined);
    const occupant = {
      isManual,
      endsAtMs: 1_000,
      checks: 0,
      remainingMs: () => occupant.endsAtMs - time.nowMs,
      check: () => {
        occupant.checks += 1;
        if (occupant.remainingMs() <= 0) line.next();
      },
    };
    line.tryEnter();
    line.occupy(occupant);
    return { time, process, set, line, occupant };
  }

  it("sets a single timer for all waiters, which keeps the process alive", async () => {
    const { time, process, set, line, occupant } = occupied();
    expect(process.pendingTimers()).toBe(0);
    const waiters = [newWaiter(), newWaiter(), newWaiter()];
    for (const waiter of waiters) line.wait(waiter);
    expect(set).toEqual([{ delayMs: 1_000, keepsAlive: true }]);
    await time.advance(999);
    expect(occupant.checks).toBe(0);
    await time.advance(1);
    expect(waiters.map(({ isWaiting }) => isWaiting)).toEqual([false, true, true]);
    expect(process.pendingTimers()).toBe(0);
    expect(set).toHaveLength(1);
  });

  it("resets the timer after a renewal, never to zero", async () => {
    const { time, set, line, occupant } = occupied();
    line.wait(newWaiter());
    occupant.endsAtMs = 3_000;
    await time.advance(1_000);
    expect(set.map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000]);
    occupant.endsAtMs = 1_000;
    occupant.check = () => undefined;
    await time.advance(2_000);
    expect(set.map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000, 1]);
  });

  it("has no timer after the lease's end, without waiters, or behind a lease with a timer", async () => {
    const { time, process, set, line } = occupied();
    const waiter = newWaiter();
    line.wait(waiter);
    line.next();
    expect(process.pendingTimers()).toBe(0);
    line.wait(newWaiter());
    expect(set).toHaveLength(1);
    await time.advance(10_000);
    const kept = occupied(false);
    kept.line.wait(newWaiter());
    expect(kept.set).toEqual([]);
    const left = occupied();
    const gone = newWaiter();
    left.line.wait(gone);
    left.line.leave(gone, "gone");
    expect(await turnOf(gone)).toBe("gone");
    await left.time.advance(5_000);
    expect(left.set).toHaveLength(1);
  });
});

describe("LocalWaiter", () => {
  it("settles once, with the first result", async () => {
    const waiter = newWaiter();
    expect(waiter.isWaiting).toBe(true);
    expect(waiter.contend()).toBe(true);
    expect(waiter.isWaiting).toBe(false);
    waiter.giveUp(new Error("too late"));
    expect(await waiter.turn).toEqual({ kind: "contend" });
    expect(waiter.contend()).toBe(false);
  });

  it("hears of a position once", () => {
    const told: number[] = [];
    const onPosition = (position: number) => told.push(position);
    const waiter = new LocalWaiter<unknown, unknown>(undefined, { onPosition });
    for (const position of [1, 1, 0, 1]) waiter.announce(position);
    expect(told).toEqual([1, 0, 1]);
  });

  it("takes nothing after giving up", async () => {
    const waiter = newWaiter();
    waiter.giveUp("gone");
    expect(waiter.contend()).toBe(false);
    expect(await turnOf(waiter)).toBe("gone");
  });
});

describe("LocalQueues", () => {
  it("keeps a queue per name until the last waiter leaves", () => {
    const lines = new LocalQueues(systemTimers);
    const line = lines.of("one");
    expect(lines.of("one")).toBe(line);
    expect(lines.of("two")).not.toBe(line);
    line.tryEnter();
    expect(lines.of("one")).toBe(line);
    line.next();
    expect(lines.of("one")).not.toBe(line);
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  // The queue is created before the acquisition knows whether it will wait, and only `next` drops a queue.
  it("drops the queue of an acquisition aborted before the start", async () => {
    const made = vi.spyOn(LocalQueues.prototype, "of");
    const { locks } = inWorld();
    for (let index = 0; index < 2; index += 1) {
      const acquiring = mutex(locks, "a").acquire({ signal: AbortSignal.abort("over") });
      await expect(acquiring).rejects.toBe("over");
    }
    const [first, second] = made.mock.results.map(
      ({ value }) => value as LocalQueue<unknown, unknown>,
    );
    expect(second === undefined || second !== first).toBe(true);
  });
});
