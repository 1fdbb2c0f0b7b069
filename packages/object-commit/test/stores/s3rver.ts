import { mkdtempSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import S3rver, { type FilesystemStore, type StoredObject } from "s3rver";
import { Exclusive } from "../../../holdfast/src/internal/exclusive.js";

/** The endpoint and credentials of s3rver. */
export interface RunningS3rver {
  readonly url: string;
  readonly bucket: string;
  stop(): Promise<void>;
}

/** s3rver accepts every conditional header and ignores all of them. With one bucket. */
export async function startS3rver(): Promise<RunningS3rver> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-s3rver-"));
  const bucket = "bucket";
  const server = new S3rver({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  makeWhole(server.store);
  const { port } = await server.run();
  return {
    url: `http://127.0.0.1:${port}`,
    bucket,
    async stop() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Serialises requests, so that no request reads a half-written object.
 *
 * s3rver stores body, tag and metadata in three files, and rewrites the files in place one after another: while another
 * client wrote, of 159 raw GETs of a small object 4 had an empty body under the tag of a whole body, 3 a newer body
 * than their tag, and 50 no tag at all. No client can commit to a store with such reads. The missing conditions remain.
 */
function makeWhole(store: FilesystemStore): void {
  const turns = new Exclusive();
  const put = store.putObject.bind(store);
  const get = store.getObject.bind(store);
  const copy = store.copyObject.bind(store);
  const remove = store.deleteObject.bind(store);
  store.putObject = async (object) => {
    // Before the turn: a client that pauses in the middle of a request would block all clients.
    const content = await buffer(object.content);
    return turns.run(() => putWhole(store, object, content, put));
  };
  store.getObject = (...args) =>
    turns.run(async () => {
      const object = await get(...args);
      if (object !== null) object.content = Readable.from([await buffer(object.content)]);
      return object;
    });
  store.copyObject = (...args) => turns.run(() => copy(...args));
  store.deleteObject = (...args) => turns.run(() => remove(...args));
}

// The response does not wait until the body is in the file.
async function putWhole(
  store: FilesystemStore,
  object: StoredObject,
  content: Buffer,
  put: FilesystemStore["putObject"],
): ReturnType<FilesystemStore["putObject"]> {
  const path = store.getResourcePath(object.bucket, object.key, "object");
  await rm(path, { force: true });
  object.content = Readable.from([content]);
  const answer = await put(object);
  const sizeOf = () =>
    stat(path).then(
      ({ size }) => size,
      () => -1,
    );
  while ((await sizeOf()) !== content.length) await sleep(1);
  return answer;
}
