import { expect, it } from "vitest";
import { MemoryTable } from "../../../testing/src/index.js";
import { Holdfast } from "../../src/index.js";
import { createTable } from "../../src/table/index.js";

const WRONG = [
  [{ pk: "PK", sk: false }, "keys.sk"],
  [{ pk: 7 }, "keys.pk"],
  [{ pk: "" }, "keys.pk"],
  [{ pk: "k".repeat(256) }, "keys.pk"],
  [{ pk: "PK", sk: "PK" }, "different"],
  [{ pk: "sk" }, "different"],
  [{ partitionKey: "PK" }, "partitionKey"],
  [null, "`keys`"],
] as const;

it.each(WRONG)("the key names %j are refused", async (keys, words) => {
  const given = keys as unknown as { readonly pk: string };
  const asked = { code: "invalid-argument", message: expect.stringContaining(words) };
  const make = () => new Holdfast({ client: new MemoryTable(), table: "locks", keys: given });
  expect(make).toThrow(expect.objectContaining(asked));
  const send = () => Promise.reject(new Error("nothing may be sent"));
  const table = { client: { send, config: {} } as never, table: "locks", keys: given };
  await expect(createTable(table)).rejects.toMatchObject(asked);
});

it("one key, and two keys of other names, are accepted", async () => {
  for (const keys of [{ pk: "PK", sk: null }, { pk: "PK", sk: "SK" }, { sk: undefined }, {}]) {
    await new Holdfast({ client: new MemoryTable(), table: "locks", keys }).close();
  }
});
