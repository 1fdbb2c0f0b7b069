import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import {
  forceRelease,
  interruptHolder,
  listLocks,
  listQueue,
  survey,
} from "../../src/admin/index.js";
import { election } from "../../src/election/index.js";
import { inspect, mutex, semaphore } from "../../src/index.js";
import { announce } from "../../src/requests/index.js";

const LENGTHS = { lease: "30s", renew: "10s" } as const;
const WHY = { by: "bob", reason: "it hangs", wait: 0 } as const;

function scene() {
  const { world, locks: holder } = inWorld({ ...LENGTHS, owner: "worker" });
  const { locks: operator } = world.inhabitant({ ...LENGTHS, owner: "alice" });
  return { world, holder, operator };
}

describe("an inspection shows the request to the present holder", () => {
  it("of an operator that interrupts, until the holder has released; also in lists", async () => {
    const { world, holder, operator } = scene();
    const lease = await world.until(mutex(holder, "a").acquire());
    const look = () => world.until(inspect(operator, "a"));
    expect((await look()).request).toBeUndefined();
    await world.until(interruptHolder(operator, "a"));
    const request = { kind: "interrupt", by: "alice" };
    expect((await look()).request).toEqual(request);
    const listed = async (): Promise<unknown[]> => {
      const all: unknown[] = [];
      for await (const page of listLocks(operator)) all.push(...page.locks);
      return all;
    };
    expect(await world.until(listed())).toMatchObject([{ name: "a", request }]);
    expect((await world.until(survey(operator))).locks).toMatchObject([{ lock: { request } }]);
    expect((await world.until(listQueue(operator, "a"))).lock.request).toEqual(request);
    await world.until(lease.release());
    expect((await look()).request).toBeUndefined();
    await world.until(mutex(holder, "a").acquire());
    expect((await look()).request).toBeUndefined();
  });

  it("of a waiter that announces itself, and of a stronger forced release", async () => {
    const { world, holder, operator } = scene();
    await world.until(mutex(holder, "a").acquire());
    void mutex(operator, "a")
      .acquire({ ifHeld: announce, wait: "60s" })
      .catch(() => undefined);
    await world.time.advance(500);
    const look = () => world.until(inspect(operator, "a"));
    expect((await look()).request).toEqual({ kind: "announced", by: "alice" });
    await world.until(forceRelease(operator, "a", WHY));
    expect((await look()).request).toEqual({ kind: "release", by: "bob" });
  });

  it("of a leader to resign", async () => {
    const { world, holder, operator } = scene();
    await world.until(election(holder, "e").campaign());
    void election(operator, "e")
      .requestResign({ wait: "1s" })
      .catch(() => undefined);
    await world.time.advance(500);
    const found = await world.until(inspect(operator, "e", { kind: "leader" }));
    expect(found.request).toEqual({ kind: "resign", by: undefined });
  });

  it("of a holder of a permit, while it has the permit", async () => {
    const { world, holder, operator } = scene();
    const limited = semaphore(holder, "s", { permits: 2 });
    const [permit] = [await world.until(limited.acquire()), await world.until(limited.acquire())];
    const kind = "semaphore";
    await world.until(forceRelease(operator, "s", { ...WHY, kind, holder: permit.holder }));
    const look = () => world.until(inspect(operator, "s", { kind }));
    expect((await look()).request).toEqual({ kind: "release", by: "bob" });
    await world.until(permit.release());
    expect((await look()).request).toBeUndefined();
  });
});
