import { inspect as inspection } from "node:util";
import { describe, expect, it } from "vitest";
import { fencesOf } from "../../../../test/support/parts.js";
import { inWorld } from "../../../../test/support/world.js";
import { election } from "../../src/election/index.js";
import { all, HoldfastError, inspect, mutex, openSession } from "../../src/index.js";

/** What a log shows of a handle, of an inspection and of an error. */

const parsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("in a log", () => {
  it("a lease shows its name, holder, fence and time left", async () => {
    const { world, locks } = inWorld();
    const lease = await world.until(mutex(locks, "a").acquire({ owner: "me" }));
    expect(inspection(lease)).toMatch(/^Lease \{/);
    for (const fact of ["name: 'a'", lease.holder, `fence: ${lease.fence}n`, "isHeld: true"]) {
      expect(inspection(lease)).toContain(fact);
    }
    const fence = String(lease.fence);
    expect(parsed(lease)).toMatchObject({ name: "a", owner: "me", fence, isHeld: true });
    await world.until(lease.release());
    expect(parsed(lease)).toMatchObject({ isHeld: false, remainingMs: 0 });
  });

  it("a multi-lease and a session show their facts", async () => {
    const { world, locks } = inWorld();
    const both = await world.until(all(locks, ["a", "b"]).acquire());
    expect(inspection(both)).toMatch(/^Lease \{\s+name: 'a, b'/);
    expect(parsed(both)).toMatchObject({ fences: { a: String(fencesOf(both).get("a")) } });
    const term = await world.until(election(locks, "pool").campaign());
    expect(inspection(term)).toMatch(/^Lease \{\s+name: 'pool'/);
    const session = await world.until(openSession(locks));
    expect(inspection(session)).toMatch(/^Session \{/);
    expect(parsed(session)).toMatchObject({ id: session.id, isHeld: true });
  });

  it("an inspection is JSON, with its fence in digits", async () => {
    const { world, locks } = inWorld();
    const lease = await world.until(mutex(locks, "a").acquire());
    const found = await world.until(inspect(locks, "a"));
    expect(parsed(found)).toMatchObject({
      name: "a",
      state: "held",
      fence: String(lease.fence),
      version: String(found.version),
    });
  });

  it("an error shows only the details that apply", () => {
    const error = new HoldfastError("lost", "Gone.", { lockName: "a", reason: "expired" });
    const text = inspection(error);
    expect(text).toContain("lockName: 'a'");
    expect(text).not.toContain("undefined");
    expect(Object.keys(error).sort()).toEqual(["code", "lockName", "name", "reason"]);
    expect(error.etag).toBeUndefined();
  });
});
