import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, type LockFormat, type TableKeys, type TableOptions } from "../index.js";
import type { CommonOptions } from "./options.js";
import { usageError } from "./output/exit-codes.js";
import { type AnyLocks, formatOf } from "./output/format.js";
import { type Output, tellFailure } from "./output/output.js";

// The SDK waits for ever by default, and only warns unless it is told to throw.
const CONNECT_MS = 5_000;
const REQUEST_MS = 10_000;
/** Only part of a signature where an endpoint is named; any value will do there. */
export const REGION_OF_AN_ENDPOINT = "us-east-1";

/** The table that the options name, and a client for it. Throws a usage error if they name none. */
export async function tableOf(
  options: CommonOptions,
): Promise<Omit<TableOptions, "format"> & { readonly format?: LockFormat }> {
  const { table, endpoint } = options;
  const format = formatOf(options);
  if (!table) throw usageError("No table is named: use --table or set HOLDFAST_TABLE.");
  checkEndpoint(endpoint);
  const client = await clientOf(options);
  return format === undefined
    ? { client, table, keys: keysOf(options) }
    : { client, table, format };
}

/** Locks in the table that the options name. Errors in the background are told on stderr. */
export async function locksOf(
  options: CommonOptions & { readonly history?: boolean },
  output: Output,
): Promise<Holdfast<AnyLocks>> {
  const onError = (error: Error): void => {
    tellFailure(output, error);
  };
  const history = options.history;
  return new Holdfast<AnyLocks>({ ...(await tableOf(options)), history, onError });
}

/** Throws a usage error for what is no URL. */
export function checkEndpoint(endpoint: string | undefined): void {
  if (!endpoint || URL.canParse(endpoint)) return;
  throw usageError(
    `The endpoint must be a URL such as http://127.0.0.1:8000; it is "${endpoint}".`,
  );
}

async function clientOf({ region, endpoint }: CommonOptions): Promise<DynamoDBClient> {
  const make = (inRegion: string | undefined): DynamoDBClient =>
    new DynamoDBClient({
      ...(inRegion ? { region: inRegion } : {}),
      ...(endpoint ? { endpoint } : {}),
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        requestTimeout: REQUEST_MS,
        throwOnRequestTimeout: true,
      },
    });
  const client = make(region);
  try {
    await client.config.region();
    return client;
  } catch {
    client.destroy();
    if (endpoint) return make(REGION_OF_AN_ENDPOINT);
    throw usageError("No region is known: use --region, or set HOLDFAST_REGION or AWS_REGION.");
  }
}

function keysOf({ pk, sk }: CommonOptions): TableKeys {
  return { ...(pk ? { pk } : {}), ...(sk ? { sk: sk === "none" ? null : sk } : {}) };
}
