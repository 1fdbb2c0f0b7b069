import { describe, expect, it } from "vitest";
import type { ClientSettings } from "../../src/core/client-settings.js";
import { ClientContext } from "../../src/core/context.js";
import { TableAccess } from "../../src/core/table-access.js";
import type { Clock } from "../../src/platform/clock.js";
import type { Read, ReadAnswer, TablePort } from "../../src/platform/table.js";

const CLOCK = {
  monotonicMs: () => 5_000,
  bootMs: () => 5_000,
  wallMs: () => 5_000,
} as unknown as Clock;
const READ: Read = { key: { pk: { S: "a" } }, consistent: true };

/** Lets an access to a table see one answer; returns the `Date`s that its clock was told. */
async function datesAfter(answer: object): Promise<unknown[]> {
  const table = { tellsDate: true, clockCorrectionMs: 0, read: async () => answer };
  const settings = { maxClockDrift: 0.01, maxClockErrorMs: 10_000 } as ClientSettings;
  const access = new TableAccess(table as unknown as TablePort, CLOCK, settings, () => undefined);
  const told: unknown[] = [];
  access.tableClock.see = (_sent, dateMs) => {
    told.push(dateMs);
    return undefined;
  };
  expect((await access.read(READ, 1_000)) as ReadAnswer).toBe(answer);
  return told;
}

describe("the clock of a table", () => {
  it.each([
    ["the `Date` of an answer", { kind: "found", dateMs: 7 }, [7]],
    ["the missing `Date` of an answer", { kind: "found" }, [undefined]],
    ["the `Date` of an error of the server", { kind: "unknown", dateMs: 7 }, [7]],
    ["the `Date` of a refusal for good", { kind: "misconfigured", dateMs: 7 }, [7]],
    ["nothing of a request without an answer", { kind: "unknown" }, []],
    ["nothing of a request that was never sent", { kind: "misconfigured" }, []],
  ])("is told %s", async (_title, answer, expected) => {
    expect(await datesAfter(answer)).toEqual(expected);
  });
});

describe("a lease that seems over", () => {
  const seems = (record: object, dateMs?: number): boolean => {
    const context = { settings: { maxClockErrorMs: 10_000 } };
    return ClientContext.prototype.seemsOver.call(context as never, record as never, { dateMs });
  };
  const HELD = { state: "held", endMs: 100_000 };

  it.each([
    [HELD, 110_000, true],
    [HELD, 109_999, false],
    [HELD, undefined, false],
    [{ ...HELD, endMs: undefined }, 999_999, false],
    [{ ...HELD, state: "free" }, 999_999, false],
  ])("is %j at %s: %s", (record, dateMs, expected) => {
    expect(seems(record, dateMs)).toBe(expected);
  });
});
