import { describe, expect, it } from "vitest";
import { requireCapability } from "../../../src/core/record/capability.js";
import type { LeaseFormat } from "../../../src/core/record/format.js";
import { dynamodbLease } from "../../../src/formats/dynamodb-lease.js";
import { NATIVE_KEYS, nativeFormat } from "../../../src/formats/native.js";
import { type ExpectedError, expectThrown } from "../../support/errors.js";

const CAPABILITIES = [
  "sessions",
  "queue",
  "history",
  "requests",
  "transfers",
  "attributes",
] as const;

describe("requireCapability", () => {
  it("returns a group of the format", () => {
    const format = nativeFormat(NATIVE_KEYS);
    expect(requireCapability(format, "queue")).toBe(format.queue);
    expect(requireCapability(format, "requests")).toBe(format.requests);
  });

  it.each(CAPABILITIES)("refuses a format without %s and names the format", (capability) => {
    const format = dynamodbLease() as LeaseFormat;
    const expected: ExpectedError = { code: "invalid-argument", mentions: ['"dynamodb-lease"'] };
    expectThrown(() => requireCapability(format, capability), expected);
  });

  it("names the caller's feature", () => {
    const format = dynamodbLease() as LeaseFormat;
    const require = () => requireCapability(format, "requests", "forced releases");
    expectThrown(require, { code: "invalid-argument", mentions: ["forced releases"] });
  });

  it("names the other clients of a foreign format, and no sort key", () => {
    const require = () => requireCapability(dynamodbLease() as LeaseFormat, "queue");
    expectThrown(require, {
      ...{ code: "invalid-argument", mentions: ["other clients"], omits: ["sort key"] },
    });
  });

  it("names the missing sort key of a native table", () => {
    const format = nativeFormat({ pk: "pk", sk: null });
    const expected: ExpectedError = { code: "invalid-argument", mentions: ["sort key", "`keys`"] };
    expectThrown(() => requireCapability(format, "queue"), expected);
  });
});
