// Holdfast's two requests, byte for byte except for ids and numbers, through the bare SDK, through lean() and
// as plain HTTP: the difference to Holdfast is Holdfast's own cost.
import { randomUUID } from "node:crypto";
import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex } from "../../packages/holdfast/dist/index.js";
import { lean } from "../../packages/holdfast/dist/lean/index.js";
import { sdkOptions } from "../lib/sdk.mjs";
import { TABLES } from "../lib/tables.mjs";
import { sender } from "./raw-http.mjs";

/** Records Holdfast's requests for an acquire and a release. */
async function overhear(client) {
  const inputs = [];
  const listening = {
    config: client.config,
    send(command, options) {
      inputs.push(command.input);
      return client.send(command, options);
    },
  };
  const locks = new Holdfast({ client: listening, table: TABLES.holdfast });
  const lease = await mutex(locks, "overheard").acquire();
  const { fence } = lease;
  await lease.release();
  await locks.close();
  const holder = inputs[1].ExpressionAttributeValues;
  const id = Object.values(holder).find(({ S }) => S !== undefined).S;
  return { claim: inputs[0], release: inputs[1], id, fence: String(fence) };
}

function withValues(input, name, swap) {
  const values = {};
  for (const [key, value] of Object.entries(input.ExpressionAttributeValues)) {
    values[key] = swap(value) ?? value;
  }
  const Key = { ...input.Key, pk: { S: `lock#${name}` } };
  return { ...input, Key, ExpressionAttributeValues: values };
}

/** A lock made of these requests, over any function that sends an `UpdateItem` and returns the output. */
async function lockOver(client, update, close) {
  const { claim, release, id, fence } = await overhear(client);
  return {
    acquire: async (name) => {
      const holder = randomUUID();
      const input = withValues(claim, name, ({ S }) => (S === id ? { S: holder } : undefined));
      const { Attributes } = await update(input);
      return { name, holder, fence: Attributes.fence.N };
    },
    release: (lock) =>
      update(
        withValues(release, lock.name, ({ S, N }) => {
          if (S === id) return { S: lock.holder };
          return N === fence ? { N: lock.fence } : undefined;
        }),
      ),
    close,
  };
}

export const rawSame = [
  {
    label: "raw-same",
    what: "AWS SDK v3, the two UpdateItems of Holdfast",
    roles: ["free"],
    open({ endpoint }) {
      const client = new DynamoDBClient(sdkOptions(endpoint));
      const update = (input) => client.send(new UpdateItemCommand(input));
      return lockOver(client, update, () => client.destroy());
    },
  },
  {
    label: "lean-same",
    what: "lean() alone, the two UpdateItems of Holdfast",
    roles: ["free"],
    open({ endpoint }) {
      const client = new DynamoDBClient(sdkOptions(endpoint));
      const transport = lean(client);
      const send = transport.openSender();
      const update = (input) =>
        send("UpdateItem", input, new AbortController().signal, () => undefined);
      return lockOver(client, update, async () => {
        await transport.destroy();
        client.destroy();
      });
    },
  },
  {
    label: "raw-http-same",
    what: "plain HTTP, no signature, the two UpdateItems of Holdfast",
    roles: ["free"],
    open({ endpoint }) {
      const client = new DynamoDBClient(sdkOptions(endpoint));
      const { send, close } = sender(endpoint);
      const update = async (input) => {
        const { status, body } = await send("UpdateItem", input);
        if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
        return body;
      };
      return lockOver(client, update, () => {
        close();
        client.destroy();
      });
    },
  },
];
