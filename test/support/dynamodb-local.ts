import { describe, inject, it } from "vitest";

/** The beginning of the titles that `npm run engines` selects. */
const ON_ANOTHER_ENGINE = "on the engine: ";

/**
 * A `describe` for tests that need Amazon's DynamoDB Local; `body` gets its endpoint as a function. Without
 * Java the tests are skipped with a message; the global set-up warns, and fails in CI. With HOLDFAST_TEST_ENDPOINT the
 * tests run on the engine at this endpoint instead.
 */
export function describeOnDynamoDBLocal(
  title: string,
  body: (endpoint: () => string) => void,
): void {
  const endpoint = inject("dynamodbLocal");
  if (endpoint !== undefined) {
    const isAnother = process.env["HOLDFAST_TEST_ENDPOINT"] !== undefined;
    describe(isAnother ? `${ON_ANOTHER_ENGINE}${title}` : title, () => body(() => endpoint));
    return;
  }
  describe(`${title} (left out: there is no Java)`, () => {
    it.skip("needs Java", () => undefined);
  });
}
