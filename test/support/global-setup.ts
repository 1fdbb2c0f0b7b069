import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import {
  type DynamoDBLocal,
  HOW_TO_GET_JAVA,
  hasJava,
  startDynamoDBLocal,
} from "../../scripts/dynamodb-local/server.mjs";

declare module "vitest" {
  export interface ProvidedContext {
    /** A request to this URL starts DynamoDB Local, unless it runs, and is answered with its endpoint. */
    dynamodbLocalStarter: string;
  }
}

/**
 * One DynamoDB Local for all test files of a run that ask for it: a start takes Java seconds, and most files need no
 * server. `test/support/dynamodb-local.ts` asks.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<DynamoDBLocal | undefined> | undefined;
  const starter = createServer((_, response) => {
    started ??= startOrExplain();
    started.then(
      (server) => response.end(JSON.stringify({ endpoint: server?.endpoint })),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => starter.listen(0, "127.0.0.1", resolve));
  const { port } = starter.address() as AddressInfo;
  project.provide("dynamodbLocalStarter", `http://127.0.0.1:${port}`);
  return async () => {
    starter.close();
    starter.closeAllConnections();
    await (await started?.catch(() => undefined))?.stop();
  };
}

async function startOrExplain(): Promise<DynamoDBLocal | undefined> {
  if (hasJava()) return startDynamoDBLocal();
  const leftOut = `Every test against DynamoDB Local is skipped. ${HOW_TO_GET_JAVA}`;
  // In CI a skipped test would stay unnoticed.
  if (process.env["CI"] === "true") throw new Error(leftOut);
  console.warn(`\n${"!".repeat(80)}\n${leftOut}\n${"!".repeat(80)}\n`);
  return undefined;
}
