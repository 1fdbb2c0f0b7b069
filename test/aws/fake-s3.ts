import { Readable } from "node:stream";
import { S3Client } from "@aws-sdk/client-s3";
import type { ObjectHead, StoreAnswer } from "../../src/platform/s3/objects.js";
import { MemoryObjects, type MemoryObjectsOptions } from "../../src/testing/index.js";

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Whether a caller may use this action on a bucket or an object. */
export type MayUse = (action: string, arn: string) => boolean;

const COMMIT = "x-amz-meta-holdfast-commit";
const CALL = { timeoutMs: 1_000 };

function response(statusCode: number, text = "", headers: Record<string, string> = {}): Response {
  return { statusCode, headers, body: Readable.from([Buffer.from(text)]) };
}

const refusal = (status: number, code: string): Response =>
  response(status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);

const quoted = (headers: Request["headers"], name: string): string | undefined =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];

/** S3 in memory behind the SDK's real client, with conditions on puts and copies, and with permissions. */
export class FakeS3 {
  readonly #buckets = new Map<string, MemoryObjects>();
  readonly #options: MemoryObjectsOptions;

  constructor(options: MemoryObjectsOptions = {}) {
    this.#options = options;
  }

  get buckets(): readonly string[] {
    return [...this.#buckets.keys()];
  }

  client(may: MayUse = () => true): S3Client {
    const handle = async (request: Request) => ({ response: await this.#answer(request, may) });
    return new S3Client({
      region: "us-east-1",
      endpoint: "http://memory.invalid",
      forcePathStyle: true,
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
      requestChecksumCalculation: "WHEN_REQUIRED",
      requestHandler: { handle, metadata: { handlerProtocol: "http/1.1" } } as never,
    });
  }

  async #answer(request: Request, may: MayUse): Promise<Response> {
    const [, name = "", ...rest] = request.path.split("/");
    const key = rest.map(decodeURIComponent).join("/");
    if (key === "") return this.#answerBucket(request, name);
    const objects = this.#buckets.get(name);
    if (objects === undefined) return refusal(404, "NoSuchBucket");
    const denied = deniedIn(request, name, key, objects, may);
    return denied ? refusal(403, "AccessDenied") : answerObject(request, objects, name, key);
  }

  #answerBucket({ method, query = {} }: Request, name: string): Response {
    if (method === "PUT") {
      if (!("tagging" in query)) this.#buckets.set(name, new MemoryObjects(this.#options));
      return response(200);
    }
    const objects = this.#buckets.get(name);
    if (objects === undefined) return refusal(404, "NoSuchBucket");
    if (method === "GET") {
      const keys = objects.keys().map((key) => `<Contents><Key>${key}</Key></Contents>`);
      return response(200, `<ListBucketResult>${keys.join("")}</ListBucketResult>`);
    }
    if (objects.keys().length > 0) return refusal(409, "BucketNotEmpty");
    this.#buckets.delete(name);
    return response(204);
  }
}

/** As S3 decides: a missing object looks forbidden without `s3:ListBucket`. */
function deniedIn(
  { method, headers }: Request,
  bucket: string,
  key: string,
  objects: MemoryObjects,
  may: MayUse,
): boolean {
  const arn = `arn:aws:s3:::${bucket}`;
  const onObject = (action: string): boolean => may(action, `${arn}/${key}`);
  if (method === "DELETE") return !onObject("s3:DeleteObject");
  if (method === "PUT") {
    const isCopy = quoted(headers, "x-amz-copy-source") !== undefined;
    return !onObject("s3:PutObject") || (isCopy && !onObject("s3:GetObject"));
  }
  const isMissing = objects.object(key) === undefined;
  return !onObject("s3:GetObject") || (isMissing && !may("s3:ListBucket", arn));
}

async function answerObject(
  { method, headers, body }: Request,
  objects: MemoryObjects,
  bucket: string,
  key: string,
): Promise<Response> {
  const conditions = {
    ...(quoted(headers, "if-none-match") === undefined ? {} : { ifAbsent: true }),
    ifMatch: quoted(headers, "if-match"),
  };
  const commitId = quoted(headers, COMMIT) ?? "";
  if (method === "DELETE") return written(await objects.remove({ key, ...conditions }, CALL));
  if (method === "PUT") {
    const source = quoted(headers, "x-amz-copy-source");
    if (source === undefined) {
      const bytes = Buffer.from(body as Uint8Array);
      if (conditions.ifMatch !== undefined && objects.object(key) === undefined) {
        return refusal(404, "NoSuchKey");
      }
      return written(await objects.put({ key, body: bytes, commitId, ...conditions }, CALL));
    }
    const from = decodeURIComponent(source.slice(bucket.length + 1));
    const head = objects.object(from)?.head;
    if (head === undefined) return refusal(404, "NoSuchKey");
    const etag = quoted(headers, "x-amz-copy-source-if-match") ?? head.etag;
    const copy = { from, source: { ...head, etag }, key, commitId, ...conditions };
    return written(await objects.copy(copy, CALL));
  }
  const found = objects.object(key);
  if (found === undefined) return refusal(404, method === "HEAD" ? "NotFound" : "NoSuchKey");
  const text = method === "HEAD" ? "" : Buffer.from(found.body).toString();
  return response(200, text, headersOf(found.head));
}

function headersOf({ etag, size, commitId }: ObjectHead): Record<string, string> {
  const commit = commitId === undefined ? {} : { [COMMIT]: commitId };
  return { etag, "content-length": String(size), ...commit };
}

function written(answer: StoreAnswer): Response {
  if (answer.kind === "refused") return refusal(412, "PreconditionFailed");
  if (answer.kind !== "stored") return refusal(500, "InternalError");
  const result = `<CopyObjectResult><ETag>${answer.etag}</ETag></CopyObjectResult>`;
  return response(200, result, { etag: answer.etag });
}
