// Runs Amazon's DynamoDB Local in the foreground: node scripts/dynamodb-local/run.mjs --port 8000
import { parseArgs } from "node:util";
import { onDevelopmentNode } from "../lib/ready.mjs";
import { startDynamoDBLocal } from "./server.mjs";

await onDevelopmentNode();

const DEFAULT_PORT = 8000;

function fail(message) {
  console.error(message);
  process.exit(1);
}

function portFromArguments() {
  const { values } = parseArgs({ options: { port: { type: "string" } } });
  const port = values.port === undefined ? DEFAULT_PORT : Number(values.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`--port must be a number from 1 to 65535, not "${values.port}".`);
  }
  return port;
}

let server;
let asked = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    asked = true;
    // Still starting: exiting kills the server, which could not be stopped later.
    if (server === undefined) process.exit(1);
    void server.stop();
  });
}

try {
  server = await startDynamoDBLocal({ port: portFromArguments() });
  console.log(`DynamoDB Local answers at ${server.endpoint}, in memory, until Ctrl-C.`);
  await server.exited;
  if (!asked) fail("DynamoDB Local ended unexpectedly.");
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
