import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Holdfast, inspect, mutex, openSession } from "../../packages/holdfast/src/index.js";
import type { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import type { REQUESTS } from "../../packages/holdfast/src/native/native-requests.js";
import type { RUNS } from "../../packages/holdfast/src/native/native-runs.js";
import type { SESSIONS } from "../../packages/holdfast/src/native/native-sessions.js";
import type { compileWrite } from "../../packages/holdfast/src/platform/dynamodb/expressions.js";
import type { Item } from "../../packages/holdfast/src/platform/table.js";
import type { createTable, TableKeys } from "../../packages/holdfast/src/table/index.js";
import type { seededRandom } from "../../packages/testing/src/time/seeded-random.js";

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
  readonly RUNS: typeof RUNS;
  readonly SESSIONS: typeof SESSIONS;
  readonly compileWrite: typeof compileWrite;
}): { step: string; request: Readonly<Record<string, unknown>> }[];

/** The content of an item in a format, as JSON: whole numbers as text. */
export function readable(record: object): Readonly<Record<string, unknown>>;
