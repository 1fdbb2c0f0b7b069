import { startMemoryServer } from "../../packages/testing/src/dynamodb/server.js";
import { describeAlsoOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { WAYS } from "../support/ways.js";
import { mutexSuite } from "./mutex-suite.js";

for (const way of WAYS) {
  mutexSuite({
    name: `the memory server ${way.way}`,
    way,
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
}

describeAlsoOnDynamoDBLocal("Amazon's own server", (endpoint) => {
  for (const way of WAYS) {
    mutexSuite({
      name: `DynamoDB Local ${way.way}`,
      way,
      skips: [],
      async open() {
        const client = sdkClient(endpoint());
        return { client, table: freshTable(), close: () => client.destroy() };
      },
    });
  }
});
