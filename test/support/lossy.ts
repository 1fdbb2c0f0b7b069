import { type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBLike } from "../../packages/holdfast/src/index.js";
import type { Item } from "../../packages/holdfast/src/platform/table.js";
import type { FaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import type { ProxyFault } from "../../packages/testing/src/proxy/proxy-plan.js";

/**
 * A client with retries that cannot be disabled: an object with `send` around a client, as instrumentation and
 * dependency injection make them. Adds the SDK's number of attempts for each request to `attempts`.
 */
export function wrapped(client: DynamoDBClient, attempts: number[] = []): DynamoDBLike {
  const note = (answered: { readonly $metadata?: { readonly attempts?: number } }): void => {
    attempts.push(answered.$metadata?.attempts ?? 1);
  };
  return {
    config: client.config,
    async send(command: never, options?: { readonly abortSignal?: AbortSignal }) {
      try {
        const output = await (client as DynamoDBLike).send(command, options);
        note(output as object);
        return output;
      } catch (error) {
        note(error as object);
        throw error;
      }
    },
  };
}

/** Injects a fault into the next `times` writes of one lock's record, ignoring other requests at the proxy. */
export function nextWrites(proxy: FaultProxy, name: string, fault: ProxyFault, times = 1): void {
  proxy.next(
    (request) => request.operation === "UpdateItem" && isOf(request.body, name),
    fault,
    times,
  );
}

/** The number of requests about one lock's record that the proxy saw. */
export function countOf(proxy: FaultProxy, operation: string, name: string): number {
  return proxy.requests.filter(
    (request) => request.operation === operation && isOf(request.body, name),
  ).length;
}

/** The number of requests about one lock's record that were applied without an answer. */
export function answersLost(proxy: FaultProxy, name: string): number {
  return proxy.requests.filter(
    ({ body, fault, targetStatus }) =>
      fault === "response-lost" && targetStatus !== undefined && isOf(body, name),
  ).length;
}

function isOf(body: Readonly<Record<string, unknown>> | undefined, name: string): boolean {
  const key = body?.["Key"] as { pk?: { S?: string } } | undefined;
  return key?.pk?.S === `lock#${name}`;
}

/** A lock's record in the table, read without a proxy. */
export async function recordOf(
  client: DynamoDBClient,
  table: string,
  name: string,
): Promise<Item | undefined> {
  const Key = { pk: { S: `lock#${name}` }, sk: { S: "lease" } };
  const command = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  return (await client.send(command)).Item as Item | undefined;
}
