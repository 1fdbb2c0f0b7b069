import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  GetItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";

/** Where a request goes, as the SDK has it. */
export interface Endpoint {
  /** `http:` or `https:`. */
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
}

/**
 * Where the SDK would send a request about this table, by all that it goes by: options, environment, shared
 * configuration, region, account. Its own stack is asked, and stopped before anything is sent; without what
 * users put on it, which would tell of a request that there is not. Rejects with the SDK's error where it
 * does not know.
 */
export async function endpointOf(client: DynamoDBLike, table: string): Promise<Endpoint> {
  const asked = new DynamoDBClient(client.config as DynamoDBClientConfig);
  asked.middlewareStack.add(
    () => async (args) => {
      const { protocol, hostname, port, path } = args.request as Endpoint;
      return { response: undefined, output: { protocol, hostname, port, path } as never };
    },
    { name: "holdfastEndpoint", step: "build", priority: "low", override: true },
  );
  const command = new GetItemCommand({ TableName: table, Key: {} });
  return (await asked.send(command)) as unknown as Endpoint;
}
