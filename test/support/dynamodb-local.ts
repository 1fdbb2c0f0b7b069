import { describe, inject, it } from "vitest";
import { IS_LONG } from "./long.js";
import { memoryServer } from "./memory-server.js";

/** The beginning of the titles that `node scripts/engines/run.mjs` selects. */
const ON_ANOTHER_ENGINE = "on the engine: ";

/**
 * Where DynamoDB Local answers; undefined on a machine without Java. The import starts the server, once a run: import
 * this file only for tests on it. HOLDFAST_TEST_ENDPOINT names another engine, which is running: `node scripts/engines/run.mjs` sets it.
 */
export const dynamodbLocal = process.env["HOLDFAST_TEST_ENDPOINT"] ?? (await startedEndpoint());

async function startedEndpoint(): Promise<string | undefined> {
  // Undefined without the global set-up, as for the known-bad variants.
  const starter = inject("dynamodbLocalStarter") as string | undefined;
  if (starter === undefined) return undefined;
  const answer = await fetch(starter);
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { readonly endpoint?: string }).endpoint;
}

/**
 * A `describe` for tests that need Amazon's DynamoDB Local; `body` gets its endpoint as a function. Without
 * Java the tests are skipped with a message; the global set-up warns, and fails in CI. With HOLDFAST_TEST_ENDPOINT the
 * tests run on the engine at this endpoint instead.
 */
export function describeOnDynamoDBLocal(
  title: string,
  body: (endpoint: () => string) => void,
): void {
  if (dynamodbLocal !== undefined) {
    const isAnother = process.env["HOLDFAST_TEST_ENDPOINT"] !== undefined;
    describe(isAnother ? `${ON_ANOTHER_ENGINE}${title}` : title, () => body(() => dynamodbLocal));
    return;
  }
  describe(`${title} (left out: there is no Java)`, () => {
    it.skip("needs Java", () => undefined);
  });
}

/**
 * The same on the server in memory in `npm test`, and on DynamoDB Local in `npm run test:long`: for a suite that needs an
 * endpoint, and whose file is among `ON_BOTH_SERVERS` in vitest.config.ts.
 */
export function describeOnOneServer(title: string, body: (endpoint: () => string) => void): void {
  const { HOLDFAST_TEST_ENDPOINT } = process.env;
  if (HOLDFAST_TEST_ENDPOINT !== undefined || IS_LONG) {
    describeOnDynamoDBLocal(title, body);
    return;
  }
  describe(title, () => {
    const server = memoryServer();
    body(() => server.endpoint);
  });
}

/**
 * For a suite that declares itself on the server in memory, too: `npm test` runs it there alone, `npm run test:long` on both
 * servers, and `node scripts/engines/run.mjs` on another engine.
 */
export function describeAlsoOnDynamoDBLocal(
  title: string,
  body: (endpoint: () => string) => void,
): void {
  if (process.env["HOLDFAST_TEST_ENDPOINT"] === undefined && !IS_LONG) return;
  describeOnDynamoDBLocal(title, body);
}

/** A suite on the server in memory, and on DynamoDB Local as {@link describeAlsoOnDynamoDBLocal} says. */
export function describeOnBothServers(
  subject: string,
  suite: (endpoint: () => string) => void,
): void {
  describe(`${subject} on the memory server`, () => {
    const server = memoryServer();
    suite(() => server.endpoint);
  });
  describeAlsoOnDynamoDBLocal(`${subject} on DynamoDB Local`, suite);
}
