import { type DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { mutex } from "../../../src/index.js";
import { withoutRetries } from "../../../src/platform/dynamodb/sdk.js";
import { createTable } from "../../../src/table/index.js";
import type { Finding, Scene } from "../scene.js";
import { Clients, codeOf, ended, pause, unlessEnded } from "../steps-kit.js";
import { makeTable } from "../tables.js";

const PART = "throttling";
const AT_ONCE = 20;
/** More than the unused capacity of five minutes, which a table may use in a burst. */
const MOST_WRITES = 1_000;
const THROTTLED = new Set(["ProvisionedThroughputExceededException", "ThrottlingException"]);

const finding = (check: string, level: Finding["level"], message: string): Finding => ({
  part: PART,
  check,
  level,
  message,
});

/** Provokes throttling on a table with one write unit a second, and takes a lock meanwhile and afterwards. */
export async function throttling(scene: Scene): Promise<Finding[]> {
  const { client, names, settings } = scene;
  const clients = new Clients();
  await makeTable(client, names.throttled, {
    BillingMode: "PROVISIONED",
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
  });
  scene.meter.add({ provisionedHours: 1 });
  // Waits until the table is active, and turns TTL on.
  await createTable({ client, table: names.throttled, wait: "5m" });
  const load = new Load(scene);
  try {
    const isThrottled = await load.untilThrottled();
    if (!isThrottled) {
      const message = `${MOST_WRITES} writes were accepted by a table with one write unit a second.`;
      return [finding("provoked", "unseen", message)];
    }
    const provoked = finding("provoked", "ok", `Throttled after ${load.accepted} writes.`);
    const locks = clients.make({ client, table: names.throttled });
    load.goOn();
    const acquire = mutex(locks, "throttled").acquire({ wait: "1500ms", renew: "manual" });
    const during = await unlessEnded(ended(acquire), scene.signal);
    await load.stop();
    const verdict = "error" in during ? codeOf(during.error) : "granted";
    const isFine = verdict === "throttled" || verdict === "granted";
    if ("value" in during) await ended(during.value.release());
    await pause(settings.endpoint === undefined ? 5_000 : 100, scene.signal);
    const after = await ended(mutex(locks, "after").acquire({ wait: "60s", renew: "manual" }));
    if ("value" in after) await ended(after.value.release());
    return [
      provoked,
      finding(
        "a lock on a throttled table",
        isFine ? "ok" : "problem",
        `Acquiring ended with ${verdict}${isFine ? "" : ", not with throttled"}.`,
      ),
      "value" in after
        ? finding("a lock afterwards", "ok", "Granted.")
        : finding("a lock afterwards", "problem", `Refused: ${after.error.message}`),
    ];
  } finally {
    await load.stop();
    await clients.close();
    await scene.ledger.remove(({ name }) => name === names.throttled);
  }
}

/** A load of writes to other records, without retries. */
class Load {
  readonly #scene: Scene;
  readonly #client: DynamoDBClient;
  #ordinal = 0;
  #isOn = false;
  #running: Promise<unknown> = Promise.resolve();
  accepted = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#client = withoutRetries(scene.client);
  }

  /** Writes until DynamoDB throttles; false if it never does. */
  async untilThrottled(): Promise<boolean> {
    while (this.#ordinal < MOST_WRITES) {
      this.#scene.signal.throwIfAborted();
      const isThrottled = await Promise.all(Array.from({ length: AT_ONCE }, () => this.#write()));
      if (isThrottled.some((one) => one)) return true;
    }
    return false;
  }

  /** Continues in the background, so that the capacity does not recover. */
  goOn(): void {
    this.#isOn = true;
    const loop = async (): Promise<void> => {
      while (this.#isOn && !this.#scene.signal.aborted) {
        await this.#write();
        await pause(10, this.#scene.signal);
      }
    };
    this.#running = Promise.allSettled(Array.from({ length: AT_ONCE }, loop));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #write(): Promise<boolean> {
    this.#ordinal += 1;
    const command = new UpdateItemCommand({
      TableName: this.#scene.names.throttled,
      Key: { pk: { S: `load#${this.#ordinal % 50}` }, sk: { S: "load" } },
      UpdateExpression: "ADD #n :one",
      ExpressionAttributeNames: { "#n": "n" },
      ExpressionAttributeValues: { ":one": { N: "1" } },
    });
    const answer = await ended(this.#client.send(command));
    if ("value" in answer) {
      this.accepted += 1;
      return false;
    }
    if (THROTTLED.has(answer.error.name)) return true;
    throw answer.error;
  }
}
