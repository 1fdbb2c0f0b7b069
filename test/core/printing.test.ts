import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/index.js";
import { World } from "../support/world.js";

/** What a log shows of a handle, of an inspection and of an error. */

const parsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("in a log", () => {
  it("a lease shows its name, holder, fence and time left", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const lease = await world.until(locks.mutex("a").acquire({ owner: "me" }));
    expect(inspect(lease)).toMatch(/^Lease \{/);
    for (const fact of ["name: 'a'", lease.holder, `fence: ${lease.fence}n`, "isHeld: true"]) {
      expect(inspect(lease)).toContain(fact);
    }
    const fence = String(lease.fence);
    expect(parsed(lease)).toMatchObject({ name: "a", owner: "me", fence, isHeld: true });
    await world.until(lease.release());
    expect(parsed(lease)).toMatchObject({ isHeld: false, remainingMs: 0 });
  });

  it("a multi-lease and a session show their facts", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const both = await world.until(locks.multiLock(["a", "b"]).acquire());
    expect(inspect(both)).toMatch(/^MultiLease \{\s+names: \[ 'a', 'b' \]/);
    expect(parsed(both)).toMatchObject({ fences: { a: String(both.fences.get("a")) } });
    const term = await world.until(locks.election("pool").campaign());
    expect(inspect(term)).toMatch(/^Term \{\s+name: 'pool'/);
    const session = await world.until(locks.session());
    expect(inspect(session)).toMatch(/^Session \{/);
    expect(parsed(session)).toMatchObject({ id: session.id, isHeld: true });
  });

  it("an inspection is JSON, with its fence in digits", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const lease = await world.until(locks.mutex("a").acquire());
    const found = await world.until(locks.inspect("a"));
    expect(parsed(found)).toMatchObject({
      name: "a",
      state: "held",
      fence: String(lease.fence),
      version: String(found.version),
    });
  });

  it("an error shows only the details that apply", () => {
    const error = new HoldfastError("lost", "Gone.", { lockName: "a", reason: "expired" });
    const text = inspect(error);
    expect(text).toContain("lockName: 'a'");
    expect(text).not.toContain("undefined");
    expect(Object.keys(error).sort()).toEqual(["code", "lockName", "name", "reason"]);
    expect(error.etag).toBeUndefined();
  });
});
