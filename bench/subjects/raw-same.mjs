// The same two requests that Holdfast sends, byte for byte but for ids and numbers, through the bare SDK: what
// is above it is what Holdfast itself takes.
import { randomUUID } from "node:crypto";
import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { Holdfast } from "../../dist/index.js";
import { sdkOptions } from "../lib/sdk.mjs";
import { TABLES } from "../lib/tables.mjs";

/** What Holdfast sends for one acquire and one release, overheard. */
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
  const lease = await locks.mutex("overheard").acquire();
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
  return new UpdateItemCommand({ ...input, Key, ExpressionAttributeValues: values });
}

export const rawSame = {
  label: "raw-same",
  what: "AWS SDK v3, the two UpdateItems of Holdfast",
  roles: ["free"],
  async open({ endpoint }) {
    const client = new DynamoDBClient(sdkOptions(endpoint));
    const { claim, release, id, fence } = await overhear(client);
    const acquire = async (name) => {
      const holder = randomUUID();
      const command = withValues(claim, name, ({ S }) => (S === id ? { S: holder } : undefined));
      const { Attributes } = await client.send(command);
      return { name, holder, fence: Attributes.fence.N };
    };
    return {
      acquire,
      release: (lock) =>
        client.send(
          withValues(release, lock.name, ({ S, N }) => {
            if (S === id) return { S: lock.holder };
            return N === fence ? { N: lock.fence } : undefined;
          }),
        ),
      close: () => client.destroy(),
    };
  },
};
