// The adapter's requirements on the SDK's client of object stores, at any version. scripts/other-sdks.mjs runs
// this file with a different SDK.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ObjectHead } from "../../packages/holdfast/src/platform/objects.js";
import { S3Objects } from "../../packages/object-commit/src/s3/s3.js";

const CALL = { timeoutMs: 10_000 };
const ETAG = '"0123456789abcdef0123456789abcdef"';
const EXPIRES = "Mon, 03 Feb 2031 04:05:06 GMT";
const HEAD: ObjectHead = {
  etag: ETAG,
  size: 4,
  commitId: "c1",
  metadata: { by: "me" },
  contentType: "text/plain",
  system: { CacheControl: "no-cache", Expires: new Date("2031-02-03T04:05:06Z") },
};

interface Seen {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let server: Server;
let client: S3Client;
let objects: S3Objects;
/** Without a checksum, the body of a stream is sent as it is. */
let plainClient: S3Client;
let plainObjects: S3Objects;
let seen: Seen[] = [];
let status = 200;

/** A store that accepts every request, or answers every request with the same error. */
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    const body = await buffer(request).catch(() => undefined);
    // The client ended the request.
    if (body === undefined) return;
    seen.push({ method, path, headers, body: body.toString() });
    if (status !== 200) {
      const isBare = method === "HEAD";
      response.writeHead(status, { "content-type": "application/xml" });
      response.end(
        isBare ? undefined : "<Error><Code>SomeCode</Code><Message>said</Message></Error>",
      );
      return;
    }
    const isCopy = headers["x-amz-copy-source"] !== undefined;
    response.writeHead(method === "DELETE" ? 204 : 200, {
      etag: ETAG,
      "x-amz-meta-by": "me",
      "x-amz-meta-holdfast-commit": "c1",
      "content-type": isCopy ? "application/xml" : "text/plain",
      "cache-control": "no-cache",
      expires: EXPIRES,
      ...(method === "HEAD" ? { "content-length": "4" } : {}),
    });
    if (isCopy) response.end(`<CopyObjectResult><ETag>${ETAG}</ETag></CopyObjectResult>`);
    else response.end(method === "GET" ? "body" : undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const config = {
    region: "local",
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forcePathStyle: true,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
  client = new S3Client(config);
  plainClient = new S3Client({ ...config, requestChecksumCalculation: "WHEN_REQUIRED" });
  objects = new S3Objects(client, "bucket");
  plainObjects = new S3Objects(plainClient, "bucket");
});
afterAll(async () => {
  client.destroy();
  plainClient.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});
beforeEach(() => {
  seen = [];
  status = 200;
});

const put = (conditions: { ifAbsent?: boolean; ifMatch?: string }) =>
  objects.put({ key: "a", body: Buffer.from("body"), commitId: "c1", ...conditions }, CALL);
const copy = (conditions: { ifAbsent?: boolean; ifMatch?: string }) =>
  objects.copy({ from: "a b", source: HEAD, key: "c", commitId: "c2", ...conditions }, CALL);
const remove = (conditions: { ifMatch?: string }) =>
  objects.remove({ key: "a", ...conditions }, CALL);

describe("the adapter to object stores", () => {
  // An SDK without support for a condition would silently drop the condition.
  it.each([
    ["a put", put],
    ["a copy", copy],
    ["a delete", remove],
  ])("sends every condition of %s, signed, and no further condition", async (_what, send) => {
    await send({});
    await send({ ifAbsent: true });
    await send({ ifMatch: ETAG });
    const conditions = seen.map(({ headers }) => [headers["if-none-match"], headers["if-match"]]);
    expect(conditions).toEqual([
      [undefined, undefined],
      ["*", undefined],
      [undefined, ETAG],
    ]);
    expect(seen[1]?.headers.authorization).toContain("if-none-match");
    expect(seen[2]?.headers.authorization).toContain("if-match");
  });

  it("puts bytes and streams, with the commit id beside the user's metadata", async () => {
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("bo");
      yield Buffer.from("dy");
    }
    const common = { key: "a", commitId: "c1", contentType: "text/plain", metadata: { by: "me" } };
    const told: number[] = [];
    const stream = { stream: bytes(), length: 4 };
    const answers = [
      await objects.put({ ...common, body: Buffer.from("body") }, CALL),
      await objects.put({ ...common, body: stream, onBytes: (sent) => told.push(sent) }, CALL),
    ];
    expect(answers).toEqual([
      { kind: "stored", etag: ETAG },
      { kind: "stored", etag: ETAG },
    ]);
    for (const { headers, body } of seen) {
      expect(body).toContain("bo");
      expect(headers).toMatchObject({
        "content-type": "text/plain",
        "x-amz-meta-by": "me",
        "x-amz-meta-holdfast-commit": "c1",
      });
    }
    expect(told).toEqual([2, 4]);
  });

  it.each<[string, readonly string[], Error | undefined, string]>([
    ["is longer than announced", ["body", " and more"], undefined, "more than 4 bytes"],
    ["is shorter than announced", ["bod"], undefined, "only 3 bytes instead of 4"],
    ["fails", ["bo"], new Error("no such disk"), "no such disk"],
    ["fails at its end", ["body", ""], new Error("no such disk"), "no such disk"],
  ])("stores nothing of a stream that %s", async (_what, chunks, failure, said) => {
    async function* bytes(): AsyncGenerator<Uint8Array> {
      for (const chunk of chunks) yield Buffer.from(chunk);
      if (failure !== undefined) throw failure;
    }
    for (const one of [objects, plainObjects]) {
      const stream = { stream: bytes(), length: 4 };
      expect(await one.put({ key: "a", commitId: "c1", body: stream }, CALL)).toMatchObject({
        kind: "misconfigured",
        error: { code: "invalid-argument", message: expect.stringContaining(said) },
      });
    }
    expect(seen).toEqual([]);
  });

  it("copies with all repeated headers", async () => {
    expect(await copy({})).toEqual({ kind: "stored", etag: ETAG });
    expect(seen[0]?.headers).toMatchObject({
      "x-amz-copy-source": "bucket/a%20b",
      "x-amz-copy-source-if-match": ETAG,
      "x-amz-metadata-directive": "REPLACE",
      "x-amz-meta-by": "me",
      "x-amz-meta-holdfast-commit": "c2",
      "content-type": "text/plain",
      "cache-control": "no-cache",
      expires: EXPIRES,
    });
  });

  it("returns the headers for a copy, from GET and HEAD", async () => {
    expect(await objects.head("a", CALL)).toEqual({ kind: "found", head: HEAD });
    const got = await objects.get("a", CALL);
    expect(got).toMatchObject({ kind: "found", head: { etag: ETAG, commitId: "c1" } });
    expect(got.kind === "found" && Buffer.from(got.body).toString()).toBe("body");
  });

  it("sends once for every kind of answer", async () => {
    for (const [code, kind] of [
      [500, "unknown"],
      [503, "unknown"],
      [412, "refused"],
      [409, "conflict"],
      [403, "misconfigured"],
    ] as const) {
      seen = [];
      status = code;
      expect((await put({})).kind).toBe(kind);
      expect(seen).toHaveLength(1);
    }
    status = 404;
    expect(await objects.head("a", CALL)).toEqual({ kind: "absent" });
  });
});
