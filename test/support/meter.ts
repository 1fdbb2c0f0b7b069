import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** One command that a client sent, and what the server said it cost. */
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
 * Lists what a client sends, with the capacity that the server reports: by a middleware of the user's
 * own, as an application might have one. Put it on before a `Holdfast` is made of the client.
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
