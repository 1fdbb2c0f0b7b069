import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DynamoDBTable } from "../../packages/holdfast/src/platform/dynamodb/table.js";
import type { TablePort } from "../../packages/holdfast/src/platform/table.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { memoryClient } from "../../packages/testing/src/dynamodb/client.js";
import { MemoryDynamoDB } from "../../packages/testing/src/dynamodb/memory-dynamodb.js";
import { MemoryTable } from "../../packages/testing/src/table/memory-table.js";
import { describeAlsoOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { SDK_WAY, WAYS } from "../support/ways.js";
import { answersOf, operations, validOperations } from "./port-operations.js";

/**
 * Compares the simulation's table with the DynamoDB adapter. The same random requests go through both ports,
 * and every answer is compared. Differences shrink. To repeat a run: PORT_SEED=<seed> npx vitest run
 * test/conformance/port-agreement.test.ts; for a longer run: PORT_SEQUENCES=5000
 */
const seed = Number(process.env["PORT_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const isAnotherEngine = process.env["HOLDFAST_TEST_ENDPOINT"] !== undefined;
const sequences = Number(process.env["PORT_SEQUENCES"] ?? 150);

async function agree(
  open: () => { readonly memory: TablePort; readonly theirs: TablePort },
  requests = operations,
  prefix = "lock#",
) {
  const { memory, theirs } = open();
  let run = 0;
  let refused = 0;
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(requests, async (asked) => {
      run += 1;
      const own = `${prefix}${run}/`;
      const [ours, other] = [
        await answersOf(memory, own, asked),
        await answersOf(theirs, own, asked),
      ];
      expect(ours).toEqual(other);
      const text = JSON.stringify(ours);
      refused += text.split('"refused"').length - 1;
      applied += text.split('"applied"').length - 1;
    }),
    { seed, numRuns: sequences },
  );
  // With only refused or only applied requests the comparison would miss the other kind.
  expect(Math.min(refused, applied)).toBeGreaterThan(sequences / 2);
}

function declare(client: () => DynamoDBClient, way = SDK_WAY): void {
  const table = freshTable();
  let opened: DynamoDBClient;
  beforeAll(async () => {
    opened = client();
    await createTable({ client: opened, table });
  });
  afterAll(() => opened.destroy());

  const open = () => ({
    memory: new MemoryTable({ keyAttributes: ["pk", "sk"] }),
    theirs: new DynamoDBTable(way.over(opened), table),
  });

  it(`answers like MemoryTable, for ${sequences} sequences from seed ${seed}`, async () => {
    await agree(open);
  }, 600_000);

  // The test above sends these requests, too. If another engine fails there, this test shows in which answer.
  if (!isAnotherEngine) return;
  it("answers like MemoryTable to valid requests", async () => {
    await agree(open, validOperations, "lock#valid-");
  }, 600_000);
}

describe("the adapter on the engine in memory", () => {
  declare(() => memoryClient(new MemoryDynamoDB({ nowMs: () => Date.now() })));
});

describeAlsoOnDynamoDBLocal("the adapter on DynamoDB Local", (endpoint) => {
  describe.each(WAYS)("$way", (way) => declare(() => sdkClient(endpoint()), way));
});
