import { crc32 } from "node:zlib";
import { errorBody, malformed } from "./errors.js";
import type { MemoryAnswer, MemoryDynamoDB } from "./memory-dynamodb.js";

/** An answer ready for HTTP. */
interface HttpAnswer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: Buffer;
}

function answer(dynamodb: MemoryDynamoDB, operation: string, body: Buffer): MemoryAnswer {
  let json: unknown;
  try {
    json = JSON.parse(body.toString());
  } catch {
    return { status: 400, body: errorBody(malformed("The body is not JSON")) };
  }
  return dynamodb.handle(operation, json);
}

/** Answers one request as the service would over HTTP; `requestId` and `date` become headers. */
export function answerHttp(
  dynamodb: MemoryDynamoDB,
  request: { readonly operation: string; readonly body: Buffer },
  requestId: string,
  date: string,
): HttpAnswer {
  const { status, body } = answer(dynamodb, request.operation, request.body);
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    status,
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "content-length": String(bytes.length),
      date,
      "x-amzn-requestid": requestId,
      "x-amz-crc32": String(crc32(bytes)),
    },
    body: bytes,
  };
}
