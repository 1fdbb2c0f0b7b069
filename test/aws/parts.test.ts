import { describe, expect, it } from "vitest";
import { FakeAws, type Fault, type Seen } from "./fake-aws.js";
import { checksOf, expectNothingLeft, messageOf, tryOut } from "./trial.js";

/** The parts of `npm run aws` on an account in memory, with the differences of AWS and of unfit servers. */

describe.concurrent("policies", () => {
  it("passes if each policy suffices, and no permission in it can be left out", async () => {
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

  it("reports a permission that the feature does not need", async () => {
    const aws = new FakeAws({ unjudged: "dynamodb:UpdateItem" });
    const trial = await tryOut("--only policies", { aws, features: ["once"] });
    expect(checksOf(trial, "problem")).toEqual([
      "policies: once without dynamodb:UpdateItem on once#*",
    ]);
    expect(trial.status).toBe(1);
    expectNothingLeft(trial);
  });

  it("reports an error without the name of the action", async () => {
    const aws = new FakeAws({ isMute: true });
    const trial = await tryOut("--only policies", { aws, features: ["condition"] });
    expect(checksOf(trial, "problem")).toHaveLength(5);
    expect(checksOf(trial, "ok")).toEqual(["policies: condition with its policy"]);
  });

  it("leaves the policies out on a server without IAM", async () => {
    const aws = new FakeAws({ unjudged: "dynamodb:GetItem" });
    const trial = await tryOut("--only policies", { aws, features: ["once"] });
    expect(checksOf(trial, "unseen")).toEqual(["policies: judged"]);
    expect(trial.findings).toHaveLength(1);
  });
});

/** Throttles a table after 40 writes, during a load of more than five writes in 100 ms. */
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
  it("provokes throttling, and takes a lock during it and after it", async () => {
    const aws = new FakeAws({ fault: throttle() });
    const trial = await tryOut("--only throttling", { aws });
    expect(checksOf(trial, "ok")).toEqual([
      "throttling: provoked",
      "throttling: a lock on a throttled table",
      "throttling: a lock afterwards",
    ]);
    expectNothingLeft(trial);
  });

  it("reports throttling as unseen on a server without limits", async () => {
    const trial = await tryOut("--only throttling");
    expect(checksOf(trial, "unseen")).toEqual(["throttling: provoked"]);
    expect(trial.status).toBe(0);
  });

  it("reports a lock refused for another reason", async () => {
    const throttled = throttle();
    const fault = (seen: Seen): Fault | undefined => {
      const isLock = JSON.stringify(seen.body).includes("lock#throttled");
      return isLock ? { name: "ValidationException" } : throttled(seen);
    };
    const trial = await tryOut("--only throttling", { aws: new FakeAws({ fault }) });
    expect(checksOf(trial, "problem")).toEqual(["throttling: a lock on a throttled table"]);
  });
});

/** Cancels a quarter of the first transactions, and one write, because of a conflict. */
function conflict({ operation, before }: Seen): Fault | undefined {
  const CancellationReasons = [{ Code: "TransactionConflict", Message: "" }];
  if (operation === "TransactWriteItems" && before % 4 === 1 && before < 164) {
    return { name: "TransactionCanceledException", more: { CancellationReasons } };
  }
  if (operation === "UpdateItem" && before === 20) return { name: "TransactionConflictException" };
  return undefined;
}

describe.concurrent("conflicts", () => {
  it("provokes conflicts, and passes if renewals and multi-locks succeed", async () => {
    const trial = await tryOut("--only conflicts", { aws: new FakeAws({ fault: conflict }) });
    expect(checksOf(trial, "ok")).toEqual([
      "conflicts: provoked",
      "conflicts: renewals beside transactions",
      "conflicts: several locks at once",
    ]);
    expectNothingLeft(trial);
  });

  it("reports a lease lost during the race", async () => {
    const aws = new FakeAws();
    aws.fault = ({ operation, body, before }: Seen): undefined => {
      if (operation !== "UpdateItem" || before !== 5) return;
      const { TableName, Key } = body;
      void aws.forward({ operation: "DeleteItem", body: JSON.stringify({ TableName, Key }) });
    };
    const trial = await tryOut("--only conflicts", { aws });
    expect(checksOf(trial, "problem")).toEqual(["conflicts: renewals beside transactions"]);
  });

  it("reports several locks refused for another reason", async () => {
    const fault = ({ operation, body }: Seen): Fault | undefined =>
      operation === "TransactWriteItems" && JSON.stringify(body).includes("conflicts/a")
        ? { name: "ValidationException" }
        : undefined;
    const trial = await tryOut("--only conflicts", { aws: new FakeAws({ fault }) });
    expect(checksOf(trial, "problem")).toEqual(["conflicts: several locks at once"]);
  });
});

describe.concurrent("objects", () => {
  it("passes a store with all conditions", async () => {
    const trial = await tryOut("--only objects");
    expect(checksOf(trial, "problem")).toEqual([]);
    expect(checksOf(trial, "ok")).toHaveLength(17);
    expectNothingLeft(trial);
  });

  it("reports a store without conditions on copies", async () => {
    const aws = new FakeAws({ objects: { copyConditions: "ignored" } });
    const trial = await tryOut("--only objects", { aws });
    expect(checksOf(trial, "problem")).toEqual([
      "objects: CopyObject If-None-Match, present",
      "objects: the probe of holdfast/object-commit",
    ]);
  });

  it("reports a store that lets two racing puts succeed", async () => {
    const aws = new FakeAws({ objects: { conditions: "unlocked" } });
    const problems = checksOf(await tryOut("--only objects", { aws }), "problem");
    expect(problems).toContain("objects: PutObject If-None-Match, at once");
  });
});

const REPLICAS = "--only global --replica us-east-2 --replica us-west-2";

/** Fails the checks of the engine at the first request, because these checks take seconds. */
function withoutEngine({ body }: Seen): Fault | undefined {
  const isEngine = JSON.stringify(body).includes("holdfast-engine");
  return isEngine ? { name: "ValidationException" } : undefined;
}

describe.concurrent("a global table", () => {
  it("passes a table with strong consistency", async () => {
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

  it("reports a problem if a global table accepts TTL or transactions", async () => {
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

  it("reports a table without strong consistency", async () => {
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
  it("measures every step and the delay of TTL", async () => {
    const trial = await tryOut("--only steps --only ttl --hours 0");
    expect(checksOf(trial, "problem")).toEqual([]);
    expect(checksOf(trial, "measured")).toHaveLength(15);
    expect(messageOf(trial, "delay")).toContain("0 of 10 expired items; 10 stayed");
    expectNothingLeft(trial);
  });

  it("counts the failures of a step", async () => {
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
