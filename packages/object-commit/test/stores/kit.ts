import { randomBytes } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { createTable } from "../../../holdfast/src/table/index.js";
import { FaultyObjects } from "../../../testing/src/objects/faulty-objects.js";
import {
  isHoldfastError,
  type ObjectCommitter,
  objectCommitter,
  type ReadObject,
} from "../../src/index.js";
import type { CommitTableOptions, ObjectCommitterOptions } from "../../src/options.js";
import { S3Objects } from "../../src/s3/s3.js";

// s3rver accepts only these credentials; real servers accept any.
const credentials = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const place = { region: "us-east-1", credentials };

/** A bucket on a real server, and a table on another real server. */
export class Stores {
  readonly s3: S3Client;
  readonly dynamodb: DynamoDBClient;
  readonly bucket: string;
  readonly table = `commits-${randomBytes(4).toString("hex")}`;

  private constructor(storeUrl: string, tableUrl: string, bucket: string) {
    this.s3 = new S3Client({ ...place, endpoint: storeUrl, forcePathStyle: true });
    this.dynamodb = new DynamoDBClient({ ...place, endpoint: tableUrl });
    this.bucket = bucket;
  }

  /** Creates the table, and the bucket if missing. */
  static async open(storeUrl: string, tableUrl: string, bucket?: string): Promise<Stores> {
    const name = bucket ?? `bucket-${randomBytes(4).toString("hex")}`;
    const stores = new Stores(storeUrl, tableUrl, name);
    if (bucket === undefined) await stores.s3.send(new CreateBucketCommand({ Bucket: name }));
    const { dynamodb: client, table } = stores;
    await createTable({ client, table, format: "object-commit" });
    return stores;
  }

  committer(
    options: Partial<Omit<ObjectCommitterOptions, "dynamodb">> & {
      readonly dynamodb?: Partial<CommitTableOptions>;
    } = {},
  ): ObjectCommitter {
    const { dynamodb, ...rest } = options;
    return objectCommitter({
      s3: this.s3,
      bucket: this.bucket,
      wait: "50s",
      ...rest,
      dynamodb: {
        client: this.dynamodb,
        table: this.table,
        timeout: "2s",
        poll: "20ms",
        ...dynamodb,
      },
    });
  }

  /** The bucket behind a faulty network in this process. */
  faulty(): FaultyObjects {
    return new FaultyObjects(new S3Objects(this.s3, this.bucket));
  }

  /** The content of an object, as text. */
  async text(key: string): Promise<string | undefined> {
    const read = await this.committer({ strategy: "conditional" }).read(key);
    return read && Buffer.from(read.body).toString();
  }

  close(): void {
    this.s3.destroy();
    this.dynamodb.destroy();
  }
}

/**
 * Increments a counter the given number of times; returns the number of unknown outcomes.
 *
 * The content lists each writer's completed turns: reading back resolves an unknown outcome.
 */
export async function increment(
  committer: ObjectCommitter,
  key: string,
  writer: string,
  times: number,
): Promise<number> {
  let unknown = 0;
  for (let turn = 1; turn <= times; ) {
    const next = (now: ReadObject | undefined): string | undefined => {
      const turns = turnsOf(now?.body);
      return turns[writer] === turn ? undefined : JSON.stringify({ ...turns, [writer]: turn });
    };
    try {
      await committer.update(key, next, { attempts: Number.POSITIVE_INFINITY });
      turn += 1;
    } catch (error) {
      if (!isHoldfastError(error, "outcome-unknown")) throw error;
      unknown += 1;
    }
  }
  return unknown;
}

/** The number of turns of each writer in a counter. */
export function turnsOf(body: Uint8Array | undefined): Readonly<Record<string, number>> {
  return body === undefined ? {} : JSON.parse(Buffer.from(body).toString());
}
