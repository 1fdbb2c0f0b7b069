declare module "s3rver" {
  import type { Readable } from "node:stream";

  /** An object during an upload or download. */
  export interface StoredObject {
    readonly bucket: string;
    readonly key: string;
    content: Readable;
  }

  /** The part of the store for the tests. */
  export interface FilesystemStore {
    getResourcePath(bucket: string, key: string, resource: "object"): string;
    getObject(bucket: string, key: string, options: unknown): Promise<StoredObject | null>;
    putObject(object: StoredObject): Promise<{ readonly size: number }>;
    copyObject(...args: readonly unknown[]): Promise<unknown>;
    deleteObject(bucket: string, key: string): Promise<void>;
  }

  /** As much of s3rver as the tests use; the package has no types. */
  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly directory: string;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly store: FilesystemStore;
    run(): Promise<{ readonly address: string; readonly port: number }>;
    close(): Promise<void>;
  }
}
