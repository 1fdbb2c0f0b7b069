import { afterAll, beforeAll, describe, inject, it } from "vitest";
import {
  type DynamoDBLocal,
  HOW_TO_GET_JAVA,
  hasJava,
  startDynamoDBLocal,
} from "../../scripts/lib/dynamodb-local.mjs";

/** The endpoint of the server that the whole run shares, where the global set-up started one. */
function sharedEndpoint(): string | undefined {
  const given: unknown = inject("dynamodbLocal" as never);
  return typeof given === "string" ? given : undefined;
}

/**
 * A `describe` for tests that need Amazon's DynamoDB Local. `body` gets the endpoint as a function,
 * since the server may still have to be started. Without Java the tests are left out, and said to be;
 * where CI is set they fail instead, since nobody reads what a green run left out.
 */
export function describeOnDynamoDBLocal(
  title: string,
  body: (endpoint: () => string) => void,
): void {
  const shared = sharedEndpoint();
  if (shared !== undefined) {
    describe(title, () => body(() => shared));
    return;
  }
  if (!hasJava()) {
    leaveOut(title);
    return;
  }
  describe(title, () => {
    let server: DynamoDBLocal | undefined;
    beforeAll(async () => {
      server = await startDynamoDBLocal();
    });
    afterAll(() => server?.stop());
    body(() => {
      if (server === undefined) throw new Error("DynamoDB Local has not been started yet.");
      return server.endpoint;
    });
  });
}

function leaveOut(title: string): void {
  const why = `"${title}" is left out: there is no Java here. ${HOW_TO_GET_JAVA}`;
  if (process.env["CI"] === undefined) {
    console.warn(why);
    describe.skip(`${title} (left out: no Java)`, () => {
      it("needs Java", () => undefined);
    });
    return;
  }
  describe(title, () => {
    it("needs Java, and where CI is set that is a failure", () => {
      throw new Error(why);
    });
  });
}
