import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DynamoDBLike } from "../../packages/holdfast/src/index.js";
import { type LeanClient, lean } from "../../packages/holdfast/src/lean/lean.js";
import type { Sender } from "../../packages/holdfast/src/platform/dynamodb/sender.js";
import type { Metered } from "./meter.js";

/** A transport for requests to a table; every test runs with each transport. */
export interface Way {
  readonly way: string;
  readonly over: (client: DynamoDBClient) => DynamoDBLike | LeanClient;
}

export const SDK_WAY: Way = { way: "through the SDK", over: (client) => client };
export const LEAN_WAY: Way = { way: "through lean()", over: leanOver };
export const WAYS: readonly Way[] = [SDK_WAY, LEAN_WAY];

/** The lean way of a client, which ends with the client. */
function leanOver(client: DynamoDBClient): LeanClient {
  const made = lean(client);
  const destroy = client.destroy.bind(client);
  client.destroy = () => {
    void made.destroy();
    destroy();
  };
  return made;
}

/** Lists the requests of a lean client in `seen`, as `meter()` does for SDK clients. */
export function meterLean(client: LeanClient, seen: Metered[]): void {
  const open = client.openSender.bind(client);
  client.openSender = () => {
    const send = open();
    const metered: Sender = async (operation, input, signal, onDate) => {
      try {
        const asked = { ReturnConsumedCapacity: "TOTAL", ...input };
        const output = (await send(operation, asked, signal, onDate)) as {
          readonly ConsumedCapacity?: { readonly CapacityUnits?: number };
        };
        seen.push({ operation, applied: true, units: output.ConsumedCapacity?.CapacityUnits });
        return output;
      } catch (error) {
        seen.push({ operation, applied: false, units: undefined });
        throw error;
      }
    };
    return Object.assign(metered, { tellsDate: true } as const);
  };
}
