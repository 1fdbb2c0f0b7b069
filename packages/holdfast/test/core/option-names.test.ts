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
import { checkNames, type OptionNames } from "../../src/internal/option-names.js";

const TABLES: Record<string, readonly [OptionNames<Record<string, unknown>>, number]> = {
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
      Object.entries(names).map(([name, kind]) => [
        name,
        name === "signal" ? signal : kind === "flag" ? false : 1,
      ]),
    );
    expect(checkNames("f()", all, names)).toBe(all);
    expectThrown(() => checkNames<object>("f()", { ...all, leese: 1 }, names), {
      code: "invalid-argument",
      mentions: ["leese", "f()"],
    });
  });
});

describe("an option that is true or false", () => {
  const names: OptionNames<Record<string, unknown>> = { keepData: "flag", wait: true };

  it.each([[true], [false], [undefined]])("may be %s", (keepData) => {
    expect(checkNames("f()", { keepData }, names)).toEqual({ keepData });
  });

  it.each([["false"], [""], [0], [1], [null], [{}]])("is not %j", (keepData) => {
    expectThrown(() => checkNames("f()", { keepData }, names), {
      code: "invalid-argument",
      mentions: ["keepData", "true or false"],
    });
  });
});
