import { describe, expect, it } from "vitest";
import { S3Objects } from "../../src/platform/s3.js";

const CALL = { timeoutMs: 1_000 };
const SOURCE = { etag: '"1"', size: 1, commitId: undefined, metadata: {}, system: {} } as const;

/** A bucket of which everything is refused, as S3 refuses it; a HEAD has no body, and so no message. */
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

describe("an object store that refuses access", () => {
  it.each([
    ["s3:GetObject", () => objects.head("a", CALL)],
    ["s3:GetObject", () => objects.get("a", CALL)],
    ["s3:PutObject", () => objects.put({ key: "a", body, commitId: "1" }, CALL)],
    [
      "s3:GetObject or s3:PutObject",
      () => objects.copy({ from: "a", source: SOURCE, key: "b", commitId: "1" } as never, CALL),
    ],
    ["s3:DeleteObject", () => objects.remove({ key: "a" }, CALL)],
  ])("is told with the permission that was missing: %s", async (action, ask) => {
    expect(await ask()).toMatchObject({
      kind: "misconfigured",
      error: {
        code: "access-denied",
        message: expect.stringContaining(`refused ${action} in bucket "reports"`),
      },
    });
  });
});
