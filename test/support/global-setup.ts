import type { TestProject } from "vitest/node";
import {
  type DynamoDBLocal,
  HOW_TO_GET_JAVA,
  hasJava,
  startDynamoDBLocal,
} from "../../scripts/dynamodb-local/server.mjs";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where DynamoDB Local answers, or the engine under test; undefined on a machine without Java. */
    dynamodbLocal: string | undefined;
  }
}

/**
 * One DynamoDB Local for all test files of a run, because a start takes more than a second. HOLDFAST_TEST_ENDPOINT names
 * another engine, which is running: `npm run engines` sets it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const another = process.env["HOLDFAST_TEST_ENDPOINT"];
  if (another !== undefined) {
    project.provide("dynamodbLocal", another);
    return async () => undefined;
  }
  const server = await startOrExplain();
  project.provide("dynamodbLocal", server?.endpoint);
  return async () => server?.stop();
}

async function startOrExplain(): Promise<DynamoDBLocal | undefined> {
  if (hasJava()) return startDynamoDBLocal();
  const leftOut = `Every test against DynamoDB Local is skipped. ${HOW_TO_GET_JAVA}`;
  // In CI a skipped test would stay unnoticed.
  if (process.env["CI"] === "true") throw new Error(leftOut);
  console.warn(`\n${"!".repeat(80)}\n${leftOut}\n${"!".repeat(80)}\n`);
  return undefined;
}
