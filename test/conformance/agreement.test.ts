import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { MemoryDynamoDB } from "../../src/testing/dynamodb/memory-dynamodb.js";
import { compare } from "./agreement/compare.js";
import { keysOf, PREFIX, TABLES } from "./agreement/items.js";
import { type Request, sequence } from "./agreement/requests.js";
import { RawClient } from "./agreement/wire.js";

/**
 * The table in memory against Amazon's own: random requests, sound and unsound, go to both, and every answer
 * is compared, whole. A difference is shrunk to the shortest sequence that shows it. To run one again:
 * AGREEMENT_SEED=<seed> npx vitest run test/conformance/agreement.test.ts
 */
const endpoint = inject("dynamodbLocal");
const seed = Number(process.env["AGREEMENT_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const sequences = Number(process.env["AGREEMENT_SEQUENCES"] ?? 400);

/** Makes each sequence's keys its own; nine digits, as many as what they replace. */
let nextPrefix = 100_000_000 + (Date.now() % 800_000_000);

function withOwnKeys<T>(generated: T): T {
  const prefix = String(nextPrefix);
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  const json = JSON.stringify(generated)
    .replaceAll(PREFIX, prefix)
    .replaceAll(encoded(PREFIX), encoded(prefix));
  return JSON.parse(json);
}

function createTables(): readonly Request[] {
  return TABLES.map(({ TableName, pk, sk }) => ({
    operation: "CreateTable",
    body: {
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        ...(sk === undefined ? [] : [{ AttributeName: "sk", KeyType: "RANGE" }]),
      ],
      AttributeDefinitions: [
        { AttributeName: "pk", AttributeType: pk },
        ...(sk === undefined ? [] : [{ AttributeName: "sk", AttributeType: sk }]),
      ],
    },
  }));
}

/** Reads all that a sequence can have written. */
const readings: readonly Request[] = TABLES.flatMap((table) =>
  keysOf(table).map((Key) => ({
    operation: "GetItem",
    body: { TableName: table.TableName, Key, ConsistentRead: true },
  })),
);

describe.skipIf(endpoint === undefined)("The table in memory and DynamoDB Local", () => {
  const server = new RawClient(endpoint ?? "");
  const shown = new Map<string, number>();
  let [compared, accepted] = [0, 0];

  beforeAll(async () => {
    for (const { operation, body } of createTables()) await server.send(operation, body);
  });

  afterAll(() => server.close());

  /** Sends the requests to both, one after the other; throws at the first answer that differs. */
  async function sendToBoth(requests: readonly Request[]): Promise<void> {
    const memory = new MemoryDynamoDB({ nowMs: () => 0 });
    for (const { operation, body } of createTables()) memory.handle(operation, body);
    for (const request of [...requests, ...readings.map(withOwnKeys)]) {
      const theirs = await server.send(request.operation, request.body);
      const ours = memory.handle(request.operation, request.body);
      const known = compare(request, theirs, ours);
      compared += 1;
      if (theirs.status === 200) accepted += 1;
      if (known === undefined) continue;
      shown.set(known.name, (shown.get(known.name) ?? 0) + 1);
      if (known.parts) return;
    }
  }

  it("answer alike, whatever they are asked", { timeout: 300_000 }, async () => {
    const property = fc.asyncProperty(sequence, async (generated) => {
      nextPrefix += 1;
      await sendToBoth(withOwnKeys(generated));
    });
    console.log(`agreement: AGREEMENT_SEED=${seed}`);
    await fc.assert(property, { seed, numRuns: sequences });
    console.log(`agreement: ${compared} requests compared, ${accepted} of them accepted`);
    console.log("agreement: known differences seen", Object.fromEntries(shown));
    expect(compared).toBeGreaterThanOrEqual(5_000);
  });
});
