import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { RELEASE_NAMES, RENEW_NAMES } from "../../src/core/hold/writes.js";
import {
  ACQUIRE_NAMES,
  CLIENT_NAMES,
  DEFAULT_NAMES,
  LEASE_NAMES,
  QUEUE_NAMES,
} from "../../src/core/option-names.js";
import { checkNames } from "../../src/internal/option-names.js";

const TABLES: Record<string, readonly [Record<string, true>, number]> = {
  client: [CLIENT_NAMES, 13],
  lease: [LEASE_NAMES, 5],
  acquire: [ACQUIRE_NAMES, 16],
  "defaults of a lock": [DEFAULT_NAMES, 15],
  queue: [QUEUE_NAMES, 2],
  renew: [RENEW_NAMES, 2],
  release: [RELEASE_NAMES, 1],
};

describe.each(Object.entries(TABLES))("the options of %s", (_, [names, count]) => {
  it("are all known, and no others", () => {
    expect(Object.keys(names)).toHaveLength(count);
    const { signal } = new AbortController();
    const all = Object.fromEntries(
      Object.keys(names).map((name) => [name, name === "signal" ? signal : 1]),
    );
    expect(checkNames("f()", all, names)).toBe(all);
    expectThrown(() => checkNames<object>("f()", { ...all, leese: 1 }, names), {
      code: "invalid-argument",
      mentions: ["leese", "f()"],
    });
  });
});
