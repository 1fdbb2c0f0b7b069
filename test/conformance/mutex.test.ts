import { startMemoryServer } from "../../src/testing/dynamodb/server.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { mutexSuite } from "./mutex-suite.js";

mutexSuite({
  name: "the memory server",
  skips: [],
  async open() {
    const server = await startMemoryServer();
    const client = sdkClient(server.endpoint);
    const close = async (): Promise<void> => {
      client.destroy();
      await server.close();
    };
    return { client, table: freshTable(), close };
  },
});

describeOnDynamoDBLocal("Amazon's own server", (endpoint) => {
  mutexSuite({
    name: "DynamoDB Local",
    skips: [],
    async open() {
      const client = sdkClient(endpoint());
      return { client, table: freshTable(), close: () => client.destroy() };
    },
  });
});
