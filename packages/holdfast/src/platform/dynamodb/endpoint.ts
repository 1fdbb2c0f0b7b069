import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  GetItemCommand,
} from "@aws-sdk/client-dynamodb";
import { checkProtocol } from "./protocol.js";
import type { DynamoDBLike } from "./sdk.js";

/** The server that receives a request, as the SDK resolves endpoints. */
export interface Endpoint {
  /** `http:` or `https:`. */
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
}

/**
 * Resolves the endpoint to which the SDK would send a request about this table. Considers all of the SDK's
 * sources: options, environment, shared configuration, region, account. Runs the SDK's own stack and stops
 * before sending, without the user's middleware, which would otherwise report a request that never happens.
 * Rejects with the SDK's error if the SDK cannot resolve the endpoint.
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
  const endpoint = (await asked.send(command)) as unknown as Endpoint;
  checkProtocol(endpoint);
  return endpoint;
}
