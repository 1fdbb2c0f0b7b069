import { type DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { all, type Holdfast, type Lease, mutex } from "../../../src/index.js";
import { withoutRetries } from "../../../src/platform/dynamodb/sdk.js";
import type { Finding, Scene } from "../scene.js";
import { Clients, codeOf, ended, pause } from "../steps-kit.js";

const PART = "conflicts";
const ROUNDS = 40;
const AT_ONCE = 4;
const CONTENDERS = 4;
const TURNS = 3;
const HOLD_MS = 20;
/** The pause after a conflict is a part of the lease. */
const LEASE = "8s";
const POLL = { min: "20ms", max: "200ms" } as const;

const finding = (check: string, level: Finding["level"], message: string): Finding => ({
  part: PART,
  check,
  level,
  message,
});

/** Provokes `TransactionConflict`: transactions race on one record, and Holdfast writes the record meanwhile. */
export async function conflicts(scene: Scene): Promise<Finding[]> {
  const clients = new Clients();
  try {
    const { client, names } = scene;
    const locks = clients.make({ client, table: names.table });
    return [
      ...(await renewalsInConflict(scene, locks)),
      await manyAtOnce(scene, () => clients.make({ client, table: names.table })),
    ];
  } finally {
    await clients.close();
  }
}

/** Commits racing transactions on the record of the lock. Returns the number of conflicts. */
async function race(client: DynamoDBClient, lease: Lease): Promise<number> {
  const sends = Array.from({ length: AT_ONCE }, () =>
    ended(client.send(new TransactWriteItemsCommand({ TransactItems: [lease.condition()] }))),
  );
  const answers = await Promise.all(sends);
  return answers.filter((answer) => "error" in answer && isConflict(answer.error)).length;
}

function isConflict(error: Error): boolean {
  const { CancellationReasons = [] } = error as { CancellationReasons?: { Code?: string }[] };
  return (
    error.name === "TransactionConflictException" ||
    error.name === "TransactionInProgressException" ||
    CancellationReasons.some(({ Code }) => Code === "TransactionConflict")
  );
}

async function renewalsInConflict(scene: Scene, locks: Holdfast): Promise<Finding[]> {
  const lease = await mutex(locks, "conflicts/renewed").acquire({ lease: LEASE, renew: "manual" });
  // A retry of the SDK would hide a conflict.
  const sender = withoutRetries(scene.client);
  let seen = 0;
  const failed: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    scene.signal.throwIfAborted();
    const racing = race(sender, lease);
    const renewal = await ended(lease.renew());
    if ("error" in renewal) failed.push(codeOf(renewal.error));
    seen += await racing;
  }
  const isHeld = lease.isHeld;
  const released = await ended(lease.release());
  if ("error" in released) failed.push(codeOf(released.error));
  const provoked =
    seen > 0
      ? finding("provoked", "ok", `${seen} of ${ROUNDS * AT_ONCE} transactions met a conflict.`)
      : finding("provoked", "unseen", `No conflict in ${ROUNDS * AT_ONCE} racing transactions.`);
  const isFine = isHeld && failed.length === 0;
  return [
    provoked,
    finding(
      "renewals beside transactions",
      isFine ? "ok" : "problem",
      isFine
        ? `${ROUNDS} renewals and the release succeeded.`
        : `Failed: ${failed.join(", ") || "the lease was lost"}.`,
    ),
  ];
}

/** Lets clients contend for two locks in one transaction. Two clients must never hold them at the same time. */
async function manyAtOnce(scene: Scene, make: () => Holdfast): Promise<Finding> {
  const fences: bigint[] = [];
  let holders = 0;
  let most = 0;
  const contend = async (): Promise<void> => {
    const locks = make();
    for (let turn = 0; turn < TURNS; turn += 1) {
      scene.signal.throwIfAborted();
      const both = all(locks, ["conflicts/a", "conflicts/b"], { poll: POLL });
      const lease = await both.acquire({ wait: "60s", lease: LEASE });
      holders += 1;
      most = Math.max(most, holders);
      fences.push(lease.fences.get("conflicts/a") ?? -1n);
      // Long enough to overlap with a second holder.
      await pause(HOLD_MS, scene.signal);
      holders -= 1;
      await lease.release();
    }
  };
  const results = await Promise.all(Array.from({ length: CONTENDERS }, () => ended(contend())));
  scene.signal.throwIfAborted();
  const failure = results.find((result) => "error" in result);
  const isGrowing = fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0n));
  const check = "several locks at once";
  if (failure !== undefined && "error" in failure) {
    return finding(check, "problem", `${codeOf(failure.error)}: ${failure.error.message}`);
  }
  if (most > 1 || !isGrowing) {
    return finding(check, "problem", `${most} holders at once; fences ${fences.join(", ")}.`);
  }
  return finding(check, "ok", `${fences.length} grants in turn, each with a higher fence.`);
}
