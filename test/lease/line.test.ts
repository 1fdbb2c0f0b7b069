import { afterEach, describe, expect, it, vi } from "vitest";
import { Line, Lines, Waiter } from "../../src/lease/line.js";
import { resolveAcquire } from "../../src/lease/options.js";
import { systemTimers } from "../../src/platform/timers.js";
import { World } from "../support/world.js";

const newWaiter = (): Waiter => new Waiter(resolveAcquire([], "me"));
const turnOf = (waiter: Waiter): Promise<unknown> => waiter.turn.catch((error: unknown) => error);

function setUp() {
  let idle = 0;
  const line = new Line(systemTimers, () => {
    idle += 1;
  });
  return { line, idle: () => idle };
}

describe("a line", () => {
  it("gives its turn to one at a time", () => {
    const { line, idle } = setUp();
    expect(line.isBusy).toBe(false);
    expect(line.tryTurn()).toBe(true);
    expect(line.isBusy).toBe(true);
    expect(line.tryTurn()).toBe(false);
    line.next();
    expect(line.isBusy).toBe(false);
    expect(idle()).toBe(1);
    expect(line.tryTurn()).toBe(true);
  });

  it("gives the turn to those who wait, in their order, and stays busy meanwhile", async () => {
    const { line, idle } = setUp();
    line.tryTurn();
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

  it("skips those who have left, and rejects them at once with their reason", async () => {
    const { line } = setUp();
    line.tryTurn();
    const [gone, next] = [newWaiter(), newWaiter()];
    line.wait(gone);
    line.wait(next);
    line.leave(gone, "no longer wanted");
    expect(gone.isWaiting).toBe(false);
    expect(await turnOf(gone)).toBe("no longer wanted");
    line.next();
    expect(await turnOf(next)).toBe("contend");
  });

  it("skips one that gave up while it was out of the line, and puts one back at its head", async () => {
    const { line, idle } = setUp();
    line.tryTurn();
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

describe("a waiter", () => {
  it("is told one thing, the first", async () => {
    const waiter = newWaiter();
    expect(waiter.isWaiting).toBe(true);
    expect(waiter.offer("contend")).toBe(true);
    expect(waiter.isWaiting).toBe(false);
    waiter.giveUp(new Error("too late"));
    expect(await waiter.turn).toBe("contend");
    expect(waiter.offer("contend")).toBe(false);
  });

  it("that has given up takes nothing any more", async () => {
    const waiter = newWaiter();
    waiter.giveUp("gone");
    expect(waiter.offer("contend")).toBe(false);
    expect(await turnOf(waiter)).toBe("gone");
  });
});

describe("the lines of a client", () => {
  it("are one for each name, dropped when nobody is left", () => {
    const lines = new Lines(systemTimers);
    const line = lines.of("one");
    expect(lines.of("one")).toBe(line);
    expect(lines.of("two")).not.toBe(line);
    line.tryTurn();
    expect(lines.of("one")).toBe(line);
    line.next();
    expect(lines.of("one")).not.toBe(line);
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  // The line is made before it is known that nobody will stand in it, and only `next` drops one.
  it("are not left behind by acquisitions that were over before they began", async () => {
    const made = vi.spyOn(Lines.prototype, "of");
    const world = new World();
    const { locks } = world.inhabitant();
    for (let index = 0; index < 2; index += 1) {
      const acquiring = locks.mutex("a").acquire({ signal: AbortSignal.abort("over") });
      await expect(acquiring).rejects.toBe("over");
    }
    const [first, second] = made.mock.results.map(({ value }) => value as Line);
    expect(second === undefined || second !== first).toBe(true);
  });
});
