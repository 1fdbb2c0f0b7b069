import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Clock } from "holdfast/internal";
import { httpDate, operationOf } from "../proxy/proxy-messages.js";
import type { MemoryDynamoDB } from "./memory-dynamodb.js";
import { answerHttp } from "./wire.js";

/**
 * The members of the SDK's request that are read. The SDK's own type lives in a package that is not a
 * dependency.
 */
interface SdkRequest {
  readonly headers: { readonly [name: string]: string };
  readonly body?: unknown;
}

/** The options of a call that are read. */
interface SdkCall {
  readonly abortSignal?: { readonly aborted: boolean };
}

/** The answer in the SDK's form. */
interface SdkResponse {
  readonly statusCode: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
}

function bytesOf(body: unknown): Buffer {
  if (typeof body === "string") return Buffer.from(body);
  // Copies the bytes: the body's `valueOf` warns that the SDK's body is no longer a string.
  return body instanceof Uint8Array
    ? Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    : Buffer.alloc(0);
}

function lowerCased(headers: SdkRequest["headers"]): SdkRequest["headers"] {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(entries);
}

function aborted(): Error {
  // The SDK and callers recognise an abort by this name.
  return Object.assign(new Error("Request aborted"), { name: "AbortError" });
}

/**
 * Makes the SDK's real client over an engine in the same process. The SDK builds, signs and retries requests and parses
 * answers as usual, but opens no socket. `clock` sets the `Date` of the answers; default the engine's clock.
 */
export function memoryClient(
  dynamodb: MemoryDynamoDB,
  clock: Pick<Clock, "wallMs"> = { wallMs: () => dynamodb.nowMs() },
): DynamoDBClient {
  let requests = 0;

  const handle = async (
    request: SdkRequest,
    call: SdkCall = {},
  ): Promise<{ response: SdkResponse }> => {
    if (call.abortSignal?.aborted) throw aborted();
    requests += 1;
    const headers = lowerCased(request.headers);
    const { status, ...rest } = answerHttp(
      dynamodb,
      { operation: operationOf(headers), body: bytesOf(request.body) },
      `memory-${requests}`,
      httpDate(clock.wallMs()),
    );
    // A copy, because the SDK changes the prototype of the body.
    const body = Uint8Array.from(rest.body);
    return { response: { statusCode: status, headers: rest.headers, body } };
  };

  return new DynamoDBClient({
    region: "local",
    endpoint: "http://memory.invalid",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    requestHandler: { handle, metadata: { handlerProtocol: "http/1.1" }, destroy: () => undefined },
  });
}
