import { describe, expect, it } from "vitest";
import { type ExpectedError, expectThrown } from "../../../../../test/support/errors.js";
import { dynamodbLease } from "../../../../formats/src/dynamodb-lease.js";
import {
  ATTRIBUTES,
  type Capability,
  QUEUE,
  requireCapability,
} from "../../../src/core/record/capability.js";
import type { LeaseFormat } from "../../../src/core/record/format.js";
import { NATIVE_KEYS, nativeFormat } from "../../../src/native/native.js";
import { HISTORY } from "../../../src/native/native-history.js";
import { PERMITS } from "../../../src/native/native-permits.js";
import { REQUESTS } from "../../../src/native/native-requests.js";
import { SESSIONS } from "../../../src/native/native-sessions.js";
import { TRANSFERS } from "../../../src/native/native-transfers.js";

const CAPABILITIES: Record<string, Capability<unknown>> = {
  sessions: SESSIONS,
  queue: QUEUE,
  history: HISTORY,
  requests: REQUESTS,
  transfers: TRANSFERS,
  permits: PERMITS,
  attributes: ATTRIBUTES,
};

describe("requireCapability", () => {
  it("returns a capability of the format", () => {
    const format = nativeFormat(NATIVE_KEYS);
    expect(requireCapability(format, QUEUE)).toBe(format.queue);
    expect(requireCapability(format, REQUESTS)).toBe(REQUESTS.of(format));
  });

  it.each(Object.entries(CAPABILITIES))("refuses a format without %s", (_, capability) => {
    const format = dynamodbLease() as LeaseFormat;
    const expected: ExpectedError = { code: "invalid-argument", mentions: ['"dynamodb-lease"'] };
    expectThrown(() => requireCapability(format, capability), expected);
  });

  it("names the caller's feature", () => {
    const format = dynamodbLease() as LeaseFormat;
    const require = () => requireCapability(format, REQUESTS, "forced releases");
    expectThrown(require, { code: "invalid-argument", mentions: ["forced releases"] });
  });

  it("names the other clients of a foreign format, and no sort key", () => {
    const require = () => requireCapability(dynamodbLease() as LeaseFormat, QUEUE);
    expectThrown(require, {
      ...{ code: "invalid-argument", mentions: ["other clients"], omits: ["sort key"] },
    });
  });

  it("names the missing sort key of a native table", () => {
    const format = nativeFormat({ pk: "pk", sk: null });
    const expected: ExpectedError = { code: "invalid-argument", mentions: ["sort key", "`keys`"] };
    expectThrown(() => requireCapability(format, QUEUE), expected);
  });
});
