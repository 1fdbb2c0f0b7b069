import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkTable, createTable } from "../../packages/holdfast/src/table/index.js";
import { type Backend, Bench, type Declare, type Shape } from "./mutex-bench.js";
import { stepTests } from "./mutex-steps.js";
import { viewTests } from "./mutex-views.js";

const SHAPES: readonly Shape[] = [
  {
    title: "with the keys pk and sk",
    keys: undefined,
    key: (name) => ({ pk: { S: `lock#${name}` }, sk: { S: "lease" } }),
  },
  {
    title: "with keys of different names, both reserved words",
    keys: { pk: "name", sk: "range" },
    key: (name) => ({ name: { S: `lock#${name}` }, range: { S: "lease" } }),
  },
  {
    title: "with a hash key alone",
    keys: { pk: "id", sk: null },
    key: (name) => ({ id: { S: `lock#${name}` } }),
  },
];

function declareFor(backend: Backend, shape: Shape): Declare {
  const test = (title: string, body: () => Promise<void>): void => {
    const skip = backend.skips.find((one) => one.title === title);
    if (skip === undefined) it(title, body);
    else it.skip(`${title} (left out: ${skip.reason})`, body);
  };
  const once: Declare["once"] = (title, body) => {
    if (shape === SHAPES[0]) test(title, body);
  };
  return Object.assign(test, { once });
}

/** The tests of every server, for every shape of the key. */
export function mutexSuite(backend: Backend): void {
  describe.each(SHAPES)(`a mutex on ${backend.name} $title`, (shape) => {
    const bench = new Bench(shape);
    const test = declareFor(backend, shape);

    beforeAll(async () => {
      bench.use(await backend.open(), backend.way);
      const { client, table } = bench.open;
      await createTable({ client, table, keys: shape.keys });
    });
    afterEach(() => bench.lockers.closeAll());
    afterAll(() => bench.open.close());

    test("has a valid table made by createTable", async () => {
      const { client, table } = bench.open;
      const { keys } = shape;
      const report = await checkTable({ client, table, keys });
      expect(report).toMatchObject({ table, ttlAttribute: "expiresAt", billing: "on-demand" });
      expect(await createTable({ client, table, keys })).toEqual(report);
      const other = { client, table, keys: { pk: "another", sk: null } };
      await expect(checkTable(other)).rejects.toMatchObject({ code: "misconfigured" });
    });

    stepTests(test, bench);
    viewTests(test, bench);
  });
}
