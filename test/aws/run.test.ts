import { PutItemCommand, QueryCommand, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { Holdfast, mutex } from "../../src/index.js";
import { checkTable, createTable } from "../../src/table/index.js";
import { awsOf } from "../../verification/aws/clients.js";
import type { Resource } from "../../verification/aws/ledger.js";
import { settingsOf } from "../../verification/aws/options.js";
import type { RunSuite } from "../../verification/aws/scene.js";
import { sweep } from "../../verification/aws/sweep.js";
import { expectedSignature, signatureOf } from "../package/signature.js";
import { type StubRequest, StubServer } from "../package/stub-server.js";
import { sdkClient } from "../support/sdk.js";
import { FakeAws, type Fault, type Seen } from "./fake-aws.js";
import { checksOf, expectNothingLeft, tryOut } from "./trial.js";

/** `npm run aws`: consent, ceiling, interruption, removal, the gate of the tests, the sweep. */

describe.concurrent("before the start", () => {
  it.each([
    ["without a terminal and without --yes", {}, 2],
    ["after another answer than yes", { answer: "y" }, 1],
  ] as const)("sends nothing %s", async (_, options, status) => {
    const trial = await tryOut("", { isConfirmed: false, ...options });
    expect(trial.status).toBe(status);
    expect(trial.aws.requests).toEqual([]);
    expect(trial.notes).toMatch(/cost: at most .* USD/);
  });

  it("starts after the answer yes", async () => {
    const options = { isConfirmed: false, answer: "Yes " };
    const trial = await tryOut("--only ttl --hours 0", options);
    expect(trial.status).toBe(0);
    expectNothingLeft(trial);
  });

  it("sends nothing with --dry-run", async () => {
    const trial = await tryOut("--dry-run", { isConfirmed: false });
    expect(trial.status).toBe(0);
    expect(trial.aws.requests).toEqual([]);
  });

  it("refuses a plan above the ceiling", async () => {
    const trial = await tryOut("--hours 24 --ceiling 0.01");
    expect(trial.status).toBe(2);
    expect(trial.aws.requests).toEqual([]);
    expect(trial.notes).toContain("--ceiling");
  });

  it.each([
    "--replica us-east-2",
    "--replica us-east-2 --replica us-east-2",
    "--replica us-east-2 --replica us-east-1",
    "--only global",
    "--only nothing",
    "--hours x",
    "--hours -1",
    "--unknown",
    "--remove none",
  ])("refuses %s", async (args) => {
    const trial = await tryOut(args);
    expect(trial.status).toBe(2);
    expect(trial.aws.requests).toEqual([]);
  });
});

/** Fails an operation with this error. */
const failing =
  (operation: string, name: string, when: (seen: Seen) => boolean = () => true) =>
  (seen: Seen): Fault | undefined =>
    seen.operation === operation && when(seen) ? { name } : undefined;

describe.concurrent("after the start", () => {
  it("removes everything after a failed part, and plays the next part", async () => {
    const isReplica = ({ body }: Seen): boolean => JSON.stringify(body).includes("Create");
    const aws = new FakeAws({ fault: failing("UpdateTable", "ValidationException", isReplica) });
    const args = "--only global --only ttl --replica us-east-2 --replica us-west-2 --hours 0";
    const trial = await tryOut(args, { aws });
    expect(checksOf(trial, "problem")).toEqual(["global: run"]);
    expect(trial.findings.map(({ part }) => part)).toContain("ttl");
    expect(trial.status).toBe(1);
    expectNothingLeft(trial);
  });

  it("removes everything after a failed start", async () => {
    const isCommits = ({ body }: Seen): boolean => String(body["TableName"]).endsWith("-commits");
    const aws = new FakeAws({ fault: failing("UpdateTimeToLive", "AccessDenied", isCommits) });
    const trial = await tryOut("--only objects", { aws });
    expect(trial.status).toBe(1);
    expect(trial.summary["brokenOff"]).toContain("dynamodb:UpdateTimeToLive");
    expectNothingLeft(trial);
  });

  it("stops at the ceiling, and removes everything", async () => {
    // The first read finds a long item, and costs more than the rest of the plan.
    const aws = new FakeAws();
    aws.fault = ({ operation, body, before }: Seen): undefined => {
      if (operation !== "GetItem" || before !== 0) return;
      const { TableName, Key } = body;
      const Item = { ...(Key as object), text: { S: "x".repeat(100_000) } };
      void aws.forward({ operation: "PutItem", body: JSON.stringify({ TableName, Item }) });
    };
    const trial = await tryOut("--only ttl --hours 0.0001 --ceiling 0.0000076", { aws });
    expect(trial.status).toBe(1);
    expect(trial.summary["brokenOff"]).toContain("ceiling");
    const reads = trial.aws.requests.filter(({ operation }) => operation === "GetItem");
    expect(reads).toHaveLength(1);
    expectNothingLeft(trial);
  });

  it("stops at an interruption, and removes everything", async () => {
    let interrupt = (): void => undefined;
    const fault = (seen: Seen): undefined => {
      if (JSON.stringify(seen.body).includes("steps/1")) interrupt();
    };
    const aws = new FakeAws({ fault });
    const trial = await tryOut("--only steps --every 0 --hours 0.01", {
      aws,
      interrupting: (given) => {
        interrupt = given;
      },
    });
    expect(trial.status).toBe(1);
    expect(trial.summary["brokenOff"]).toBe("Interrupted.");
    // The figures of the complete first round.
    expect(checksOf(trial, "measured")).toHaveLength(15);
    expect(checksOf(trial, "problem")).toEqual([]);
    expectNothingLeft(trial);
  });

  it("prints the commands of the removal at a second interruption, and exits", async () => {
    let interrupt = (): void => undefined;
    let exits = 0;
    const fault = ({ operation }: Seen): undefined => {
      if (operation === "PutItem" || operation === "DeleteTable") interrupt();
    };
    const trial = await tryOut("--only ttl", {
      aws: new FakeAws({ fault }),
      onExit: () => {
        exits += 1;
      },
      interrupting: (given) => {
        interrupt = given;
      },
    });
    expect(exits).toBeGreaterThan(0);
    expect(trial.notes).toMatch(/aws dynamodb delete-table --table-name holdfast-aws-\w+ --region/);
  });

  it("retries a refused removal", async () => {
    const isEarly = ({ before }: Seen): boolean => before < 3;
    const aws = new FakeAws({ fault: failing("DeleteTable", "ResourceInUseException", isEarly) });
    const trial = await tryOut("--only ttl --hours 0", { aws });
    expect(aws.requests.filter(({ operation }) => operation === "DeleteTable")).toHaveLength(4);
    expectNothingLeft(trial);
  });

  it("lists each remaining resource for --remove", async () => {
    const lists = new Map<string, readonly Resource[]>();
    const aws = new FakeAws({ fault: failing("DeleteTable", "AccessDeniedException") });
    const trial = await tryOut("--only ttl --hours 0", { aws, lists });
    expect(trial.status).toBe(1);
    expect(trial.notes).toMatch(/delete-table --table-name holdfast-aws-\w+ --region us-east-1/);
    expect(trial.listed.map(({ kind }) => kind)).toEqual(["table"]);
    aws.fault = undefined;
    const [run] = lists.keys();
    const removal = await tryOut(`--remove ${run}`, { aws, lists });
    expect(removal.status).toBe(0);
    expectNothingLeft(removal);
  });

  it("puts the run's id into the name of every resource, and tags the tables", async () => {
    const aws = new FakeAws();
    const trial = await tryOut("--only policies", { aws });
    const run = String(trial.summary["run"]);
    const made = aws.requests.filter(({ operation }) => operation === "CreateTable");
    expect(made.length).toBeGreaterThan(1);
    for (const { body } of made) {
      expect(body["TableName"]).toContain(`holdfast-aws-${run}`);
      expect(body["Tags"] ?? aws.tagsOf(String(body["TableName"]))).toEqual([
        { Key: "holdfast-aws", Value: run },
      ]);
    }
  });
});

describe.concurrent("a forwarded request", () => {
  it("has the expected signature", async () => {
    const server = await StubServer.start();
    server.answer = { status: 200, body: {} };
    const settings = settingsOf(["--region", "eu-west-1", "--endpoint", server.endpoint]);
    if (settings === "help") throw new Error("There are no settings.");
    const aws = awsOf(settings, new FakeAws().identity);
    await aws.forward({ operation: "ListTables", body: '{"ExclusiveStartTableName":"ü"}' });
    await server.stop();
    const [request] = server.requests as [StubRequest];
    expect(request.operation).toBe("ListTables");
    expect(signatureOf(request)).toMatchObject({ key: "local", region: "eu-west-1" });
    expect(signatureOf(request).signature).toBe(expectedSignature(request, "local"));
  });
});

describe.concurrent("the gate", () => {
  it("names, tags and removes the tables of the tests", async () => {
    const aws = new FakeAws();
    const runSuite: RunSuite = async (endpoint) => {
      const client = sdkClient(endpoint);
      await createTable({ client, table: "tests" });
      const report = await checkTable({ client, table: "tests" });
      expect(report.table).toBe("tests");
      const locks = new Holdfast({ client, table: "tests" });
      const lease = await mutex(locks, "a").acquire();
      await client.send(new TransactWriteItemsCommand({ TransactItems: [lease.condition()] }));
      await lease.release();
      await locks.close();
      client.destroy();
      return { passed: 1, failed: [{ file: "one.test.ts", title: "fails" }] };
    };
    const trial = await tryOut("--only conformance", { aws, runSuite });
    const run = String(trial.summary["run"]);
    expect(aws.tagsOf(`holdfast-aws-${run}-tests`)).toEqual([{ Key: "holdfast-aws", Value: run }]);
    expect(aws.tagsOf("tests")).toBeUndefined();
    expect(trial.summary["usage"]).toMatchObject({ writeUnits: 4 });
    expect(checksOf(trial, "problem")).toEqual(["conformance: tests", "conformance: one.test.ts"]);
    expectNothingLeft(trial);
  });

  it("reaches no other table of the account", async () => {
    const aws = new FakeAws();
    const owner = aws.dynamodb("us-east-1");
    await createTable({ client: owner, table: "theirs" });
    let name: string | undefined;
    const runSuite: RunSuite = async (endpoint) => {
      const client = sdkClient(endpoint);
      const read = new QueryCommand({
        TableName: "theirs",
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": { S: "a" } },
      });
      name = await client.send(read).then(
        () => "an answer",
        (error: Error) => error.name,
      );
      client.destroy();
      return { passed: 1, failed: [] };
    };
    await tryOut("--only conformance", { aws, runSuite });
    expect(name).toBe("ResourceNotFoundException");
    expect(aws.tables()).toEqual(["theirs"]);
  });

  it("shows used units only if asked, and refuses every request at the ceiling", async () => {
    const units: unknown[] = [];
    const runSuite: RunSuite = async (endpoint) => {
      const client = sdkClient(endpoint);
      await createTable({ client, table: "tests" });
      const put = { TableName: "tests", Item: { pk: { S: "a" }, sk: { S: "a" } } };
      units.push((await client.send(new PutItemCommand(put))).ConsumedCapacity);
      const asking = { ...put, ReturnConsumedCapacity: "TOTAL" } as const;
      units.push((await client.send(new PutItemCommand(asking))).ConsumedCapacity?.CapacityUnits);
      const long = { ...put, Item: { ...put.Item, text: { S: "x".repeat(300_000) } } };
      for (;;) await client.send(new PutItemCommand(long));
    };
    const trial = await tryOut("--only conformance --ceiling 0.0082", { runSuite });
    expect(units).toEqual([undefined, 1]);
    expect(trial.status).toBe(1);
  });
});

describe.concurrent("a sweep", () => {
  const TABLE = "swept";
  const record = (pk: string, expiresAt: number) => ({
    TableName: TABLE,
    Item: { pk: { S: pk }, sk: { S: "a" }, expiresAt: { N: String(expiresAt) } },
  });

  it("does not delete a record that changed after the sweep read it", async () => {
    const aws = new FakeAws();
    const client = aws.dynamodb("us-east-1");
    await createTable({ client, table: TABLE });
    for (const pk of ["gone", "renewed"]) await client.send(new PutItemCommand(record(pk, 1)));
    let isRenewed = false;
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          if (commandName === "DeleteItemCommand" && !isRenewed) {
            isRenewed = true;
            await client.send(new PutItemCommand(record("renewed", 9)));
          }
          return next(args);
        },
      { step: "initialize" },
    );
    expect(await sweep(client, TABLE, 5_000)).toBe(1);
  });
});
