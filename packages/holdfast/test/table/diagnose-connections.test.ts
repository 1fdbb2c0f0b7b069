import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { startFaultProxy, startMemoryServer } from "../../../testing/src/index.js";
import { createTable, diagnose } from "../../src/table/index.js";

it("the diagnosis says how many requests of the program wait for a connection", async () => {
  const server = await startMemoryServer();
  const proxy = await startFaultProxy({ target: server.endpoint });
  const client = new DynamoDBClient({
    endpoint: proxy.endpoint,
    region: "local",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: { httpAgent: { maxSockets: 1 } },
  });
  const waits = async (): Promise<string[]> => {
    const findings = await diagnose({ client, table: "locks" });
    return findings.filter(({ check }) => check === "connections").map(({ message }) => message);
  };
  try {
    await createTable({ client, table: "locks" });
    expect(await waits()).toEqual([]);
    proxy.script(({ body }) =>
      JSON.stringify(body).includes("app-") ? { fault: "delayed", delayMs: 300 } : undefined,
    );
    const Key = { pk: { S: "app-1" }, sk: { S: "x" } };
    const reads = [1, 2, 3].map(() => client.send(new GetItemCommand({ TableName: "locks", Key })));
    // The client has signed and queued its requests after a few turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await waits()).toEqual([
      "2 requests of this program wait for a connection of the DynamoDB client.",
    ]);
    await Promise.all(reads);
  } finally {
    client.destroy();
    await proxy.close();
    await server.close();
  }
}, 30_000);
