import { describe, expect, it } from "vitest";
import { isRefusedByLock } from "../../../src/index.js";

const FAILED = { Code: "ConditionalCheckFailed" };
const NONE = { Code: "None" };
const cancelled = (...reasons: unknown[]) => ({
  name: "TransactionCanceledException",
  CancellationReasons: reasons,
});

describe("isRefusedByLock", () => {
  it.each([
    ["its condition failed", cancelled(FAILED, NONE), 0, true],
    ["its condition failed, in another place", cancelled(NONE, FAILED), 1, true],
    ["one of its conditions failed", cancelled(NONE, NONE, FAILED), [0, 2], true],
    ["another item failed", cancelled(NONE, FAILED), 0, false],
    ["none of its conditions failed", cancelled(NONE, FAILED, NONE), [0, 2], false],
    ["it has no conditions", cancelled(FAILED), [], false],
    ["another transaction came between", cancelled({ Code: "TransactionConflict" }), 0, false],
    ["the place is beyond the reasons", cancelled(FAILED), 7, false],
    ["there are no reasons", { name: "TransactionCanceledException" }, 0, false],
    ["the error is another", { ...cancelled(FAILED), name: "ValidationException" }, 0, false],
    ["the error is text", "TransactionCanceledException", 0, false],
    ["there is no error", undefined, 0, false],
    ["the error is null", null, 0, false],
  ])("is right when %s", (_title, error, index, expected) => {
    expect(isRefusedByLock(error, index)).toBe(expected);
  });
});
