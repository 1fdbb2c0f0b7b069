import { describe, expect, it } from "vitest";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { NATIVE_KEYS, nativeFormat } from "../../src/native/native.js";
import { MEMBERS } from "../../src/native/native-members.js";
import type { Item } from "../../src/platform/table.js";

const rows = MEMBERS.of(nativeFormat(NATIVE_KEYS));
const CALL = { timeoutMs: 1_000 };
const ROW = {
  ...{ session: "s1", owner: "me", weight: 0.5, leaseMs: 30_000, count: 3, freed: 7 },
  ...{ names: "3-a-b", isLeaving: false },
};
const WALL_MS = 1_790_000_000_000;

async function written(group: string): Promise<readonly Item[]> {
  const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
  for (const session of ["s1", "s2"]) {
    const put = rows?.put(group, { ...ROW, session }, WALL_MS);
    if (put !== undefined) await table.write(put, CALL);
  }
  const other = rows?.put("another group", ROW, WALL_MS);
  if (other !== undefined) await table.write(other, CALL);
  const gone = rows?.remove(group, "s2");
  if (gone !== undefined) await table.write(gone, CALL);
  const all = rows?.all(group);
  if (all === undefined) return [];
  const answer = await table.query({ ...all, consistent: true }, CALL);
  return answer.kind === "page" ? answer.items : [];
}

describe("the row of a member", () => {
  it("is found by a query of its group, as it was written, until it is removed", async () => {
    const items = await written("g");
    const week = (WALL_MS + ROW.leaseMs) / 1_000 + 7 * 24 * 3_600;
    expect(items.map((item) => rows?.rowIn(item))).toEqual([{ ...ROW, expiresAt: week }]);
    expect(items[0]).toMatchObject({ pk: { S: "queue#g" }, sk: { S: "member/s1" } });
  });

  it("is ignored in another layout, or with a weight or a lease that is none", async () => {
    const [item = {}] = await written("g");
    for (const wrong of [
      { v: { N: "2" } },
      { weight: { S: "much" } },
      { weight: { S: "-1" } },
      { weight: { S: "1e9" } },
      { leaseMs: { N: "0" } },
      { sk: { S: "ticket//1" } },
    ]) {
      expect(rows?.rowIn({ ...item, ...wrong } as Item)).toBeUndefined();
    }
  });

  it("needs a table with a sort key", () => {
    expect(MEMBERS.of(nativeFormat({ pk: "pk", sk: null }))).toBeUndefined();
  });
});
