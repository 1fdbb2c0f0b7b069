import { DeleteItemCommand, type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

// No session exists while all workers are down, or hold only for a moment.
const LIMIT_MS = 10_000;
const EVERY_MS = 50;

const keyOf = (pk: string) => ({ pk: { S: pk }, sk: { S: "lease" } });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits for a live session with one of these locks, and deletes its record, as an operator's hand would. Resolves to
 * the session's id, or to undefined if none was found in time.
 */
export async function deleteSession(
  client: DynamoDBClient,
  table: string,
  names: readonly string[],
): Promise<string | undefined> {
  let deleted: string | undefined;
  for (let waitedMs = 0; deleted === undefined && waitedMs < LIMIT_MS; waitedMs += EVERY_MS) {
    // The server may be down, and the session may just have ended.
    deleted = await deleteOne(client, table, names).catch(() => undefined);
    await pause(EVERY_MS);
  }
  client.destroy();
  return deleted;
}

async function deleteOne(
  client: DynamoDBClient,
  TableName: string,
  names: readonly string[],
): Promise<string | undefined> {
  for (const name of names) {
    const Key = keyOf(`lock#${name}`);
    const { Item } = await client.send(new GetItemCommand({ TableName, Key }));
    const session = Item?.["session"]?.S;
    if (session === undefined) continue;
    const ConditionExpression = "attribute_exists(holder)";
    const ofSession = { TableName, Key: keyOf(`session#${session}`), ConditionExpression };
    await client.send(new DeleteItemCommand(ofSession));
    return session;
  }
  return undefined;
}
