import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../test/support/errors.js";
import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import { refOf } from "../../holdfast/src/core/record/key.js";
import { NATIVE_KEYS, nativeFormat } from "../../holdfast/src/native/native.js";
import { awsLockClient, dynamodbLease, dynamolock, lockClientFailOpen } from "../src/index.js";

/** A name is as long as the format's other clients and DynamoDB allow. */

const LENGTHS: readonly (readonly [what: string, format: unknown, most: number])[] = [
  ["native", nativeFormat(NATIVE_KEYS), 1_900],
  ["aws-lock-client", awsLockClient(), 2_048],
  ["dynamolock", dynamolock(), 2_048],
  ["dynamodb-lease", dynamodbLease(), 2_048],
  ["lock-client-fail-open", lockClientFailOpen(), 2_048],
  ["aws-lock-client with fences", awsLockClient({ fences: "companion" }), 2_033],
  ["dynamodb-lease with fences", dynamodbLease({ fences: "companion" }), 2_033],
  ["dynamolock with observations", dynamolock({ observations: "companion" }), 2_034],
];

const refused = { code: "invalid-argument", mentions: [/ bytes;/] } as const;

describe("a name", () => {
  it.each(LENGTHS)("in format %s has a longest length", (_what, format, most) => {
    const lengths = (length: number) => refOf(format as LeaseFormat, "é".repeat(length / 2));
    expect(lengths(most - (most % 2)).name).toHaveLength((most - (most % 2)) / 2);
    expectThrown(() => refOf(format as LeaseFormat, "a".repeat(most + 1)), refused);
    expect(refOf(format as LeaseFormat, "a".repeat(most)).name).toHaveLength(most);
  });

  it.each([
    [awsLockClient({ sortKeyName: "sk" }), 1_024],
    [awsLockClient({ sortKeyName: "sk", fences: "companion" }), 1_009],
  ] as const)("has a second part as long as a sort key", (format, most) => {
    const refFor = (length: number) => refOf(format as LeaseFormat, ["a", "b".repeat(length)]);
    expect(refFor(most)).toBeDefined();
    expectThrown(() => refFor(most + 1), refused);
  });
});
