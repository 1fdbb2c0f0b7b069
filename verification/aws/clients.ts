import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import aws4 from "aws4";
import type { Settings } from "./options.js";
import type { Aws, Credentials, Identity, RawAnswer, RawRequest } from "./scene.js";

/** The credentials for an endpoint. */
const LOCAL: Credentials = { accessKeyId: "local", secretAccessKey: "local" };
const FORWARD_TIMEOUT_MS = 30_000;

/** Makes the SDK's clients for an account or an endpoint. */
export function awsOf(settings: Settings, identity: Identity): Aws {
  const { profile, region, endpoint } = settings;
  const common = (credentials: Credentials | undefined) => ({
    ...(profile === undefined ? {} : { profile }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined
      ? endpoint === undefined
        ? {}
        : { credentials: LOCAL }
      : { credentials }),
  });
  const dynamodb: Aws["dynamodb"] = (where, credentials) =>
    new DynamoDBClient({ region: where, ...common(credentials) });
  const signer = dynamodb(region);
  return {
    dynamodb,
    s3: (credentials) =>
      new S3Client({
        region,
        ...common(credentials),
        ...(endpoint === undefined ? {} : { forcePathStyle: true }),
      }),
    identity,
    forward: async (request) => forward(request, settings, await signer.config.credentials()),
  };
}

/** Sends a request unchanged, with a new signature. */
async function forward(
  { operation, body }: RawRequest,
  { region, endpoint }: Settings,
  credentials: Credentials,
): Promise<RawAnswer> {
  const url = new URL(endpoint ?? `https://${hostOf(region)}`);
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const { headers = {} } = aws4.sign(
    {
      service: "dynamodb",
      region,
      host: url.host,
      method: "POST",
      path: "/",
      body,
      headers: {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": `DynamoDB_20120810.${operation}`,
      },
    },
    { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
  );
  const { Host: _host, "Content-Length": _length, ...rest } = headers as Record<string, string>;
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: rest,
    signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
  });
  return {
    status: response.status,
    headers: keptOf(response.headers),
    body: await response.text(),
  };
}

function hostOf(region: string): string {
  return `dynamodb.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

/** Drops the headers about the body, because the gate may change the body. */
function keptOf(headers: Headers): Record<string, string> {
  const kept = ["content-type", "x-amzn-requestid", "date", "x-amzn-errortype"];
  return Object.fromEntries([...headers].filter(([name]) => kept.includes(name)));
}
