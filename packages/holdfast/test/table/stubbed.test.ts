import type { TableDescription } from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectError } from "../../../../test/support/errors.js";
import { awsLockClient } from "../../../formats/src/index.js";
import type { DynamoDBLike } from "../../src/index.js";
import { checkTable, createTable, diagnose } from "../../src/table/index.js";

/** A stub's answer to one command: an output, or the name of an error. */
type Answer = object | string;

interface Stub extends DynamoDBLike {
  /** The received commands, in order. */
  readonly sent: string[];
}

/** A client that answers each command from a list; the last answer of a list repeats. */
function stub(answers: Readonly<Record<string, readonly Answer[]>>): Stub {
  const sent: string[] = [];
  const send = async (command: never): Promise<unknown> => {
    const name = (command as object).constructor.name.replace(/Command$/, "");
    const list = answers[name] ?? ["UnknownOperationException"];
    const answer = list[Math.min(sent.filter((one) => one === name).length, list.length - 1)];
    sent.push(name);
    if (typeof answer !== "string") return answer;
    throw Object.assign(new Error(`stubbed: ${answer}`), { name: answer });
  };
  return { config: {}, sent, send };
}

const TTL_ON = {
  TimeToLiveDescription: { TimeToLiveStatus: "ENABLED", AttributeName: "expiresAt" },
};
const TTL_OFF = { TimeToLiveDescription: { TimeToLiveStatus: "DISABLED" } };

function described(more: TableDescription = {}): { Table: TableDescription } {
  return {
    Table: {
      TableStatus: "ACTIVE",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      AttributeDefinitions: [
        { AttributeName: "pk", AttributeType: "S" },
        { AttributeName: "sk", AttributeType: "S" },
      ],
      BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
      ...more,
    },
  };
}

const REPLICAS = [{ RegionName: "eu-west-1" }, { RegionName: "us-east-1" }];

describe("the diagnosis of a replicated table", () => {
  const findings = async (more: TableDescription, ttl: Answer, homeRegion?: string) => {
    const client = stub({ DescribeTable: [described(more)], DescribeTimeToLive: [ttl] });
    const all = await diagnose({ client, table: "locks", homeRegion });
    return (check: string) => all.find((one) => one.check === check);
  };

  it.each([
    ["the last writer wins", undefined],
    ["with strong consistency", "STRONG"],
  ] as const)("with a home region says that %s", async (words, MultiRegionConsistency) => {
    const more = { Replicas: REPLICAS, ...(MultiRegionConsistency && { MultiRegionConsistency }) };
    const found = await findings(more, TTL_ON, "eu-west-1");
    expect(found("replication")).toMatchObject({
      level: "ok",
      message: expect.stringContaining(words),
    });
  });

  it("shows that two regions can grant a lock, also without permission to read the TTL", async () => {
    const found = await findings({ Replicas: REPLICAS }, "AccessDeniedException");
    expect(found("replication")).toMatchObject({ level: "problem", code: "misconfigured" });
    expect(found("ttl")).toMatchObject({ level: "warning" });
    expect(found("table")).toMatchObject({ level: "ok" });
  });
});

describe("a replicated table", () => {
  const check = (more: TableDescription, homeRegion?: string) => {
    const client = stub({ DescribeTable: [described(more)], DescribeTimeToLive: [TTL_ON] });
    return checkTable({ client, table: "locks", homeRegion });
  };

  it("is refused with the last writer winning, and the error names the fixes", async () => {
    for (const more of [{}, { MultiRegionConsistency: "EVENTUAL" }] as const) {
      await expect(check({ Replicas: REPLICAS, ...more })).rejects.toMatchObject({
        code: "misconfigured",
        message: expect.stringMatching(/\beu-west-1, us-east-1\b.*`homeRegion`/),
      });
    }
  });

  it("is accepted with strong consistency across regions, if TTL is on", async () => {
    const report = await check({ Replicas: REPLICAS, MultiRegionConsistency: "STRONG" });
    expect(report.replicas).toEqual(["eu-west-1", "us-east-1"]);
  });

  it("is accepted if `homeRegion` is a region of the table", async () => {
    expect((await check({ Replicas: REPLICAS }, "eu-west-1")).replicas).toHaveLength(2);
  });

  it("is refused if `homeRegion` has no replica", async () => {
    await expect(check({ Replicas: REPLICAS }, "eu-wset-1")).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("eu-wset-1"),
    });
  });
});

describe("a table with a replica in another region", () => {
  // DynamoDB describes the replicas in the other regions alone.
  const more = {
    TableArn: "arn:aws:dynamodb:eu-west-1:123456789012:table/locks",
    Replicas: [{ RegionName: "us-east-1" }],
  };
  const replicated = () =>
    stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described(more)],
      DescribeTimeToLive: [TTL_ON],
    });

  it.each(["eu-west-1", "us-east-1"])("is accepted with the home region %s", async (homeRegion) => {
    const options = { client: replicated(), table: "locks", homeRegion };
    const replicas = ["eu-west-1", "us-east-1"];
    expect(await checkTable(options)).toMatchObject({ replicas });
    expect(await createTable(options)).toMatchObject({ replicas });
    const found = (await diagnose(options)).find(({ check }) => check === "replication");
    expect(found).toMatchObject({ level: "ok" });
  });

  it("is refused by createTable() without a home region, and the error names both regions", async () => {
    const creation = createTable({ client: replicated(), table: "locks" });
    await expect(creation).rejects.toThrow(/\beu-west-1, us-east-1\b.*`homeRegion`/);
  });
});

describe("a table under creation", () => {
  it("is awaited until it is active, even if the service does not know it at first", async () => {
    const client = stub({
      CreateTable: [{}],
      // According to DynamoDB's documentation, the first answers may deny the existence of the table.
      DescribeTable: [
        "ResourceNotFoundException",
        described({ TableStatus: "CREATING" }),
        described(),
      ],
      DescribeTimeToLive: [TTL_OFF, TTL_ON],
      UpdateTimeToLive: [{}],
    });
    expect(await createTable({ client, table: "locks" })).toMatchObject({ table: "locks" });
  });

  it("is reported as unreachable after the wait", async () => {
    const client = stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described({ TableStatus: "CREATING" })],
    });
    await expect(createTable({ client, table: "locks", wait: "300ms" })).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/\b300 ms\b/),
    });
  });

  it("is not awaited while it serves requests during an update", async () => {
    const client = stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described({ TableStatus: "UPDATING" })],
      DescribeTimeToLive: [TTL_ON],
    });
    for (const made of [checkTable, createTable]) {
      expect(await made({ client, table: "locks" })).toMatchObject({ table: "locks" });
    }
  });

  it("gets TTL after an update during which DynamoDB refuses to change the TTL", async () => {
    const updating = described({ TableStatus: "UPDATING" });
    const busy = "ResourceInUseException";
    const answers = { CreateTable: [busy], DescribeTable: [updating] };
    const client = stub({
      ...answers,
      DescribeTimeToLive: [TTL_OFF, TTL_OFF, TTL_OFF, TTL_ON],
      UpdateTimeToLive: [busy, {}],
    });
    expect(await createTable({ client, table: "locks" })).toMatchObject({ table: "locks" });
    const kept = stub({ ...answers, DescribeTimeToLive: [TTL_OFF], UpdateTimeToLive: [busy] });
    await expectError(createTable({ client: kept, table: "locks", wait: 0 }), {
      code: "unreachable",
      mentions: ["updated", "again later"],
    });
  });

  it("may get TTL from another process at the same time", async () => {
    const client = stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described()],
      DescribeTimeToLive: [TTL_OFF, TTL_ON],
      UpdateTimeToLive: ["ValidationException"],
    });
    expect(await createTable({ client, table: "locks" })).toMatchObject({ table: "locks" });
  });

  it("stays unchanged while TTL is being turned on", async () => {
    const enabling = { TimeToLiveStatus: "ENABLING", AttributeName: "expiresAt" };
    const client = stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described()],
      DescribeTimeToLive: [{ TimeToLiveDescription: enabling }],
    });
    await createTable({ client, table: "locks" });
    expect(client.sent).not.toContain("UpdateTimeToLive");
  });
});

describe("a table whose TTL is being turned off", () => {
  const stubbed = () => {
    const ending = { TimeToLiveStatus: "DISABLING", AttributeName: "expiresAt" };
    return stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described()],
      DescribeTimeToLive: [{ TimeToLiveDescription: ending }],
    });
  };

  it("is refused unchanged, and the error says to wait", async () => {
    const client = stubbed();
    const refused = {
      code: "misconfigured",
      message: expect.stringMatching(/"locks".*\bTTL\b.*`expiresAt`.*\bturn it on\b.*`expiresAt`/),
    };
    await expect(checkTable({ client, table: "locks" })).rejects.toMatchObject(refused);
    await expect(createTable({ client, table: "locks" })).rejects.toMatchObject(refused);
    expect(client.sent).not.toContain("UpdateTimeToLive");
  });

  it("is refused too if TTL must be off", async () => {
    const checking = checkTable({ client: stubbed(), table: "locks", format: awsLockClient() });
    await expect(checking).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/"locks".*\bTTL\b(?!.*\bturn it on\b)/),
    });
  });
});

describe("a failed request about a table", () => {
  const CODES = [
    ["AccessDeniedException", "access-denied"],
    ["ExpiredTokenException", "access-denied"],
    ["ThrottlingException", "throttled"],
    ["InternalServerError", "unreachable"],
    ["TimeoutError", "unreachable"],
    ["ResourceNotFoundException", "misconfigured"],
  ] as const;

  it.each(CODES)("with error %s is reported as %s by both functions", async (name, code) => {
    const client = stub({ DescribeTable: [name], CreateTable: [name] });
    await expect(checkTable({ client, table: "locks" })).rejects.toMatchObject({
      code,
      cause: { name },
    });
    const creating = createTable({ client, table: "locks", wait: 0 });
    await expect(creating).rejects.toMatchObject({ code, cause: { name } });
  });

  it.each(["CREATING", "DELETING", "ARCHIVED"] as const)(
    "is not fit for locks while its status is %s",
    async (TableStatus) => {
      const answers = { DescribeTable: [described({ TableStatus })], DescribeTimeToLive: [TTL_ON] };
      await expect(checkTable({ client: stub(answers), table: "locks" })).rejects.toMatchObject({
        code: "misconfigured",
        message: expect.stringContaining(TableStatus),
      });
      const [first] = await diagnose({ client: stub(answers), table: "locks" });
      expect(first).toMatchObject({ check: "table", level: "problem", code: "misconfigured" });
    },
  );

  it("is not called created if another table of its name is being deleted", async () => {
    const deleting = described({ TableStatus: "DELETING" });
    const client = stub({ CreateTable: ["ResourceInUseException"], DescribeTable: [deleting] });
    await expect(createTable({ client, table: "locks", wait: 0 })).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/^(?!.*created).*DELETING/),
    });
  });

  it("tells of an answer that is not DynamoDB's in one line, with its status", async () => {
    const advice = "\n  Deserialization error: to see the raw response, inspect the hidden field";
    const send = async (): Promise<never> => {
      const error = new SyntaxError(`Unexpected token '<'${advice}`);
      throw Object.assign(error, { $metadata: { httpStatusCode: 404 } });
    };
    const options = { client: { config: {}, send } as DynamoDBLike, table: "locks" };
    const told = {
      code: "unreachable",
      message: expect.stringMatching(/^CreateTable of table "locks" [^\n]*404[^\n]*'<'[^\n]*$/),
    };
    await expect(createTable(options)).rejects.toMatchObject(told);
  });

  it("has no fix beside the message that names it", async () => {
    const client = stub({ DescribeTable: ["ResourceNotFoundException"] });
    const [first] = await diagnose({ client, table: "locks" });
    expect(first).toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("createTable()"),
      fix: undefined,
    });
  });

  it("names the missing permission, which holders of locks do not need", async () => {
    const client = stub({ DescribeTable: ["AccessDeniedException"] });
    const checking = checkTable({ client, table: "locks" });
    await expect(checking).rejects.toMatchObject({
      message: expect.stringContaining("DescribeTable"),
    });
  });
});

describe("an endpoint that takes a request and does not answer", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const silent = new Promise<never>(() => undefined);
  const client = stub({ CreateTable: [{}], DescribeTable: [silent] });
  const unreachable = { code: "unreachable", message: expect.stringContaining("DescribeTable") };
  const rejects = (call: Promise<unknown>) => expect(call).rejects.toMatchObject(unreachable);

  it.each<[string, number, () => Promise<void>]>([
    ["checkTable()", 10_000, () => rejects(checkTable({ client, table: "locks" }))],
    ["createTable()", 10_000, () => rejects(createTable({ client, table: "locks" }))],
    [
      "createTable() with a shorter wait",
      3_000,
      () => rejects(createTable({ client, table: "locks", wait: "3s" })),
    ],
    [
      "diagnose()",
      10_000,
      async () => {
        const found = await diagnose({ client, table: "locks" });
        expect(found).toMatchObject([{ check: "table", level: "problem", ...unreachable }]);
      },
    ],
  ])("ends %s after %i ms", async (_, afterMs, call) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let isOver = false;
    const calling = call().then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(afterMs - 100);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(isOver).toBe(true);
    await calling;
  });
});

describe("a client, such as a wrapper, that is no client of the AWS SDK", () => {
  it.each<[string, () => unknown]>([
    ["answers with nothing", () => undefined],
    [
      "throws nothing",
      () => {
        throw undefined;
      },
    ],
    [
      "throws a value without text",
      () => {
        throw Object.create(null);
      },
    ],
  ])("counts as unreachable if it %s", async (_what, act) => {
    const client: DynamoDBLike = { config: {}, send: async () => act() };
    const options = { client, table: "locks" };
    const unreachable = { code: "unreachable", mentions: ["locks"] } as const;
    await expectError(checkTable(options), unreachable);
    await expectError(createTable({ ...options, wait: 0 }), unreachable);
    expect(await diagnose(options)).toContainEqual(
      expect.objectContaining({ check: "table", code: "unreachable" }),
    );
  });
});

it("creates no table, and says what a client threw that is no error", async () => {
  const client: DynamoDBLike = { config: {}, send: () => Promise.reject("no route") };
  await expect(createTable({ client, table: "locks", wait: 0 })).rejects.toMatchObject({
    message: expect.stringContaining(" failed (no route). Check the endpoint"),
  });
});

it("diagnoses a table through a client that has only `send`", async () => {
  const { send } = stub({});
  const found = await diagnose({ client: { send } as never, table: "locks" });
  expect(found.map(({ check, code }) => [check, code])).toEqual([["table", "misconfigured"]]);
});

describe.each(Object.entries({ createTable, checkTable, diagnose }))("%s()", (_name, call) => {
  it.each([
    ["client", { table: "locks" }],
    ["client", { client: {}, table: "locks" }],
    ["client", { client: "locks", table: "locks" }],
    ["lean", { client: { openSender: () => undefined }, table: "locks" }],
  ])("refuses a wrong `%s`: %j", async (mention, options) => {
    const callWith = call as (given: object) => Promise<unknown>;
    await expectError(callWith(options), { code: "invalid-argument", mentions: [mention] });
  });

  it.each([{}, { table: 5 }, { table: "" }])(
    "refuses %j as the table, and sends nothing",
    async (table) => {
      const client = stub({});
      const callWith = call as (given: object) => Promise<unknown>;
      const refused = { code: "invalid-argument", mentions: ["table"] } as const;
      await expectError(callWith({ client, ...table }), refused);
      expect(client.sent).toEqual([]);
    },
  );
});
