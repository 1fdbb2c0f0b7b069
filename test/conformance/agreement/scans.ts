import fc from "fast-check";
import { shaped } from "./items.js";
import type { Request } from "./requests.js";

/**
 * Random scans of a separate table. The order of a scan is not specified, so a whole walk is compared by the
 * items found, and single pages only by their lengths.
 */
export interface ScanCase {
  readonly items: readonly { readonly [name: string]: unknown }[];
  readonly limit: number | undefined;
  readonly segments: number;
  readonly filter: string | undefined;
}

const key = fc.record({
  pk: fc.constantFrom("a", "b", "c", "d", "e", "f", "g").map((S) => ({ S })),
  sk: fc.integer({ min: -3, max: 3 }).map((N) => ({ N: String(N) })),
});

/** A table's items, and one way to walk over the table. */
export const scanCase: fc.Arbitrary<ScanCase> = fc.record({
  items: fc.array(
    fc.tuple(key, shaped).map(([own, item]) => ({ ...item, ...own })),
    { maxLength: 20, size: "max" },
  ),
  limit: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  segments: fc.integer({ min: 1, max: 3 }),
  filter: fc.option(fc.constantFrom("sk > :zero", "d >= :zero", "attribute_exists(a.y)"), {
    nil: undefined,
  }),
});

/** The request for one page. */
export function scanPage(
  table: string,
  { limit, segments, filter }: ScanCase,
  segment: number,
  start: unknown,
): Request {
  return {
    operation: "Scan",
    body: {
      TableName: table,
      ...(limit === undefined ? {} : { Limit: limit }),
      ...(segments === 1 ? {} : { Segment: segment, TotalSegments: segments }),
      ...(filter === undefined ? {} : { FilterExpression: filter }),
      ...(filter?.includes(":zero") ? { ExpressionAttributeValues: { ":zero": { N: "0" } } } : {}),
      ...(start === undefined ? {} : { ExclusiveStartKey: start }),
    },
  };
}
