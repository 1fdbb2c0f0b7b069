import { describe, expect, it } from "vitest";
import { LeaseEnd } from "../../../src/core/hold/lease-end.js";
import type { HeldRecord } from "../../../src/core/record/record.js";

const record = (endMs: number | undefined) => ({ endMs }) as HeldRecord;

/** The end of a lease whose next end by the table's time is `nowEndMs`. */
function endAfter(endMs: number | undefined, nowEndMs: number | undefined) {
  const end = new LeaseEnd({} as never, record(endMs));
  end.learn(record(nowEndMs));
  return end;
}

describe("the end of the next renewal", () => {
  it.each([
    [100, 200, 200],
    [200, 100, 200],
    [100, undefined, 100],
    [undefined, 200, 200],
    [undefined, undefined, undefined],
  ])("after the end %s, with %s by the table's time, is %s", (endMs, nowEndMs, expected) => {
    expect(endAfter(endMs, nowEndMs).endMs).toBe(expected);
  });

  it("is never before the end in a record that refused a renewal", () => {
    const end = endAfter(100, 200);
    end.learn(record(300));
    expect(end.endMs).toBe(300);
    end.learn(record(50));
    expect(end.endMs).toBe(300);
  });
});
