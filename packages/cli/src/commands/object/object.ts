import { readFileSync } from "node:fs";
import { S3Client } from "@aws-sdk/client-s3";
import {
  type Committed,
  type ObjectCommitter,
  type ObjectInspection,
  objectCommitter,
  type Strategy,
} from "@holdfast/object-commit";
import { shown } from "holdfast/internal";
import { checkEndpoint, REGION_OF_AN_ENDPOINT, tableOf } from "../../connection.js";
import type { Host } from "../../host.js";
import { CliError, EXIT, usageError } from "../../output/exit-codes.js";
import { jsonLine, type Output, printable, seconds } from "../../output/output.js";
import { waitOf } from "../../wait-option.js";
import { noteSilence } from "../../waiting.js";

/** The options of every command on objects, as parsed by commander. */
interface ObjectOptions {
  readonly bucket?: string;
  readonly strategy?: Strategy;
  readonly table?: string;
  readonly s3Endpoint?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly timeout?: string;
  readonly wait?: string;
}

/** Puts a file as an object. Returns the exit status. */
export async function put(
  key: string,
  file: string,
  options: ObjectOptions & {
    readonly ifAbsent?: boolean;
    readonly ifMatch?: string;
    readonly contentType?: string;
  },
  output: Output,
  host: Host,
): Promise<number> {
  const { ifAbsent, ifMatch, contentType } = options;
  if ((ifAbsent === true) === (ifMatch !== undefined)) {
    throw usageError("Give the condition: either --if-absent or --if-match ETAG.");
  }
  const committer = await committerOf(options, output);
  // The whole file, to allow a second send after a send that was certainly not applied.
  const body = bytesOf(file, host);
  const committed =
    ifMatch === undefined
      ? await committer.putIfAbsent(key, body, { contentType })
      : await committer.putIfMatch(key, quoted(ifMatch), body, { contentType });
  return print(committed, output);
}

/** An ETag with its quotation marks, which shells and people leave out. */
function quoted(etag: string): string {
  return /^[\w.-]+$/.test(etag) ? `"${etag}"` : etag;
}

/** Copies an object. Returns the exit status. */
export async function copy(
  from: string,
  to: string,
  options: ObjectOptions,
  output: Output,
): Promise<number> {
  return print(await (await committerOf(options, output)).copyIfAbsent(from, to), output);
}

/** Renames an object. Returns the exit status. */
export async function mv(
  from: string,
  to: string,
  options: ObjectOptions,
  output: Output,
): Promise<number> {
  return print(await (await committerOf(options, output)).renameIfAbsent(from, to), output);
}

/** Shows an object and its commit records. Returns the exit status: 66 without an object. */
export async function inspect(
  key: string,
  options: ObjectOptions,
  output: Output,
): Promise<number> {
  const found = await (await committerOf(options, output)).inspect(key);
  output.out(output.isJson ? jsonLine(found) : described(found));
  return found.object === undefined ? EXIT.noInput : EXIT.ok;
}

async function committerOf(options: ObjectOptions, output: Output): Promise<ObjectCommitter> {
  const { bucket, strategy, table, s3Endpoint, endpoint, region, timeout, wait } = options;
  if (!bucket) throw usageError("The bucket is missing: use --bucket or set HOLDFAST_BUCKET.");
  if (!table && (strategy === "dynamo" || strategy === "both")) {
    throw usageError(
      `The strategy ${strategy} needs a table: use --table or set HOLDFAST_COMMIT_TABLE.`,
    );
  }
  checkEndpoint(s3Endpoint);
  const place = { ...(region ? { region } : {}), ...(endpoint ? { endpoint } : {}) };
  const s3 = await storeOf(s3Endpoint, region);
  noteSilence(s3, `bucket "${bucket}"`, output);
  return objectCommitter({
    s3,
    bucket,
    strategy,
    wait: waitOf(wait),
    dynamodb: table
      ? { client: (await tableOf({ ...place, table }, output)).client, table, timeout }
      : undefined,
  });
}

async function storeOf(endpoint: string | undefined, region: string | undefined) {
  const make = (inRegion: string | undefined): S3Client =>
    new S3Client({
      ...(inRegion ? { region: inRegion } : {}),
      // Few stores besides Amazon's support a host name for each bucket.
      ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
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

function bytesOf(file: string, { stdin }: Pick<Host, "stdin">): Uint8Array {
  try {
    return file === "-" ? stdin() : readFileSync(file);
  } catch (error) {
    const { message } = error as Error;
    throw new CliError("no-input", EXIT.noInput, `Cannot read the file: ${message}`);
  }
}

function print(committed: Committed, output: Output): number {
  const { key, etag, commitId, strategy } = committed;
  output.out(
    output.isJson
      ? jsonLine(committed)
      : printable(
          `Object "${key}" is committed: ETag ${etag}, commit ${commitId}, by ${strategy}.`,
        ),
  );
  return EXIT.ok;
}

function described({ key, object, records }: ObjectInspection): string {
  const lines: (readonly [string, string | undefined])[] = [
    ["key", key],
    ["object", object === undefined ? "none" : `${object.size} bytes`],
    ["etag", object?.etag],
    ["commit", object?.commitId],
    ...records.map(({ etag, generation, timeoutMs, owner }) => {
      const of = etag === undefined ? "create" : `change of ${etag}`;
      const who =
        timeoutMs === 0 ? "ended" : `${shown(owner ?? "a writer")} for ${seconds(timeoutMs)}`;
      return [`record`, `${of}, generation ${generation}: ${who}`] as const;
    }),
  ];
  const present = lines.filter(([, value]) => value !== undefined);
  const width = Math.max(...present.map(([label]) => label.length)) + 2;
  return present
    .map(([label, value]) => `${label.padEnd(width)}${printable(value ?? "")}`)
    .join("\n");
}
