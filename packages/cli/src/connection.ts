import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { LockFormat } from "@holdfast/formats";
import { type Duration, Holdfast, type HoldfastError, inspect, isHoldfastError } from "holdfast";
import { grantHistory } from "holdfast/admin";
import { ring } from "holdfast/ring";
import type { TableKeys, TableOptions } from "holdfast/table";
import type { CommonOptions } from "./options.js";
import { usageError } from "./output/exit-codes.js";
import type { AnyLocks } from "./output/format.js";
import { formatOf } from "./output/other-formats.js";
import { type Output, tellFailure } from "./output/output.js";
import { noteSilence } from "./waiting.js";

// By default the SDK waits without limit, and only warns unless configured to throw.
const CONNECT_MS = 5_000;
const REQUEST_MS = 10_000;
/** With an endpoint the region is only part of a signature; any value will do. */
export const REGION_OF_AN_ENDPOINT = "us-east-1";

/** Resolves the table of the options, and a client. Throws a usage error without a table. */
export async function tableOf(
  options: CommonOptions,
  output?: Output,
): Promise<Omit<TableOptions, "format"> & { readonly format?: LockFormat }> {
  const { table, endpoint } = options;
  const format = formatOf(options);
  if (!table) throw usageError("The table is missing: use --table or set HOLDFAST_TABLE.");
  checkEndpoint(endpoint);
  const client = await clientOf(options);
  if (output !== undefined) noteSilence(client, `table "${table}"`, output);
  return format === undefined
    ? { client, table, keys: keysOf(options) }
    : { client, table, format };
}

const LONGEST_NAME_BYTES = 1_900;

/** The lease of a client, and so the length of the session of its permits. */
interface ClientLease {
  readonly lease?: string | undefined;
  readonly renew?: Duration | undefined;
  /** The name of the permits' record. */
  readonly name?: string | undefined;
  /** A note before the first request. */
  readonly note?: string | undefined;
}

const hushed = new WeakSet<Holdfast<AnyLocks>>();

/** Creates a client for the locks in the table. Errors in the background go to stderr. */
export async function locksOf(
  options: CommonOptions & { readonly history?: boolean; readonly ring?: string },
  output: Output,
  session: ClientLease = {},
): Promise<Holdfast<AnyLocks>> {
  const connection = await tableOf(options);
  const isNoted = noteSilence(
    connection.client as DynamoDBClient,
    `table "${connection.table}"`,
    output,
    session.note,
  );
  const onError = (error: HoldfastError): void => {
    // The note about the first requests already says it. The error of an outage has no lock name.
    if (error.code === "unreachable" && error.lockName === undefined && isNoted()) return;
    if (!hushed.has(locks)) tellFailure(output, error);
  };
  const { lease, renew, name = "" } = session;
  const maxClockError = (options.maxClockError || undefined) as Duration | "never" | undefined;
  const locks = new Holdfast<AnyLocks>({
    ...connection,
    maxClockError,
    history: options.history === true ? grantHistory() : undefined,
    ring: ringOf(options.ring),
    lease,
    renew,
    // A policy that covers the name also covers the session. The lock itself refuses a name that is too long.
    sessionPrefix: Buffer.byteLength(name) <= LONGEST_NAME_BYTES ? name : undefined,
    onError,
  });
  return locks;
}

/** Lets a client tell of no further error in the background. */
export function hush(locks: Holdfast<AnyLocks>): void {
  hushed.add(locks);
}

/**
 * Throws if the table has another key than the options say, by a read of an unused name. For commands that list
 * nothing: a scan has no key that DynamoDB could refuse.
 */
export async function checkKey(
  locks: Holdfast<AnyLocks>,
  { format }: CommonOptions,
): Promise<void> {
  // The other formats have names and keys of their own.
  if (format !== undefined && format !== "native") return;
  try {
    await inspect(locks, "holdfast-unused");
  } catch (error) {
    // The listing is there: without permission, or in an outage, the key stays unchecked.
    if (isHoldfastError(error, "misconfigured")) throw error;
  }
}

const LISTENS = /^(?:\[([^\]]+)\]|([^:]+)):([\d-]+)$/;

/** Returns the rings of --ring. Throws a usage error for another value than a place to listen. */
function ringOf(value: string | undefined) {
  if (value === undefined) return undefined;
  if (value === "local") return ring("local");
  if (value === "none") return ring({ listen: false });
  const [, bracketed, host = bracketed, port] = LISTENS.exec(value) ?? [];
  if (host !== undefined) return ring({ host, port });
  throw usageError(`--ring must be local, none or HOST:PORT; it is "${value}".`);
}

/** Throws a usage error unless the endpoint is a URL. */
export function checkEndpoint(endpoint: string | undefined): void {
  if (!endpoint || (/^https?:/.test(endpoint) && URL.canParse(endpoint))) return;
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
    throw usageError("The region is missing: use --region, or set HOLDFAST_REGION or AWS_REGION.");
  }
}

function keysOf({ pk, sk }: CommonOptions): TableKeys {
  return { ...(pk ? { pk } : {}), ...(sk ? { sk: sk === "none" ? null : sk } : {}) };
}
