import { afterAll, beforeAll } from "vitest";
import {
  type MemoryServer,
  startMemoryServer,
} from "../../packages/testing/src/dynamodb/server.js";

/** A server in memory for the tests of a `describe`, or of a file. */
export function memoryServer(): { readonly endpoint: string } {
  let server: MemoryServer;
  beforeAll(async () => {
    server = await startMemoryServer();
  });
  afterAll(() => server.close());
  return {
    get endpoint() {
      return server.endpoint;
    },
  };
}
