import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/index.js";
import { causeText } from "../../src/internal/cause-text.js";
import { shown } from "../../src/internal/shown.js";

describe("text from other clients", () => {
  it("is cut to the limit, with an ellipsis", () => {
    expect(shown("a".repeat(200))).toBe("a".repeat(200));
    expect(shown("a".repeat(201))).toBe(`${"a".repeat(199)}…`);
    expect(shown("abcdef", 4)).toBe("abc…");
  });

  it("is not cut within a surrogate pair", () => {
    expect(shown("ab\u{1F600}cd", 4)).toBe("ab…");
    expect(shown("a\u{1F600}bcd", 4)).toBe("a\u{1F600}…");
  });

  it("shows control characters as escapes", () => {
    expect(shown("bob\nERROR \u001b[31m\u009b\u2028\u202e")).toBe(
      "bob\\u000aERROR \\u001b[31m\\u009b\\u2028\\u202e",
    );
  });

  it("shows control characters as escapes in every message of the library", () => {
    const { message } = new HoldfastError(
      "lost",
      "released by bob: x\nERROR forged \u001b]0;t\u0007",
    );
    expect(message).toBe("released by bob: x\\u000aERROR forged \\u001b]0;t\\u0007");
  });
});

describe("causeText", () => {
  const error = (message: string, more: object = {}) => Object.assign(new Error(message), more);

  it.each([
    ["a plain error", error("reset."), " (reset)"],
    ["an error with a name", error("late", { name: "TimeoutError" }), " (TimeoutError: late)"],
    [
      "a refused connection",
      error("connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED" }),
      " (connect ECONNREFUSED 127.0.0.1:1)",
    ],
    [
      "a host of two addresses",
      Object.assign(new AggregateError([error("connect ECONNREFUSED ::1:1")], ""), {
        code: "ECONNREFUSED",
      }),
      " (connect ECONNREFUSED ::1:1)",
    ],
    [
      "a proxy's page",
      error("Unexpected token '<'\n  Deserialization error: to see", {
        name: "SyntaxError",
        $metadata: { httpStatusCode: 403 },
      }),
      " (HTTP status 403: SyntaxError: Unexpected token '<')",
    ],
    ["an end from outside", new DOMException("It was aborted.", "AbortError"), ""],
    ["nothing", undefined, ""],
    ["a value that is no error", 7, ""],
    ["a name alone", { name: "Odd" }, " (Odd)"],
  ])("describes %s", (_, cause, text) => {
    expect(causeText(cause)).toBe(text);
  });

  it("cuts long text", () => {
    expect(causeText(error("x".repeat(1_000))).length).toBeLessThan(210);
  });
});
