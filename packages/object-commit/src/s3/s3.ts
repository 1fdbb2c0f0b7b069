import { Readable } from "node:stream";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectCommand,
  type PutObjectCommandOutput,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { DynamoDBLike, HoldfastError } from "holdfast";
import {
  abortSignalOf,
  Bounds,
  type Call,
  COMMIT_METADATA,
  type GetAnswer,
  type HeadAnswer,
  type ObjectAbsent,
  type ObjectConditions,
  type ObjectCopy,
  type ObjectHead,
  type ObjectPort,
  type ObjectPut,
  type ObjectRefused,
  type ObjectRemoval,
  type ObjectTrouble,
  type StoreAnswer,
  type StreamBody,
  systemTimers,
  type Timers,
  withoutRetries,
} from "holdfast/internal";
import { bodyBroken, objectAnswerOf } from "./errors.js";

/**
 * The part of an SDK v3 `S3Client` that the library uses, by shape, so that a second copy of the SDK works.
 */
export type S3Like = DynamoDBLike;

type Sent<Output> =
  | { readonly kind: "output"; readonly output: Output }
  | ObjectAbsent
  | ObjectRefused
  | ObjectTrouble;

/** The headers that a copy repeats. A copy replaces all metadata and headers, because it has a new commit id. */
const SYSTEM_HEADERS = Object.freeze([
  "CacheControl",
  "ContentDisposition",
  "ContentEncoding",
  "ContentLanguage",
  "Expires",
  "WebsiteRedirectLocation",
] as const);

/** The port to one bucket over the AWS SDK v3. Never rejects; every outcome is an answer. */
export class S3Objects implements ObjectPort {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #timers: Timers;

  constructor(client: S3Like, bucket: string, timers: Timers = systemTimers) {
    // If the first attempt succeeded but its answer was lost, an SDK retry fails the condition and hides the success.
    this.#client = withoutRetries(client, () => undefined) as unknown as S3Client;
    this.#bucket = bucket;
    this.#timers = timers;
  }

  async head(key: string, call: Call): Promise<HeadAnswer> {
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: key });
    const answer = await this.#send<HeadObjectCommandOutput>("s3:GetObject", command, call);
    if (answer.kind === "refused") return { kind: "unknown", cause: answer };
    return answer.kind === "output" ? { kind: "found", head: headOf(answer.output) } : answer;
  }

  async get(key: string, call: Call): Promise<GetAnswer> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: key });
    const answer = await this.#sendAnd(
      "s3:GetObject",
      command,
      call,
      async (output: GetObjectCommandOutput) => {
        const body = (await output.Body?.transformToByteArray()) ?? new Uint8Array();
        if (output.ContentLength !== undefined && output.ContentLength !== body.length) {
          throw new Error(`The body has ${body.length} bytes instead of ${output.ContentLength}.`);
        }
        return { head: headOf(output), body };
      },
    );
    if (answer.kind === "refused") return { kind: "unknown", cause: answer };
    return answer.kind === "output" ? { kind: "found", ...answer.output } : answer;
  }

  async put(put: ObjectPut, call: Call): Promise<StoreAnswer> {
    const { body } = put;
    if (body instanceof Uint8Array) return this.#put(put, body, call);
    const broken = new AbortController();
    const end = (): void => broken.abort(call.signal?.reason);
    let fault: HoldfastError | undefined;
    const onFault = (cause: unknown): void => {
      fault = bodyBroken(put.key, cause);
      broken.abort();
    };
    const stream = Readable.from(counted(body, put.onBytes, onFault));
    call.signal?.addEventListener("abort", end);
    if (call.signal?.aborted === true) end();
    const answer = await this.#put(put, stream, { ...call, signal: broken.signal });
    call.signal?.removeEventListener("abort", end);
    if (answer.kind !== "stored") {
      stream.destroy();
      // A stream that was never read, or that waits for its own bytes, does not notice the end of its reader.
      if (body.stream instanceof Readable) body.stream.destroy();
    }
    const isCut = answer.kind === "unknown" && fault !== undefined;
    return isCut ? { kind: "misconfigured", error: fault as HoldfastError } : answer;
  }

  async #put(put: ObjectPut, body: Uint8Array | Readable, call: Call): Promise<StoreAnswer> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: put.key,
      Body: body,
      ContentLength: put.body.length,
      ContentType: put.contentType,
      Metadata: { ...put.metadata, [COMMIT_METADATA]: put.commitId },
      ...put.system,
    });
    addConditions(command, put);
    const answer = await this.#send<PutObjectCommandOutput>("s3:PutObject", command, call);
    return answer.kind === "output" ? stored(answer.output.ETag) : answer;
  }

  async copy(copy: ObjectCopy, call: Call): Promise<StoreAnswer> {
    const { from, source } = copy;
    const command = new CopyObjectCommand({
      Bucket: this.#bucket,
      Key: copy.key,
      CopySource: `${this.#bucket}/${from.split("/").map(encodeURIComponent).join("/")}`,
      CopySourceIfMatch: source.etag,
      MetadataDirective: "REPLACE",
      Metadata: { ...source.metadata, [COMMIT_METADATA]: copy.commitId },
      ContentType: source.contentType,
      ...source.system,
    });
    addConditions(command, copy);
    const answer = await this.#send<{ CopyObjectResult?: { ETag?: string } }>(
      "s3:GetObject or s3:PutObject",
      command,
      call,
    );
    return answer.kind === "output" ? stored(answer.output.CopyObjectResult?.ETag) : answer;
  }

  async remove(removal: ObjectRemoval, call: Call): Promise<StoreAnswer> {
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: removal.key });
    addConditions(command, removal);
    const answer = await this.#send<object>("s3:DeleteObject", command, call);
    return answer.kind === "output" ? { kind: "stored", etag: "" } : answer;
  }

  #send<Output>(action: string, command: unknown, call: Call): Promise<Sent<Output>> {
    return this.#sendAnd(action, command, call, async (output: Output) => output);
  }

  #sendAnd<Output, Result>(
    action: string,
    command: unknown,
    call: Call,
    then: (output: Output) => Promise<Result>,
  ): Promise<Sent<Result>> {
    const bounds = new Bounds(this.#timers, call);
    const sendAnd = async (): Promise<Result> => {
      const abortSignal = abortSignalOf(bounds.signal);
      const output: unknown = await this.#client.send(command as HeadObjectCommand, {
        abortSignal,
      });
      // A wrapper of a client may answer with nothing.
      if (Object(output) !== output) throw new Error("The answer has no output.");
      return then(output as Output);
    };
    return bounds.answerTo<Result, ObjectAbsent | ObjectRefused | ObjectTrouble>(
      sendAnd(),
      (error) => objectAnswerOf(error, this.#bucket, action),
    );
  }
}

/** The part of a command that is needed to add headers to its request. */
interface Buildable {
  readonly middlewareStack: {
    add(
      middleware: (next: (args: never) => never) => (args: never) => never,
      options: { readonly name: string; readonly step: "build" },
    ): void;
  };
}

interface Built {
  readonly request: { readonly headers: Record<string, string> };
}

/**
 * Adds the conditions of a write as headers. In the input of a command, an older SDK silently drops a condition that it
 * does not know, and performs the write.
 */
function addConditions(command: object, { ifAbsent, ifMatch }: ObjectConditions): void {
  const conditions = {
    ...(ifAbsent === true ? { "if-none-match": "*" } : {}),
    ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
  };
  (command as Buildable).middlewareStack.add(
    (next) => (args: Built) => {
      Object.assign(args.request.headers, conditions);
      return next(args as never);
    },
    // Before the request is signed.
    { step: "build", name: "holdfastConditions" },
  );
}

// A caller needs the ETag to replace the object. If the answer has no ETag, the committer reads it with a HEAD request.
function stored(etag: string | undefined): StoreAnswer {
  if (etag !== undefined) return { kind: "stored", etag };
  return { kind: "unknown", cause: new Error("The store's answer has no ETag.") };
}

function headOf(output: HeadObjectCommandOutput | GetObjectCommandOutput): ObjectHead {
  const { [COMMIT_METADATA]: commitId, ...metadata } = output.Metadata ?? {};
  const system = SYSTEM_HEADERS.flatMap((name) => {
    const value = output[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    etag: output.ETag ?? "",
    size: output.ContentLength ?? 0,
    commitId,
    metadata,
    contentType: output.ContentType,
    system: Object.fromEntries(system),
  };
}

/**
 * Passes a stream on. Keeps its last bytes back until it has ended with the announced length: else the store gets too few
 * bytes, and so applies nothing.
 */
async function* counted(
  { stream, length }: StreamBody,
  onBytes: ObjectPut["onBytes"],
  onFault: (cause: unknown) => void,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  let last: Uint8Array | undefined;
  // An error during a `yield` is of the request, and not of the stream.
  let isReading = true;
  try {
    for await (const chunk of stream) {
      const size = Buffer.byteLength(chunk);
      if (size === 0) continue;
      if (read + size > length) throw new Error(`It has more than ${length} bytes.`);
      if (last !== undefined) {
        isReading = false;
        yield last;
        isReading = true;
        onBytes?.(read);
      }
      read += size;
      last = chunk;
    }
    if (read < length) throw new Error(`It has only ${read} bytes instead of ${length}.`);
  } catch (error) {
    if (!isReading) throw error;
    onFault(error);
    // The SDK passes an error on to a stream without a listener, which would end this process.
    await new Promise(() => undefined);
  }
  if (last === undefined) return;
  yield last;
  onBytes?.(read);
}
