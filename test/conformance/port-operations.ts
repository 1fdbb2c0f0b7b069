import fc from "fast-check";
import { expect } from "vitest";
import type {
  AttributeValue,
  Change,
  Condition,
  Item,
  Query,
  ReadAnswer,
  ScanAnswer,
  TablePort,
  Write,
  WriteAnswer,
} from "../../packages/holdfast/src/platform/table.js";
import { normalDecimal } from "../../packages/testing/src/table/decimal.js";

/** One request through the port. Keys are numbered; the caller chooses their names. */
export type Operation =
  | { readonly kind: "write"; readonly at: number; readonly write: Omit<Write, "key"> }
  | {
      readonly kind: "read";
      readonly at: number;
      readonly consistent: boolean;
      readonly attributes: readonly string[] | undefined;
    }
  | { readonly kind: "scan"; readonly prefixes: readonly string[] }
  | ({ readonly kind: "query" } & Pick<Query, "consistent"> & {
        readonly from: string;
        readonly to: string;
        readonly isDescending: boolean;
        readonly mostItems: number | undefined;
      });

// Few names and few values, so that conditions meet the results of earlier writes; some names are reserved
// words.
const attribute = fc.constantFrom("version", "size", "data");
const numeral = fc.constantFrom("0", "1", "1.0", "10e-1", "2", "9007199254740993");

const scalar: fc.Arbitrary<AttributeValue> = fc.oneof(
  { weight: 12, arbitrary: numeral.map((N) => ({ N })) },
  {
    weight: 4,
    arbitrary: fc.constantFrom("", "a", "b", "ab", "\u{1F511}", "\uFF5E").map((S) => ({ S })),
  },
  fc.boolean().map((BOOL) => ({ BOOL })),
  fc.constant({ NULL: true } as const),
  fc.constantFrom([0], [0, 1], [255]).map((bytes) => ({ B: Uint8Array.from(bytes) })),
);
const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  { weight: 8, arbitrary: scalar },
  fc.array(scalar, { maxLength: 2 }).map((L) => ({ L })),
  fc.dictionary(fc.constantFrom("x", "y"), scalar, { maxKeys: 2 }).map((M) => ({ M })),
  fc.constantFrom(["a"], ["b", "a"]).map((SS) => ({ SS })),
  fc.constantFrom(["1"], ["2", "1.5"]).map((NS) => ({ NS })),
);

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("present", "absent"), attribute }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("equals", "differs"), attribute, value }),
  },
  // Members of maps: the attribute may be absent, or of another type, or a map without the member.
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("equals", "differs", "below", "at-least"),
      attribute,
      member: fc.constantFrom("x", "y"),
      value: scalar,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("below", "at-least"),
      attribute,
      value: numeral.map((N) => ({ N })),
    }),
  },
  // Sometimes a value without an order, or a comparison of an attribute with the same attribute: both are
  // refused.
  fc.record({ kind: fc.constantFrom("below", "at-least"), attribute, value }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("same"), attribute, as: attribute }) },
) as fc.Arbitrary<Condition>;
const condition: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 2, arbitrary: leaf },
  fc.record({
    kind: fc.constantFrom("all", "any"),
    of: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: leaf },
        fc.record({
          kind: fc.constantFrom("all", "any"),
          of: fc.array(leaf, { minLength: 1, maxLength: 2 }),
        }) as fc.Arbitrary<Condition>,
      ),
      { minLength: 1, maxLength: 3 },
    ),
  }) as fc.Arbitrary<Condition>,
);

const anyChange: fc.Arbitrary<Change> = fc.record({
  set: fc.dictionary(
    attribute,
    fc.oneof(
      { weight: 3, arbitrary: value },
      { weight: 2, arbitrary: numeral.map((incrementFrom) => ({ incrementFrom })) },
      fc.record({ incrementFrom: numeral, by: fc.integer({ min: -3, max: 3 }), of: attribute }),
      value.map((orElse) => ({ orElse })),
    ),
    { minKeys: 1, maxKeys: 3 },
  ),
  remove: fc.uniqueArray(attribute, { maxLength: 1 }),
});

// Setting and removing the same attribute in one write is a rare mistake.
const change: fc.Arbitrary<Change> = fc.oneof(anyChange, {
  weight: 9,
  arbitrary: anyChange.map(({ set, remove }) => ({
    set,
    remove: remove.filter((name) => !(name in set)),
  })),
});

// A put has only plain values, and a delete has no change.
const write: fc.Arbitrary<Omit<Write, "key">> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ condition, change }) },
  fc.record({
    condition,
    change: fc.dictionary(attribute, value, { maxKeys: 3 }).map((set) => ({ set, remove: [] })),
    as: fc.constant("put" as const),
  }),
  fc.record({
    condition,
    change: fc.constant({ set: {}, remove: [] }),
    as: fc.constant("delete" as const),
  }),
);

const at = fc.integer({ min: 0, max: 3 });

// The first is the only item of its partition, the others share a partition.
const SORT_KEYS = ["lease", "lease", "\uFF5E", "\u{1F511}"];

const CREATED: Omit<Write, "key"> = {
  condition: {
    kind: "any",
    of: [
      { kind: "absent", attribute: "version" },
      { kind: "present", attribute: "version" },
    ],
  },
  change: { set: { version: { incrementFrom: "5" } }, remove: ["data"] },
};

/** A few requests about a few items. */
export const operations: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("write" as const),
        at,
        write,
      }),
    },
    fc.record({
      kind: fc.constant("read" as const),
      at,
      consistent: fc.boolean(),
      attributes: fc.option(fc.uniqueArray(attribute, { minLength: 1, maxLength: 3 }), {
        nil: undefined,
      }),
    }),
    // Always applied, so that a query finds several items.
    { weight: 4, arbitrary: at.map((at) => ({ kind: "write" as const, at, write: CREATED })) },
    fc.record({
      kind: fc.constant("scan" as const),
      prefixes: fc.constantFrom([""], ["1"], ["x"], ["1", "2"], ["x", "0"]),
    }),
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("query" as const),
        consistent: fc.boolean(),
        // Sometimes a range that ends before it begins, which is refused.
        from: fc.constantFrom("a", "a", "lease", "\uFF5E"),
        to: fc.constantFrom("lease", "\uFF5E", "\u{1F511}", "\u{1F511}"),
        isDescending: fc.boolean(),
        mostItems: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
      }),
    },
  ),
  { minLength: 1, maxLength: 18 },
);

const CALL = { timeoutMs: 20_000 };

/** Sends the requests to a table, with keys that begin with `own`. Returns the answers. */
export async function answersOf(
  table: TablePort,
  own: string,
  asked: readonly Operation[],
): Promise<unknown[]> {
  const keyOf = (index: number): Item => ({
    pk: { S: `${own}${Math.min(index, 1)}` },
    sk: { S: SORT_KEYS[index] ?? "" },
  });
  const answers: unknown[] = [];
  for (const operation of asked) {
    if (operation.kind === "scan") {
      answers.push(
        await scanned(
          table,
          operation.prefixes.map((prefix) => `${own}${prefix}`),
        ),
      );
    } else if (operation.kind === "query") {
      const { from, to, kind: _, ...asked } = operation;
      answers.push(
        await queried(table, {
          ...asked,
          partition: { attribute: "pk", value: `${own}1` },
          sort: { attribute: "sk", from, to },
        } as Query),
      );
    } else if (operation.kind === "read") {
      const { consistent, attributes } = operation;
      const read = { key: keyOf(operation.at), consistent };
      const answer = await table.read(
        attributes === undefined ? read : { ...read, attributes },
        CALL,
      );
      answers.push(comparable(answer));
    } else {
      answers.push(
        comparable(await table.write({ ...operation.write, key: keyOf(operation.at) }, CALL)),
      );
    }
  }
  return answers;
}

async function scanned(table: TablePort, values: readonly string[]): Promise<unknown> {
  const prefixes = values.map((value) => ({ attribute: "pk", value }));
  const items: string[] = [];
  let after: Item | undefined;
  do {
    const page: ScanAnswer = await table.scan({ prefixes, after }, CALL);
    if (page.kind !== "page") return page;
    items.push(...page.items.map((item) => JSON.stringify(normal({ M: item }))));
    after = page.next;
  } while (after !== undefined);
  return items.sort();
}

async function queried(table: TablePort, query: Query): Promise<unknown> {
  const items: unknown[] = [];
  let after: Item | undefined;
  do {
    const page: ScanAnswer = await table.query({ ...query, after }, CALL);
    if (page.kind !== "page") return { kind: page.kind };
    // Servers differ only in an empty last page.
    expect(page.items.length).toBeLessThanOrEqual(query.mostItems ?? Number.POSITIVE_INFINITY);
    items.push(...page.items.map((item) => normal({ M: item })));
    after = page.next;
  } while (after !== undefined);
  return items;
}

/** Removes the deliberate differences between servers from an answer: messages, and the order of a set. */
function comparable(answer: WriteAnswer | ReadAnswer): unknown {
  switch (answer.kind) {
    case "misconfigured":
      return { kind: answer.kind };
    case "applied":
    case "refused":
    case "found":
      return {
        kind: answer.kind,
        item: answer.item === undefined ? undefined : normal({ M: answer.item }),
      };
    default:
      return answer;
  }
}

function normal(value: AttributeValue): unknown {
  if ("M" in value) {
    const members = Object.entries(value.M).sort(([left], [right]) => (left < right ? -1 : 1));
    return { M: members.map(([name, member]) => [name, normal(member)]) };
  }
  if ("L" in value) return { L: value.L.map(normal) };
  if ("B" in value) return { B: Buffer.from(value.B).toString("hex") };
  if ("SS" in value) return { SS: [...value.SS].sort() };
  if ("NS" in value) return { NS: value.NS.map(normalDecimal).sort() };
  // DynamoDB Local keeps the zero of a sum such as 1.0 + 1; AWS documents that DynamoDB removes such zeros.
  if ("N" in value) return { N: normalDecimal(value.N) };
  return value;
}

/** Whether DynamoDB evaluates the condition, and does not refuse it as invalid. */
function isValidCondition(condition: Condition): boolean {
  if (condition.kind === "all" || condition.kind === "any") {
    return condition.of.every(isValidCondition);
  }
  if (condition.kind === "same") return condition.attribute !== condition.as;
  if (condition.kind !== "below" && condition.kind !== "at-least") return true;
  return ["N", "S", "B"].some((type) => type in condition.value);
}

/** The same without writes whose condition or change is invalid: an engine may accept what DynamoDB refuses. */
export const validOperations: fc.Arbitrary<readonly Operation[]> = operations.map((asked) =>
  asked.filter((each) => {
    if (each.kind !== "write") return true;
    const { set, remove } = each.write.change;
    return isValidCondition(each.write.condition) && !remove.some((name) => name in set);
  }),
);
