import { describe, expect, it } from "vitest";
import { expectErrorToBe } from "../../../../test/support/errors.js";
import { titleOf, tooSlow, unavailableError, unreadable } from "../../src/core/unavailable.js";
import { HoldfastError } from "../../src/index.js";

const cause = new Error("of the request");

describe("the error of a call without an answer", () => {
  it.each([
    ["unknown", "unreachable", ["network"], ["clock", "capacity"]],
    ["skewed", "unreachable", ["clock"], ["network", "capacity"]],
    ["throttled", "throttled", ["capacity", "throttled"], ["clock", "network"]],
    ["conflict", "throttled", ["capacity", "conflict"], ["clock", "network"]],
  ] as const)("of kind %s has the code %s and its remedy", (kind, code, mentions, omits) => {
    const error = unavailableError("a", "was not read", { kind, cause });
    expectErrorToBe(error, { code, lockName: "a", mentions: ["was not read", ...mentions], omits });
    expect(error.cause).toBe(cause);
  });

  it("names several locks as one multi-lock", () => {
    expect(titleOf(["a"])).toBe('Lock "a"');
    expect(titleOf(["a", "b"])).toBe('Multi-lock "a", "b"');
  });
});

describe("the error of an acquisition whose answers are too slow", () => {
  it("is the throttling, if the table throttles", () => {
    const silence = new HoldfastError("throttled", "Wait.", { lockName: "a" });
    expect(tooSlow(["a"], 1_000, silence)).toBe(silence);
  });

  it("otherwise advises a longer lease, with the silence as its cause", () => {
    const silence = new HoldfastError("unreachable", "Nothing.", { lockName: "a" });
    const error = tooSlow(["a"], 1_000, silence) as HoldfastError;
    expectErrorToBe(error, {
      ...{ code: "unreachable", lockName: "a", mentions: ["1000 ms", "`lease`"] },
    });
    expect(error.cause).toBe(silence);
  });
});

describe("the error of an unreadable record", () => {
  it("says whether a claim may have been written", () => {
    const found = { state: "foreign", found: "has no holder" } as const;
    expectErrorToBe(unreadable({ name: "a", kind: "lock" }, found, "native"), {
      ...{ code: "foreign-record", lockName: "a", mentions: ["Nothing was written", "native"] },
    });
    expectErrorToBe(unreadable({ name: "a", kind: "lock" }, found, "native", true), {
      ...{ code: "foreign-record", lockName: "a" },
      ...{ mentions: ["undoes the claim"], omits: ["Nothing was written"] },
    });
    expectErrorToBe(
      unreadable(
        { name: "a", kind: "lock" },
        { state: "unsupported", found: "has layout 2" },
        "native",
      ),
      {
        ...{ code: "unsupported-layout", lockName: "a", mentions: ["layout 2", "Upgrade"] },
      },
    );
  });
});
