import {
  DeleteTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  type TableDescription,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import {
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { Remover, Resource } from "./ledger.js";
import type { Aws } from "./scene.js";

/** Removes resources with separate clients, because the run's clients send nothing after the ceiling. */
export function removerOver(aws: Aws): Remover {
  return async (resource) => {
    const { kind, name, region } = resource;
    if (kind === "role") return aws.identity.deleteRole(name);
    if (kind === "bucket") return removeBucket(aws.s3(), name);
    const client = aws.dynamodb(region);
    try {
      if (kind === "global-table") await removeReplicas(client, resource);
      await removeTable(client, name);
    } finally {
      client.destroy();
    }
  };
}

const isNamed = (error: unknown, name: string): boolean => (error as Error).name === name;

async function removeTable(client: DynamoDBClient, TableName: string): Promise<void> {
  try {
    await client.send(new DeleteTableCommand({ TableName }));
  } catch (error) {
    if (!isNamed(error, "ResourceNotFoundException")) throw error;
  }
}

/** Removes all replicas in one request: a strongly consistent global table refuses the removal of one replica. */
async function removeReplicas(client: DynamoDBClient, { name, region }: Resource): Promise<void> {
  const table = await described(client, name);
  const replicas = (table?.Replicas ?? []).filter(({ RegionName }) => RegionName !== region);
  if (replicas.length === 0) return;
  const isBeingRemoved = replicas.some(({ ReplicaStatus }) => ReplicaStatus === "DELETING");
  if (!isBeingRemoved) {
    const ReplicaUpdates = replicas.map(({ RegionName }) => ({ Delete: { RegionName } }));
    await client.send(new UpdateTableCommand({ TableName: name, ReplicaUpdates }));
  }
  // The ledger retries.
  throw new Error(`The replicas of ${name} are not removed yet.`);
}

async function described(
  client: DynamoDBClient,
  TableName: string,
): Promise<TableDescription | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if (isNamed(error, "ResourceNotFoundException")) return undefined;
    throw error;
  }
}

async function removeBucket(s3: S3Client, Bucket: string): Promise<void> {
  try {
    for (;;) {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
      if (Contents.length === 0) break;
      await Promise.all(
        Contents.map(({ Key }) => s3.send(new DeleteObjectCommand({ Bucket, Key }))),
      );
    }
    await s3.send(new DeleteBucketCommand({ Bucket }));
  } catch (error) {
    if (!isNamed(error, "NoSuchBucket")) throw error;
  }
}
