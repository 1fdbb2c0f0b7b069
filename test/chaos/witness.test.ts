import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Referee } from "../../verification/chaos/referee.js";
import { freshPort } from "../../verification/chaos/server.js";
import { Witness } from "../../verification/chaos/witness.js";

const LOCK = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const RECORD = { fence: { N: "7" }, holder: { S: "h" } };

/** The table's next answer. */
let answer: { readonly status: number; readonly body: object } = { status: 200, body: {} };
const table = createServer((incoming, response) => {
  incoming.resume();
  incoming.once("end", () => response.writeHead(answer.status).end(JSON.stringify(answer.body)));
});

describe("a witness between the proxy and the table", () => {
  const referee = new Referee();
  const silences: string[] = [];
  let sender = "p1";
  let witness: Witness;

  beforeAll(async () => {
    await new Promise<void>((resolve) => table.listen(0, "127.0.0.1", resolve));
    const { port } = table.address() as AddressInfo;
    witness = new Witness({
      port: await freshPort(),
      target: () => `http://127.0.0.1:${port}`,
      referee,
      by: () => sender,
      onSilence: (why) => silences.push(why),
    });
    await witness.start();
  });
  afterAll(async () => {
    await witness.close();
    if (table.listening) await new Promise((resolve) => table.close(resolve));
  });

  async function send(operation: string, asked: object, status: number, body: object) {
    answer = { status, body };
    const headers = { "x-amz-target": `DynamoDB_20120810.${operation}` };
    const sent = { method: "POST", headers, body: JSON.stringify(asked) };
    await (await fetch(witness.endpoint, sent)).text();
    return referee.spans.at(-1);
  }

  it("sees the record in applied and in refused writes", async () => {
    const event = { kind: "record", by: "p1", name: "a", fence: 7n, holder: "h" };
    const applied = await send("UpdateItem", { Key: LOCK }, 200, { Attributes: RECORD });
    expect(applied?.event).toEqual(event);
    const refused = await send("UpdateItem", { Key: LOCK }, 400, { Item: RECORD });
    expect(refused?.event).toEqual(event);
    expect(refused?.from).toBeGreaterThan(applied?.to ?? Number.POSITIVE_INFINITY);
  });

  it("dates a repeated transaction from its first arrival", async () => {
    const values = { ":entry": { L: [{ S: "7 p1" }] } };
    const TransactItems = [
      { ConditionCheck: { Key: LOCK } },
      { Update: { ExpressionAttributeValues: values } },
    ];
    const asked = (ClientRequestToken: string) => ({ ClientRequestToken, TransactItems });
    const first = await send("TransactWriteItems", asked("one"), 200, {});
    const again = await send("TransactWriteItems", asked("one"), 200, {});
    const CancellationReasons = [{ Code: "ConditionalCheckFailed" }, { Code: "None" }];
    const other = await send("TransactWriteItems", asked("two"), 400, { CancellationReasons });
    expect(first?.event).toMatchObject({ kind: "guarded", fence: 7n, isApplied: true });
    expect(again?.from).toBe(first?.from);
    expect(again?.to).toBeGreaterThan(first?.to ?? Number.POSITIVE_INFINITY);
    expect(other?.event).toMatchObject({ isApplied: false });
    expect(other?.from).toBeGreaterThan(again?.to ?? Number.POSITIVE_INFINITY);
  });

  it("sees a place in the queue of a semaphore, as its waiter's, until it is deleted", async () => {
    const Key = { pk: { S: "queue#a" }, sk: { S: "semaphore//0007" } };
    await send("UpdateItem", { Key }, 400, { Item: {} });
    expect(referee.sightings).toEqual([]);
    await send("UpdateItem", { Key }, 200, { Attributes: { holder: { S: "h" } } });
    sender = "p2";
    await send("DeleteItem", { Key }, 200, {});
    const place = { kind: "place", by: "p1", ticket: "0007" };
    expect(referee.sightings).toMatchObject([
      { ...place, isThere: true },
      { ...place, isThere: false },
    ]);
    const fair = { Key: { ...Key, sk: { S: "ticket//0007" } } };
    await send("DeleteItem", fair, 200, {});
    expect(referee.sightings).toHaveLength(2);
  });

  it("breaks the connection and records no event when the table does not answer", async () => {
    const before = referee.spans.length;
    await new Promise((resolve) => {
      table.close(resolve);
      table.closeAllConnections();
    });
    await expect(send("UpdateItem", { Key: LOCK }, 200, {})).rejects.toThrow("fetch failed");
    expect(silences).toEqual(["refused"]);
    expect(referee.spans.length).toBe(before);
  });
});
