import { describe, inject, it } from "vitest";

/**
 * A `describe` for tests that need Amazon's DynamoDB Local; `body` gets its endpoint as a function. Without
 * Java the tests are skipped with a message; the global set-up warns, and fails in CI.
 */
export function describeOnDynamoDBLocal(
  title: string,
  body: (endpoint: () => string) => void,
): void {
  const endpoint = inject("dynamodbLocal");
  if (endpoint !== undefined) {
    describe(title, () => body(() => endpoint));
    return;
  }
  describe(`${title} (left out: there is no Java)`, () => {
    it.skip("needs Java", () => undefined);
  });
}
