import { DeleteItemCommand, type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { NATIVE_KEYS, NATIVE_TTL_ATTRIBUTE } from "../../src/formats/native.js";

/**
 * Deletes the expired records of a table without TTL. A record changed between the read and the deletion stays. Returns
 * the number of deleted records.
 */
export async function sweep(client: DynamoDBClient, table: string, nowMs: number): Promise<number> {
  const { pk, sk } = NATIVE_KEYS;
  const nowS = Math.floor(nowMs / 1000);
  let deleted = 0;
  let from: ScanCommand["input"]["ExclusiveStartKey"];
  do {
    const page = await client.send(
      new ScanCommand({
        TableName: table,
        ExclusiveStartKey: from,
        FilterExpression: "#t < :now",
        ExpressionAttributeNames: { "#t": NATIVE_TTL_ATTRIBUTE },
        ExpressionAttributeValues: { ":now": { N: String(nowS) } },
      }),
    );
    for (const item of page.Items ?? []) {
      const seen = item[NATIVE_TTL_ATTRIBUTE];
      const Key = { [pk]: item[pk], [sk ?? ""]: item[sk ?? ""] };
      if (seen === undefined) continue;
      if (await deletedUnchanged(client, table, Key as never, seen)) deleted += 1;
    }
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return deleted;
}

async function deletedUnchanged(
  client: DynamoDBClient,
  TableName: string,
  Key: NonNullable<DeleteItemCommand["input"]["Key"]>,
  seen: { readonly N?: string | undefined },
): Promise<boolean> {
  const command = new DeleteItemCommand({
    TableName,
    Key,
    ConditionExpression: "#t = :seen",
    ExpressionAttributeNames: { "#t": NATIVE_TTL_ATTRIBUTE },
    ExpressionAttributeValues: { ":seen": { N: seen.N ?? "" } },
  });
  try {
    await client.send(command);
    return true;
  } catch (error) {
    if ((error as Error).name === "ConditionalCheckFailedException") return false;
    throw error;
  }
}
