import { describe, expect, it } from "vitest";
import { cancellationOf } from "../../../src/platform/dynamodb/transactions.js";

const cancelled = (reasons: readonly object[], attempts = 1) => ({
  name: "TransactionCanceledException",
  CancellationReasons: reasons,
  $metadata: { attempts },
});
const NONE = { Code: "None" };
const CHECK = { Code: "ConditionalCheckFailed", Item: { pk: { S: "a" } } };

describe("a cancelled transaction", () => {
  it.each([
    ["a condition", [NONE, CHECK], "refused"],
    ["a condition, and a conflict", [{ Code: "TransactionConflict" }, CHECK], "refused"],
    ["another transaction", [NONE, { Code: "TransactionConflict" }], "conflict"],
    ["too many requests", [{ Code: "ThrottlingError" }], "throttled"],
    ["too little capacity", [{ Code: "ProvisionedThroughputExceeded" }], "throttled"],
    ["a mistake", [{ Code: "ValidationError", Message: "what?" }], "misconfigured"],
  ])("with reason %s has a matching answer", (_, reasons, kind) => {
    expect(cancellationOf(cancelled(reasons), "t")?.kind).toBe(kind);
  });

  it("returns only the items of refused conditions", () => {
    const answer = cancellationOf(cancelled([NONE, CHECK, { Code: CHECK.Code }]), "t");
    expect(answer).toEqual({
      kind: "refused",
      refusals: [undefined, { item: CHECK.Item }, { item: undefined }],
    });
  });

  it("may have been applied by an earlier send", () => {
    expect(cancellationOf(cancelled([CHECK], 2), "t")).toMatchObject({ isRepeated: true });
    const conflict = [{ Code: "TransactionConflict" }];
    expect(cancellationOf(cancelled(conflict, 2), "t")?.kind).toBe("unknown");
  });

  it("is not confused with other errors", () => {
    expect(cancellationOf(new Error("x"), "t")).toBeUndefined();
    expect(cancellationOf({ name: "ThrottlingException" }, "t")).toBeUndefined();
  });
});
