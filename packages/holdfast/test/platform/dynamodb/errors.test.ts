import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { answerOf, isUnreadRefusal } from "../../../src/platform/dynamodb/errors.js";

/** An error from another copy of the SDK, or from a bundle with minified names. */
function foreign(name: string, more: object = {}): Error {
  class t extends Error {}
  return Object.assign(new t(`about ${name}`), { name, ...more });
}

const kindOf = (error: unknown): string => {
  const answer = answerOf(error, "locks", "UpdateItem");
  return answer.kind === "misconfigured" ? answer.error.code : answer.kind;
};

describe("an SDK error", () => {
  it("is recognised by its name, not by its class or the name of the class", () => {
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
    ["CredentialsProviderError", "misconfigured"],
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

  it.each(NAMES)("with the name %s becomes the cause", (name) => {
    const error = foreign(name);
    const answer = answerOf(error, "locks", "UpdateItem");
    const cause =
      answer.kind === "misconfigured" ? answer.error.cause : "cause" in answer && answer.cause;
    expect(cause).toBe(error);
  });

  it("after a retry leaves earlier attempts unknown, except for a refusal", () => {
    const $metadata = { attempts: 2 };
    for (const [name] of NAMES) expect(kindOf(foreign(name, { $metadata }))).toBe("unknown");
    const refused = foreign("ConditionalCheckFailedException", { $metadata });
    expect(kindOf(refused)).toBe("refused");
  });

  it("about a signature invalidated by the clock is not a permission error, and was not applied", () => {
    const message = "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z";
    expect(kindOf(foreign("InvalidSignatureException", { message }))).toBe("skewed");
  });

  it("without a status is unknown", () => {
    for (const nothing of [undefined, null, "text", 7, {}, { name: 7 }]) {
      expect(kindOf(nothing)).toBe("unknown");
    }
  });

  it("with status 400 is an answer, with any name", () => {
    const $metadata = { httpStatusCode: 400, attempts: 1 };
    const odd = foreign("KMSDisabledException", { $metadata, message: "The key is off." });
    expect(answerOf(odd, "locks", "UpdateItem")).toMatchObject({
      kind: "misconfigured",
      error: {
        code: "misconfigured",
        message: expect.stringMatching(/"locks" \(KMSDisabledException\): The key is off\. /),
      },
    });
    expect(kindOf(foreign("UnknownError", { $metadata }))).toBe("misconfigured");
    // After several sends the error describes only the last.
    const repeated = { httpStatusCode: 400, attempts: 2 };
    expect(kindOf(foreign("KMSDisabledException", { $metadata: repeated }))).toBe("unknown");
    for (const httpStatusCode of [403, 404, 408, 500, 503]) {
      expect(kindOf(foreign("Odd", { $metadata: { httpStatusCode } }))).toBe("unknown");
    }
    expect(kindOf(foreign("ThrottlingException", { $metadata }))).toBe("throttled");
  });

  it("about settings of the client counts only without a status", () => {
    for (const $metadata of [undefined, {}, { httpStatusCode: 500 }]) {
      const kind = $metadata?.httpStatusCode === 500 ? "unknown" : "misconfigured";
      expect(kindOf(foreign("EndpointError", { $metadata }))).toBe(kind);
      const message = "Region not accepted: region=x";
      expect(kindOf(foreign("Error", { message, $metadata }))).toBe(kind);
    }
  });

  it("quotes DynamoDB, and mentions keys only if DynamoDB does", () => {
    const messageOf = (message: string): string => {
      const answer = answerOf(foreign("ValidationException", { message }), "locks", "UpdateItem");
      return answer.kind === "misconfigured" ? answer.error.message : answer.kind;
    };
    const aboutKeys = "The provided key element does not match the schema.";
    expect(messageOf(aboutKeys)).toMatch(/does not match the schema\. Usually .*checkTable\(\)/);
    const overflow = messageOf("Number overflow. Attempting to store a number\nwith\u001b[0m");
    expect(overflow).toMatch(
      /\(ValidationException\): Number overflow\..* a number\. Fix the problem/,
    );
    expect(messageOf("x".repeat(100_000)).length).toBeLessThan(500);
  });

  it("about missing credentials says so, and says that nothing was sent", () => {
    const answer = answerOf(
      foreign("CredentialsProviderError", { message: "Could not load credentials" }),
      "locks",
      "UpdateItem",
    );
    expect(answer).toMatchObject({
      error: {
        code: "misconfigured",
        message: expect.stringMatching(
          /^No AWS credentials were found .*"locks": Could not.*Nothing was sent/,
        ),
      },
    });
    expect(answer).not.toMatchObject({ error: { message: expect.stringMatching(/refused/) } });
  });

  it.each(["a b", "ab", "locks\u0000"])("about an invalid table name %j says so", (table) => {
    // What DynamoDB says about such a name mentions no key, or "key" by chance.
    const message = "1 validation error detected: Value at 'tableName' ... key";
    const answer = answerOf(foreign("ValidationException", { message }), table, "UpdateItem");
    expect(answer).toMatchObject({
      error: { code: "misconfigured", message: expect.stringMatching(/not a valid table name/) },
    });
    expect(answer).not.toMatchObject({ error: { message: expect.stringMatching(/checkTable/) } });
  });

  it("of the runtime with status 400 is an unreadable refusal", () => {
    const $metadata = { httpStatusCode: 400 };
    expect(isUnreadRefusal(foreign("TypeError", { $metadata }))).toBe(true);
    expect(isUnreadRefusal(foreign("SyntaxError", { $metadata }))).toBe(true);
    expect(isUnreadRefusal(foreign("ValidationException", { $metadata }))).toBe(false);
    expect(isUnreadRefusal(foreign("TypeError", { $metadata: { httpStatusCode: 500 } }))).toBe(
      false,
    );
    for (const nothing of [undefined, null, {}, foreign("TypeError")]) {
      expect(isUnreadRefusal(nothing)).toBe(false);
    }
  });

  it("names the table, the problem, and the fix", () => {
    const missing = answerOf(foreign("ResourceNotFoundException"), "locks", "UpdateItem");
    expect(missing).toMatchObject({
      error: { message: expect.stringMatching(/"locks".*region.*createTable/) },
    });
    const denied = answerOf(foreign("AccessDeniedException"), "locks", "UpdateItem");
    expect(denied).toMatchObject({
      error: {
        message: expect.stringMatching(/dynamodb:UpdateItem\b.*"locks".*about Access.*policyFor/),
      },
    });
  });
});
