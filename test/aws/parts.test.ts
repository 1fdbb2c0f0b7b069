import { describe, expect, it } from "vitest";
import { FakeAws, type Fault, type Seen } from "./fake-aws.js";
import { checksOf, expectNothingLeft, messageOf, tryOut } from "./trial.js";

/** The parts of `npm run aws` on an account in memory, which differs as AWS does, or as it must not. */

describe.concurrent("policies", () => {
  it("are sufficient, and each missing permission is named by the error", async () => {
    const features = ["condition", "once", "table", "object-commit"] as const;
    const trial = await tryOut("--only policies", { features });
    expect(checksOf(trial, "problem")).toEqual([]);
    expect(trial.status).toBe(0);
    expect(checksOf(trial, "ok")).toEqual(
      expect.arrayContaining([
        "policies: condition without dynamodb:ConditionCheckItem on leader#*",
        "policies: once without dynamodb:GetItem on once#*",
        "policies: table with its policy",
        "policies: table without dynamodb:CreateTable",
        "policies: object-commit without s3:ListBucket",
      ]),
    );
    expectNothingLeft(trial);
  });

  it("report an action that nobody misses", async () => {
    const aws = new FakeAws({ unjudged: "dynamodb:UpdateItem" });
    const trial = await tryOut("--only policies", { aws, features: ["once"] });
    expect(checksOf(trial, "problem")).toEqual([
      "policies: once without dynamodb:UpdateItem on once#*",
    ]);
    expect(trial.status).toBe(1);
    expectNothingLeft(trial);
  });

  it("are not reported as tried on a server that judges none", async () => {
    const aws = new FakeAws({ unjudged: "dynamodb:GetItem" });
    const trial = await tryOut("--only policies", { aws, features: ["once"] });
    expect(checksOf(trial, "unseen")).toEqual(["policies: judged"]);
    expect(trial.findings).toHaveLength(1);
  });
});

/** Throttles a table from its 40th write, for as long as at least five writes come in 100 ms. */
function throttle(): (seen: Seen) => Fault | undefined {
  const times: number[] = [];
  return ({ operation, body }) => {
    if (operation !== "UpdateItem" || !String(body["TableName"]).endsWith("-throttled")) return;
    const nowMs = performance.now();
    times.push(nowMs);
    const isBusy = times.filter((at) => nowMs - at < 100).length > 5;
    return times.length > 40 && isBusy
      ? { name: "ProvisionedThroughputExceededException" }
      : undefined;
  };
}

describe.concurrent("throttling", () => {
  it("is provoked, and a lock is granted afterwards", async () => {
    const aws = new FakeAws({ fault: throttle() });
    const trial = await tryOut("--only throttling", { aws });
    expect(checksOf(trial, "ok")).toEqual([
      "throttling: provoked",
      "throttling: a lock on a throttled table",
      "throttling: a lock afterwards",
    ]);
    expectNothingLeft(trial);
  });

  it("is unseen on a server without limits", async () => {
    const trial = await tryOut("--only throttling");
    expect(checksOf(trial, "unseen")).toEqual(["throttling: provoked"]);
    expect(trial.status).toBe(0);
  });

  it("is a problem if the lock is refused for another reason", async () => {
    const throttled = throttle();
    const fault = (seen: Seen): Fault | undefined => {
      const isLock = JSON.stringify(seen.body).includes("lock#throttled");
      return isLock ? { name: "ValidationException" } : throttled(seen);
    };
    const trial = await tryOut("--only throttling", { aws: new FakeAws({ fault }) });
    expect(checksOf(trial, "problem")).toEqual(["throttling: a lock on a throttled table"]);
  });
});

/** Cancels every fourth of the first transactions, and one write, for a conflict. */
function conflict({ operation, before }: Seen): Fault | undefined {
  const CancellationReasons = [{ Code: "TransactionConflict", Message: "" }];
  if (operation === "TransactWriteItems" && before % 4 === 1 && before < 164) {
    return { name: "TransactionCanceledException", more: { CancellationReasons } };
  }
  if (operation === "UpdateItem" && before === 20) return { name: "TransactionConflictException" };
  return undefined;
}

describe.concurrent("conflicts", () => {
  it("are provoked, while renewals and several locks at once succeed", async () => {
    const trial = await tryOut("--only conflicts", { aws: new FakeAws({ fault: conflict }) });
    expect(checksOf(trial, "ok")).toEqual([
      "conflicts: provoked",
      "conflicts: renewals beside transactions",
      "conflicts: several locks at once",
    ]);
    expectNothingLeft(trial);
  });

  it("report a transaction that is refused for another reason", async () => {
    const fault = ({ operation, body }: Seen): Fault | undefined =>
      operation === "TransactWriteItems" && JSON.stringify(body).includes("conflicts/a")
        ? { name: "ValidationException" }
        : undefined;
    const trial = await tryOut("--only conflicts", { aws: new FakeAws({ fault }) });
    expect(checksOf(trial, "problem")).toEqual(["conflicts: several locks at once"]);
  });
});

describe.concurrent("objects", () => {
  it("are as expected on a store that honours all conditions", async () => {
    const trial = await tryOut("--only objects");
    expect(checksOf(trial, "problem")).toEqual([]);
    expect(checksOf(trial, "ok")).toHaveLength(17);
    expectNothingLeft(trial);
  });

  it("report a store that ignores conditions of copies", async () => {
    const aws = new FakeAws({ objects: { copyConditions: "ignored" } });
    const trial = await tryOut("--only objects", { aws });
    expect(checksOf(trial, "problem")).toEqual([
      "objects: CopyObject If-None-Match, present",
      "objects: the probe of holdfast/object-commit",
    ]);
  });

  it("report a store whose puts race", async () => {
    const aws = new FakeAws({ objects: { conditions: "unlocked" } });
    const problems = checksOf(await tryOut("--only objects", { aws }), "problem");
    expect(problems).toContain("objects: PutObject If-None-Match, at once");
  });
});

const REPLICAS = "--only global --replica us-east-2 --replica us-west-2";

/** Ends the checks of the engine at their first request: they take seconds. */
function withoutEngine({ body }: Seen): Fault | undefined {
  const isEngine = JSON.stringify(body).includes("holdfast-engine");
  return isEngine ? { name: "ValidationException" } : undefined;
}

describe.concurrent("a global table", () => {
  it("with strong consistency excludes, is swept, and refuses by name", async () => {
    const fault = ({ operation, body, before }: Seen): Fault | undefined =>
      operation === "PutItem" && JSON.stringify(body).includes("race#") && before % 3 === 2
        ? { name: "ReplicatedWriteConflictException" }
        : undefined;
    const aws = new FakeAws({ fault });
    const trial = await tryOut(REPLICAS, { aws });
    expect(checksOf(trial, "problem")).toEqual([]);
    expect(checksOf(trial, "ok")).toEqual(
      expect.arrayContaining([
        "global: TTL: refused by name",
        "global: a guarded transaction: refused by name",
        "global: checkTable(): refused by name",
        "global: several locks at once: refused by name",
        "global: a lock held in another region",
        "global: contention of all regions",
        "global: conflicts between regions",
        "global: sweep, in place of TTL",
      ]),
    );
    const deletions = aws.requests.filter(
      ({ operation, body }) =>
        operation === "UpdateTable" && JSON.stringify(body).includes("Delete"),
    );
    expect(deletions.map(({ body }) => body["ReplicaUpdates"])).toEqual([
      [{ Delete: { RegionName: "us-east-2" } }, { Delete: { RegionName: "us-west-2" } }],
    ]);
    expectNothingLeft(trial);
  });

  it("that ignores TTL and transactions instead of refusing them is a problem", async () => {
    const aws = new FakeAws({ isSilent: true, fault: withoutEngine });
    const trial = await tryOut(REPLICAS, { aws });
    expect(checksOf(trial, "problem")).toEqual([
      "global: TTL: refused by name",
      "global: a guarded transaction: refused by name",
      "global: checkTable(): refused by name",
      "global: several locks at once: refused by name",
      "global: engine",
    ]);
    expect(checksOf(trial, "unseen")).toEqual(["global: conflicts between regions"]);
  });

  it("without strong consistency does not exclude", async () => {
    const trial = await tryOut(REPLICAS, {
      aws: new FakeAws({ isEventual: true, fault: withoutEngine }),
    });
    expect(checksOf(trial, "problem")).toEqual(
      expect.arrayContaining([
        "global: a lock held in another region",
        "global: contention of all regions",
        "global: sweep, in place of TTL",
      ]),
    );
  });
});

describe.concurrent("the measured parts", () => {
  it("measure every step, and how late TTL deletes", async () => {
    const trial = await tryOut("--only steps --only ttl --hours 0");
    expect(checksOf(trial, "problem")).toEqual([]);
    expect(checksOf(trial, "measured")).toHaveLength(15);
    expect(messageOf(trial, "delay")).toContain("0 of 10 expired items; 10 stayed");
    expectNothingLeft(trial);
  });

  it("count a step that fails", async () => {
    const fault = ({ operation, body }: Seen): Fault | undefined =>
      operation === "TransactWriteItems" && before(body)
        ? { name: "AccessDeniedException" }
        : undefined;
    const before = (body: object): boolean => JSON.stringify(body).includes("steps/0");
    const trial = await tryOut("--only steps --hours 0", { aws: new FakeAws({ fault }) });
    expect(checksOf(trial, "problem")).toEqual(["steps: commit a guarded transaction"]);
    expect(messageOf(trial, "renew")).toContain("1 times");
  });
});
