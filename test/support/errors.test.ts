import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../packages/holdfast/src/index.js";
import { type ExpectedError, expectError, expectErrorToBe, expectThrown } from "./errors.js";

const error = new HoldfastError("lost", 'Lock "a" was lost after 5000 ms to worker-7.', {
  lockName: "a",
  reason: "stolen",
});
const right: ExpectedError = {
  code: "lost",
  lockName: "a",
  reason: "stolen",
  mentions: ["5000 ms", "worker-7", /\blost\b/],
  omits: ["6000 ms"],
};

describe("expectError", () => {
  it("accepts an error with this code, lock, reason and facts", async () => {
    expectErrorToBe(error, right);
    expect(expectThrown(throwing(error), right)).toBe(error);
    expect(await expectError(Promise.reject(error), right)).toBe(error);
  });

  it.each<[string, Partial<ExpectedError>]>([
    ["code", { code: "closed" }],
    ["lock", { lockName: "b" }],
    ["reason", { reason: "expired" }],
    ["number", { mentions: ["000 ms"] }],
    ["holder", { mentions: ["worker"] }],
    ["word", { mentions: [/\bfound\b/] }],
    ["fact that is ruled out", { omits: ["worker-7"] }],
  ])("refuses an error with another %s", (_what, wrong) => {
    expect(() => expectErrorToBe(error, { ...right, ...wrong })).toThrow("expected");
  });

  it("refuses an error with an unexpected lock name, and a different kind of error", () => {
    expect(() => expectErrorToBe(error, { code: "lost", reason: "stolen" })).toThrow("expected");
    expect(() => expectErrorToBe(new Error(error.message), right)).toThrow("expected");
  });

  it("fails without an error", async () => {
    expect(() => expectThrown(() => undefined, right)).toThrow("expected");
    await expect(expectError(Promise.resolve(), right)).rejects.toThrow("expected");
  });
});

function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}
