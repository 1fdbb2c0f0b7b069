import { describe, inject, it } from "vitest";

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
 * The same for a suite that also runs on the server in memory: `npm test` runs it there alone, `npm run test:long` on both
 * servers, and `node scripts/engines/run.mjs` on another engine.
 */
export function describeAlsoOnDynamoDBLocal(
  title: string,
  body: (endpoint: () => string) => void,
): void {
  const { HOLDFAST_TEST_ENDPOINT, HOLDFAST_TESTS } = process.env;
  if (HOLDFAST_TEST_ENDPOINT === undefined && HOLDFAST_TESTS !== "long") return;
  describeOnDynamoDBLocal(title, body);
}
