import { describe, expect, it } from "vitest";
import { QUEUE, requireCapability } from "../../src/core/record/capability.js";
import { nativeFormat } from "../../src/native/native.js";
import { queueListing } from "../../src/native/native-listing.js";
import { PERMITS } from "../../src/native/native-permits.js";
import type { Item } from "../../src/platform/table.js";

const permits = requireCapability(nativeFormat({ pk: "pk", sk: "sk" }), PERMITS);
const { codec } = nativeFormat({ pk: "pk", sk: "sk" });
const REF = permits.refOf("semaphore", "s");

const PERMIT = {
  M: { weight: { N: "2" }, session: { S: "s1" }, leaseMs: { N: "30000" }, owner: { S: "me" } },
};
const RECORD: Item = {
  ...{ pk: { S: "semaphore#s" }, sk: { S: "lease" }, v: { N: "1" } },
  ...{ version: { N: "4" }, fence: { N: "9" }, limit: { N: "3" }, used: { N: "2" } },
  ...{ "permit#a": PERMIT, "fence#a": { N: "9" }, "withdrawn#b": { N: "1700000000000" } },
};

describe("a native record with permits", () => {
  it("shows the permits, the limit and the marks", () => {
    expect(permits.readAll(RECORD)).toEqual({
      ...{ state: "shared", fence: 9n, version: 4n, limit: 3, used: 2 },
      limitChanges: 0,
      queue: { tail: undefined, served: undefined },
      permits: [{ holder: "a", fence: 9n, weight: 2, session: "s1", leaseMs: 30_000, owner: "me" }],
      marks: [{ holder: "b", atMs: 1_700_000_000_000 }],
    });
  });

  it("shows one permit as a holder, and a free record without the permit", () => {
    const of = (holder: string) =>
      codec.read(RECORD, permits.permitOf(REF, { holder, weight: 2, leavesMark: false }));
    expect(of("a")).toMatchObject({ state: "held", holder: "a", fence: 9n, session: "s1" });
    expect(of("b")).toMatchObject({ state: "free" });
  });

  it.each<[string, Item, string]>([
    ["weights that do not add up", { used: { N: "3" } }, "foreign"],
    ["a permit without a fence", { "fence#a": { S: "9" } }, "foreign"],
    ["a permit that is no map", { "permit#a": { S: "x" } }, "foreign"],
    ["a weight of 0", { "permit#a": { M: { ...PERMIT.M, weight: { N: "0" } } } }, "foreign"],
    ["no session", { "permit#a": { M: { ...PERMIT.M, session: { S: "" } } } }, "foreign"],
    [
      "a session that no key can have",
      { "permit#a": { M: { ...PERMIT.M, session: { S: "s".repeat(2_041) } } } },
      "foreign",
    ],
    ["a holder like a lock's", { holder: { S: "h" }, leaseMs: { N: "1" } }, "foreign"],
    ["another layout", { v: { N: "2" } }, "unsupported"],
  ])("is refused with %s", (_, change, state) => {
    expect(permits.readAll({ ...RECORD, ...change }).state).toBe(state);
  });

  it("has a queue apart from the queue of a lock of the same name", () => {
    const queue = requireCapability(nativeFormat({ pk: "pk", sk: "sk" }), QUEUE);
    const entry = queue.entryOf(REF, 5n);
    expect(entry.key["sk"]).toEqual({ S: `semaphore//${"5".padStart(38, "0")}` });
    const listing = queueListing(nativeFormat({ pk: "pk", sk: "sk" }));
    expect([queue.ticketIn(entry.key), listing?.nameIn(entry.key, "semaphore")]).toEqual([5n, "s"]);
    expect(listing?.nameIn(entry.key)).toBeUndefined();
  });
});
