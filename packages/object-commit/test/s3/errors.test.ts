import { Readable } from "node:stream";
import { type PutObjectCommand, S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectErrorToBe } from "../../../../test/support/errors.js";
import type { ErrorCode } from "../../../holdfast/src/index.js";
import { objectCommitter } from "../../src/committer.js";
import { objectAnswerOf } from "../../src/s3/errors.js";
import { S3Objects } from "../../src/s3/s3.js";

const CALL = { timeoutMs: 1_000 };
const SOURCE = { etag: '"1"', size: 1, commitId: undefined, metadata: {}, system: {} } as const;

/** A bucket that refuses every request like S3; a HEAD answer has no body, and so no message. */
const objects = new S3Objects(
  {
    config: {},
    send: async () => {
      const $metadata = { httpStatusCode: 403, attempts: 1 };
      throw Object.assign(new Error("Access Denied"), { name: "AccessDenied", $metadata });
    },
  },
  "reports",
);

const body = new Uint8Array([1]);

describe("a refusal by an object store", () => {
  it.each([
    ["s3:GetObject", () => objects.head("a", CALL)],
    ["s3:GetObject", () => objects.get("a", CALL)],
    ["s3:PutObject", () => objects.put({ key: "a", body, commitId: "1" }, CALL)],
    [
      "s3:GetObject or s3:PutObject",
      () => objects.copy({ from: "a", source: SOURCE, key: "b", commitId: "1" } as never, CALL),
    ],
    ["s3:DeleteObject", () => objects.remove({ key: "a" }, CALL)],
  ])("names the missing permission: %s", async (action, ask) => {
    expect(await ask()).toMatchObject({
      kind: "misconfigured",
      error: {
        code: "access-denied",
        message: expect.stringMatching(new RegExp(`${action}\\b.*"reports"`)),
      },
    });
  });
});

describe("a client that the SDK refuses to send with", () => {
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const region = "eu-west-1";
  const UNSET = undefined as unknown as string;
  const unset = { accessKeyId: UNSET, secretAccessKey: UNSET };
  afterEach(() => vi.unstubAllEnvs());

  it.each<[string, S3ClientConfig]>([
    ["no region", { credentials }],
    ["a region with a blank", { region: "eu-west-1 ", credentials }],
    ["an endpoint without a scheme", { region, endpoint: "127.0.0.1:9000", credentials }],
    ["localhost without a scheme", { region, endpoint: "localhost:9000", credentials }],
    [
      "credentials of unset variables",
      { region, endpoint: "http://127.0.0.1:9", credentials: unset },
    ],
  ])("with %s rejects at once, and the outcome is known", async (_, config) => {
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"]) {
      vi.stubEnv(name, undefined);
    }
    vi.stubEnv("AWS_CONFIG_FILE", "/nonexistent");
    const s3 = new S3Client(config);
    const committer = objectCommitter({ s3, bucket: "b", strategy: "conditional", wait: "2s" });
    const fromMs = performance.now();
    await expect(committer.putIfAbsent("k", "x")).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/"b".*Nothing was sent/),
    });
    expect(performance.now() - fromMs).toBeLessThan(1_000);
    s3.destroy();
  });
});

describe("a put of a stream that is aborted", () => {
  let isClosed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield body;
    } finally {
      isClosed = true;
    }
  }
  const silent = new Readable({
    read() {},
    destroy(error, callback) {
      isClosed = true;
      callback(error);
    },
  });

  it.each<[string, AsyncIterable<Uint8Array>, number]>([
    ["is being read", endless(), 3],
    ["waits for its own bytes", silent, 1],
  ])("closes a stream that %s", async (_what, stream, chunks) => {
    isClosed = false;
    const aborting = new AbortController();
    const send = async (command: object): Promise<never> => {
      const reading = (command as PutObjectCommand).input.Body as Readable;
      const chunk = reading[Symbol.asyncIterator]();
      for (let n = 1; n < chunks; n += 1) await chunk.next();
      chunk.next().catch(() => undefined);
      await new Promise(setImmediate);
      aborting.abort(new Error("enough"));
      throw new Error("The request was aborted.");
    };
    const put = { key: "a", commitId: "1", body: { stream, length: 1_000 } };
    const answer = await new S3Objects({ config: {}, send }, "reports").put(put, {
      ...CALL,
      signal: aborting.signal,
    });
    expect(answer.kind).toBe("unknown");
    await new Promise(setImmediate);
    expect(isClosed).toBe(true);
  });
});

/** An error as the SDK throws errors: with name and status, and of any class. */
const thrown = (name: string, status?: number, attempts = 1, message = "said") =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status, attempts } });

const kindOf = (error: unknown): string => {
  const answer = objectAnswerOf(error, "reports", "s3:GetObject");
  return answer.kind === "misconfigured" ? answer.error.code : answer.kind;
};

describe("a client, such as a wrapper, that answers without an output, or throws nothing", () => {
  const clientOf = (send: () => Promise<unknown>) => new S3Objects({ config: {}, send }, "reports");
  it.each([
    ["no output", clientOf(async () => undefined)],
    ["no error", clientOf(() => Promise.reject(undefined))],
  ])("has an unknown outcome: %s", async (_title, wrapped) => {
    const copy = { from: "a", source: SOURCE, key: "b", commitId: "1" } as never;
    const answers = [
      wrapped.head("a", CALL),
      wrapped.get("a", CALL),
      wrapped.put({ key: "a", body, commitId: "1" }, CALL),
      wrapped.copy(copy, CALL),
      wrapped.remove({ key: "a" }, CALL),
    ];
    for (const answer of answers) expect(await answer).toMatchObject({ kind: "unknown" });
  });
});

describe("the answer to an object store's error", () => {
  it.each<[string, number | undefined, string]>([
    ["PreconditionFailed", 412, "refused"],
    ["UnknownError", 412, "refused"],
    // The answer to a read, which some stores send to a conditional write.
    ["NotModified", 304, "refused"],
    ["ConditionalRequestConflict", 409, "conflict"],
    ["OperationAborted", 409, "conflict"],
    ["NoSuchKey", 404, "absent"],
    ["NotFound", 404, "absent"],
    ["SlowDown", 503, "throttled"],
    ["TooManyRequests", 429, "throttled"],
    ["AnyName", 429, "throttled"],
    ["RequestTimeTooSkewed", 403, "throttled"],
    ["InternalError", 500, "unknown"],
    ["ServiceUnavailable", 503, "unknown"],
    ["RequestTimeout", 400, "unknown"],
    ["AnyName", 408, "unknown"],
    ["AnyName", 502, "unknown"],
    ["TimeoutError", undefined, "unknown"],
    ["ECONNRESET", undefined, "unknown"],
    ["AccessDenied", 403, "access-denied"],
    ["AnyName", 401, "access-denied"],
    ["CredentialsProviderError", undefined, "misconfigured"],
    ["EndpointError", undefined, "misconfigured"],
    ["EndpointError", 500, "unknown"],
    ["NoSuchBucket", 404, "misconfigured"],
    ["NotImplemented", 501, "misconfigured"],
    ["InvalidArgument", 400, "misconfigured"],
    ["PermanentRedirect", 301, "misconfigured"],
    // From a HEAD, whose answer has no body.
    ["301", 301, "misconfigured"],
  ])("%s with status %s: %s", (name, status, kind) => {
    expect(kindOf(thrown(name, status))).toBe(kind);
  });

  it.each([
    ["SlowDown", 503],
    ["AccessDenied", 403],
    ["NoSuchKey", 404],
    ["InternalError", 500],
  ])("is unknown for %s after a second send", (name, status) => {
    expect(kindOf(thrown(name, status, 2))).toBe("unknown");
  });

  it("says that a failed condition after a second send may come from the first", () => {
    for (const [attempts, more] of [
      [2, { isRepeated: true }],
      [1, {}],
    ] as const) {
      const cause = thrown("PreconditionFailed", 412, attempts);
      const answer = objectAnswerOf(cause, "reports", "s3:GetObject");
      expect(answer).toEqual({ kind: "refused", cause, ...more });
    }
  });

  it.each([[undefined], ["text"], [{}]])("is unknown for %o", (error) => {
    expect(kindOf(error)).toBe("unknown");
  });

  it("names the region of the bucket, if the store does", () => {
    for (const [headers, fact] of [
      [{ "x-amz-bucket-region": "eu-west-1" }, /"reports".*"eu-west-1"/],
      [{}, /"reports".*\banother region\b/],
    ] as const) {
      const error = Object.assign(thrown("PermanentRedirect", 301), { $response: { headers } });
      const answer = objectAnswerOf(error, "reports", "s3:PutObject");
      const told = answer.kind === "misconfigured" ? answer.error : undefined;
      expectErrorToBe(told, { code: "misconfigured", mentions: [fact] });
    }
  });

  it.each<[string, number, string, ErrorCode, RegExp]>([
    ["NoSuchBucket", 404, "said", "misconfigured", /"reports"/],
    ["NotImplemented", 501, "said", "misconfigured", /"dynamo"/],
    ["AccessDenied", 403, "not you", "access-denied", /s3:GetObject\b.*\bnot you\b/],
    // From a HEAD, whose answer has no body.
    ["403", 403, "UnknownError", "access-denied", /\bstatus 403\b/],
  ])("names the fix for %s with status %s", (name, status, message, code, fact) => {
    const answer = objectAnswerOf(thrown(name, status, 1, message), "reports", "s3:GetObject");
    expect(answer.kind).toBe("misconfigured");
    const error = answer.kind === "misconfigured" ? answer.error : undefined;
    expectErrorToBe(error, { code, mentions: [fact] });
  });
});
