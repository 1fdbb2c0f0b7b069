import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** A command of a client, with the cost reported by the server. */
export interface Metered {
  readonly operation: string;
  readonly applied: boolean;
  /** Undefined for an error: DynamoDB charges a refused write, and does not say how much. */
  readonly units: number | undefined;
}

interface Sent {
  readonly input: { ReturnConsumedCapacity?: string };
}

interface Answered {
  readonly output: { readonly ConsumedCapacity?: { readonly CapacityUnits?: number } };
}

/**
 * Lists the commands of a client with the capacity reported by the server. Uses a middleware, as an application
 * might. Add the meter before creating a `Holdfast` with the client.
 */
export function meter(client: DynamoDBClient): Metered[] {
  const seen: Metered[] = [];
  const middleware =
    (next: (sent: Sent) => Promise<Answered>, context: { readonly commandName?: string }) =>
    async (sent: Sent): Promise<Answered> => {
      const operation = (context.commandName ?? "").replace(/Command$/, "");
      if (operation === "UpdateItem" || operation === "GetItem") {
        sent.input.ReturnConsumedCapacity ??= "TOTAL";
      }
      try {
        const answered = await next(sent);
        const units = answered.output.ConsumedCapacity?.CapacityUnits;
        seen.push({ operation, applied: true, units });
        return answered;
      } catch (error) {
        seen.push({ operation, applied: false, units: undefined });
        throw error;
      }
    };
  client.middlewareStack.add(middleware as never, { step: "initialize", name: "meter" });
  return seen;
}
