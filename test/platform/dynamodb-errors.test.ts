import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { answerOf } from "../../src/platform/dynamodb-errors.js";

/** An error as another copy of the SDK, or a bundle with minified names, throws it. */
function foreign(name: string, more: object = {}): Error {
  class t extends Error {}
  return Object.assign(new t(`about ${name}`), { name, ...more });
}

const kindOf = (error: unknown): string => {
  const answer = answerOf(error, "locks", "UpdateItem");
  return answer.kind === "misconfigured" ? answer.error.code : answer.kind;
};

describe("an error of the SDK's", () => {
  it("is known by its name, not by its class or its class's name", () => {
    const item = { pk: { S: "a" } };
    const own = new ConditionalCheckFailedException({ message: "no", $metadata: {}, Item: item });
    expect(answerOf(own, "locks", "UpdateItem")).toEqual({ kind: "refused", item });
    const minified = foreign("ConditionalCheckFailedException", { Item: item });
    expect(minified.constructor.name).toBe("t");
    expect(answerOf(minified, "locks", "UpdateItem")).toEqual({ kind: "refused", item });
    const plain = { name: "ConditionalCheckFailedException" };
    expect(answerOf(plain, "locks", "UpdateItem")).toEqual({ kind: "refused", item: undefined });
  });

  const NAMES = [
    ["ProvisionedThroughputExceededException", "throttled"],
    ["ThrottlingException", "throttled"],
    ["RequestLimitExceeded", "throttled"],
    ["TransactionConflictException", "conflict"],
    ["ReplicatedWriteConflictException", "conflict"],
    ["AccessDeniedException", "access-denied"],
    ["UnrecognizedClientException", "access-denied"],
    ["ExpiredTokenException", "access-denied"],
    ["InvalidSignatureException", "access-denied"],
    ["CredentialsProviderError", "access-denied"],
    ["ResourceNotFoundException", "misconfigured"],
    ["ValidationException", "misconfigured"],
    ["InternalServerError", "unknown"],
    ["ServiceUnavailable", "unknown"],
    ["TimeoutError", "unknown"],
    ["AbortError", "unknown"],
    ["Error", "unknown"],
  ] as const;

  it.each(NAMES)("called %s means %s", (name, kind) => {
    expect(kindOf(foreign(name))).toBe(kind);
  });

  it.each(NAMES)("called %s keeps itself as the cause", (name) => {
    const error = foreign(name);
    const answer = answerOf(error, "locks", "UpdateItem");
    const cause =
      answer.kind === "misconfigured" ? answer.error.cause : "cause" in answer && answer.cause;
    expect(cause).toBe(error);
  });

  it("after a retry says nothing of the attempts before it, unless it is a refusal", () => {
    const $metadata = { attempts: 2 };
    for (const [name] of NAMES) expect(kindOf(foreign(name, { $metadata }))).toBe("unknown");
    const refused = foreign("ConditionalCheckFailedException", { $metadata });
    expect(kindOf(refused)).toBe("refused");
  });

  it("about a signature that the clock made invalid is not about permissions, and was certainly not applied", () => {
    const message = "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z";
    expect(kindOf(foreign("InvalidSignatureException", { message }))).toBe("skewed");
  });

  it("that is none at all is unknown", () => {
    for (const nothing of [undefined, null, "text", 7, {}, { name: 7 }]) {
      expect(kindOf(nothing)).toBe("unknown");
    }
  });

  it("is told with the table, what was found, and what to do", () => {
    const missing = answerOf(foreign("ResourceNotFoundException"), "locks", "UpdateItem");
    expect(missing).toMatchObject({
      error: { message: expect.stringMatching(/"locks".*region.*createTable/) },
    });
    const denied = answerOf(foreign("AccessDeniedException"), "locks", "UpdateItem");
    expect(denied).toMatchObject({
      error: {
        message: expect.stringMatching(
          /dynamodb:UpdateItem on table "locks".*about Access.*policyFor/,
        ),
      },
    });
  });
});
