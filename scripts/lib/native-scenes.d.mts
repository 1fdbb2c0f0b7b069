import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { nativeFormat } from "../../src/formats/native.js";
import type { REQUESTS } from "../../src/formats/native-requests.js";
import type { SESSIONS } from "../../src/formats/native-sessions.js";
import type { Holdfast, inspect, mutex, openSession } from "../../src/index.js";
import type { compileWrite } from "../../src/platform/dynamodb/expressions.js";
import type { Item } from "../../src/platform/table.js";
import type { createTable, TableKeys } from "../../src/table/index.js";
import type { seededRandom } from "../../src/testing/time/seeded-random.js";

/** The key shapes of the vectors, by name. */
export const SHAPES: { readonly [shape: string]: TableKeys | undefined };

/** Plays every scene in a separate table. Returns the remaining items. */
export function playNativeScenes(options: {
  readonly client: DynamoDBClient;
  /** The prefix of the tables' names. */
  readonly prefix: string;
  readonly createTable: typeof createTable;
  readonly library: {
    readonly Holdfast: typeof Holdfast;
    readonly inspect: typeof inspect;
    readonly mutex: typeof mutex;
    readonly openSession: typeof openSession;
  };
  readonly seededRandom: typeof seededRandom;
}): Promise<{ state: string; shape: string; item: Item }[]>;

/** Every request of the format with fixed arguments, compiled to the exact text for DynamoDB. */
export function nativeRequests(code: {
  readonly nativeFormat: typeof nativeFormat;
  readonly REQUESTS: typeof REQUESTS;
  readonly SESSIONS: typeof SESSIONS;
  readonly compileWrite: typeof compileWrite;
}): { step: string; request: Readonly<Record<string, unknown>> }[];

/** The content of an item in a format, as JSON: whole numbers as text. */
export function readable(record: object): Readonly<Record<string, unknown>>;
