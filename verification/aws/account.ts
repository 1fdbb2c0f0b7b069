import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import aws4 from "aws4";
import type { Settings } from "./options.js";

/** A request to DynamoDB in wire form. */
export interface RawRequest {
  readonly operation: string;
  readonly body: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a request to the account. */
export type Forward = (request: RawRequest) => Promise<RawAnswer>;

const TIMEOUT_MS = 30_000;
const LOCAL = { accessKeyId: "local", secretAccessKey: "local" };

/** Returns a function that sends requests unchanged, each with a signature by the profile's credentials. */
export function forwardTo({ profile, region, endpoint }: Settings): Forward {
  const signer = new DynamoDBClient({
    region,
    ...(profile === undefined ? {} : { profile }),
    ...(endpoint === undefined ? {} : { credentials: LOCAL }),
  });
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const url = new URL(endpoint ?? `https://dynamodb.${region}.${domain}`);
  return async ({ operation, body }) => {
    const { accessKeyId, secretAccessKey, sessionToken } = await signer.config.credentials();
    const signed = aws4.sign(
      {
        ...{ service: "dynamodb", region, host: url.host, method: "POST", path: "/", body },
        headers: {
          "content-type": "application/x-amz-json-1.0",
          "x-amz-target": `DynamoDB_20120810.${operation}`,
        },
      },
      { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    );
    const { Host: _host, "Content-Length": _length, ...headers } = { ...signed.headers };
    const response = await fetch(url, {
      ...{ method: "POST", body, headers: headers as Record<string, string> },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // Without the headers about the body, because the gate may change the body.
    const kept = ["content-type", "x-amzn-requestid", "date", "x-amzn-errortype"];
    return {
      status: response.status,
      headers: Object.fromEntries([...response.headers].filter(([name]) => kept.includes(name))),
      body: await response.text(),
    };
  };
}
