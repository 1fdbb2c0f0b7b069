import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { nativeFormat } from "../../src/formats/native.js";
import type { createTable, Holdfast, TableKeys } from "../../src/index.js";
import type { compileWrite } from "../../src/platform/dynamodb/expressions.js";
import type { Item } from "../../src/platform/table.js";
import type { seededRandom } from "../../src/testing/time/seeded-random.js";

/** The key shapes of the vectors, by name. */
export const SHAPES: { readonly [shape: string]: TableKeys | undefined };

/** Plays every scene in a table of its own, and answers with the items that they leave behind. */
export function playNativeScenes(options: {
  readonly client: DynamoDBClient;
  /** What the names of the tables begin with. */
  readonly prefix: string;
  readonly createTable: typeof createTable;
  readonly Holdfast: typeof Holdfast;
  readonly seededRandom: typeof seededRandom;
}): Promise<{ state: string; shape: string; item: Item }[]>;

/** Every request of the format with fixed arguments, compiled: what DynamoDB is sent, word for word. */
export function nativeRequests(code: {
  readonly nativeFormat: typeof nativeFormat;
  readonly compileWrite: typeof compileWrite;
}): { step: string; request: Readonly<Record<string, unknown>> }[];

/** What a format reads in an item, as JSON can say it: whole numbers as text. */
export function readable(record: object): Readonly<Record<string, unknown>>;
