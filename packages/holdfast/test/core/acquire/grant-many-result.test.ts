import { describe, expect, it } from "vitest";
import { MemoryTable } from "../../../../testing/src/table/memory-table.js";
import { doingOf, grantedOnto } from "../../../src/core/acquire/grant-many-result.js";
import type { Grant } from "../../../src/core/record/format.js";
import type { Found, LeaseRecord } from "../../../src/core/record/record.js";
import { nativeFormat } from "../../../src/native/native.js";

const GRANT: Grant = {
  holder: "me",
  leaseMs: 30_000,
  owner: "o",
  data: undefined,
  existingData: "replace",
  existingAttributes: "replace",
  wallMs: 1_000,
  acquiredAt: "1970-01-01T00:00:01.000Z",
  fenceSeed: 700n,
  passage: { kind: "ticket", ticket: 9n },
};

const format = nativeFormat({ pk: "pk", sk: "sk" });
const ref = format.codec.refOf("lock", "a");

function recordIn(table: MemoryTable): LeaseRecord {
  return format.codec.read(table.item(ref.key)) as LeaseRecord;
}

describe("grantedOnto", () => {
  it.each(["absent", "free", "held by a dead holder"])(
    "computes the record that the table stores, for a record that was %s",
    (was) => {
      const table = new MemoryTable();
      const claim = format.lease.claim(
        ref,
        { ...GRANT, holder: "before", passage: undefined },
        { kind: "absent" },
      );
      if (was !== "absent") table.apply(claim);
      if (was === "free") {
        const from = { maybe: ["before"] };
        table.apply(
          format.lease.free(ref, from, {
            keepData: false,
            lastHolder: "before",
            wallMs: 1,
            mark: "",
          }),
        );
      }
      const before = recordIn(table);
      const write =
        before.state === "held"
          ? format.lease.takeOver(ref, GRANT, before)
          : format.lease.claim(
              ref,
              GRANT,
              before.state === "free" ? { ...before, kind: "free" } : { kind: "absent" },
            );
      expect(table.applyAll({ writes: [write], token: "t" })).toEqual({ kind: "applied" });
      const told = recordIn(table);
      const derived = grantedOnto(before, GRANT);
      // Only present after a request to a holder.
      const { requestedHolders, ...rest } = told as typeof derived;
      expect(requestedHolders).toBeUndefined();
      expect(derived).toEqual(rest);
    },
  );
});

describe("doingOf", () => {
  const held = (holder: string): Found => ({ ...grantedOnto({ state: "absent" }, GRANT), holder });
  const cases: readonly [string, (Found | undefined)[], ReturnType<typeof doingOf>][] = [
    ["every record", [held("x"), held("y")], "own"],
    ["one record, and the other was not shown", [held("x"), undefined], "own"],
    ["one record, and the other is free", [held("x"), { state: "absent" }], "partly own"],
    ["one record, and the other is somebody's", [held("z"), held("y")], "partly own"],
    ["no record", [held("z"), undefined], "others"],
    ["each the other's record", [held("y"), held("x")], "others"],
  ];

  // rule: R5, protocol 84
  it("returns own only if every shown record has the id of the grant", () => {
    for (const [what, shown, doing] of cases) {
      expect(doingOf(shown, ["x", "y"]), what).toBe(doing);
    }
  });
});
