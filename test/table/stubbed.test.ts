import type { TableDescription } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { awsLockClient } from "../../src/formats/index.js";
import { checkTable, createTable, type DynamoDBLike } from "../../src/index.js";

/** What a stub answers to one command: an output, or the name of an error. */
type Answer = object | string;

interface Stub extends DynamoDBLike {
  /** The commands that it was sent, in order. */
  readonly sent: string[];
}

/** A client that answers each command from its list; the last answer of a list is used for ever. */
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

describe("a table that is replicated", () => {
  const check = (more: TableDescription, homeRegion?: string) => {
    const client = stub({ DescribeTable: [described(more)], DescribeTimeToLive: [TTL_ON] });
    return checkTable({ client, table: "locks", homeRegion });
  };

  it("is refused where the last writer wins, with what can be done about it", async () => {
    for (const more of [{}, { MultiRegionConsistency: "EVENTUAL" }] as const) {
      await expect(check({ Replicas: REPLICAS, ...more })).rejects.toMatchObject({
        code: "misconfigured",
        message: expect.stringMatching(/\beu-west-1, us-east-1\b.*`homeRegion`/),
      });
    }
  });

  it("is fine where its regions agree before they answer", async () => {
    const report = await check({ Replicas: REPLICAS, MultiRegionConsistency: "STRONG" });
    expect(report.replicas).toEqual(["eu-west-1", "us-east-1"]);
  });

  it("is fine where one of its regions is named the home of all locks", async () => {
    expect((await check({ Replicas: REPLICAS }, "eu-west-1")).replicas).toHaveLength(2);
  });

  it("is refused where the home is a region that it is not in", async () => {
    await expect(check({ Replicas: REPLICAS }, "eu-wset-1")).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("eu-wset-1"),
    });
  });
});

describe("a table that is being made", () => {
  it("is waited for, from before the service knows it until it is active", async () => {
    const client = stub({
      CreateTable: [{}],
      // DynamoDB says in its own documentation that the first answers may deny the table.
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

  it("is given up after the wait, as unreachable", async () => {
    const client = stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described({ TableStatus: "CREATING" })],
    });
    await expect(createTable({ client, table: "locks", wait: 300 })).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/\b300 ms\b/),
    });
  });

  it("may get its TTL from another process at the same time", async () => {
    const client = stub({
      CreateTable: ["ResourceInUseException"],
      DescribeTable: [described()],
      DescribeTimeToLive: [TTL_OFF, TTL_ON],
      UpdateTimeToLive: ["ValidationException"],
    });
    expect(await createTable({ client, table: "locks" })).toMatchObject({ table: "locks" });
  });

  it("is left alone where its TTL is just being turned on", async () => {
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

  it("is refused, with what there is to wait for, and left alone", async () => {
    const client = stubbed();
    const refused = {
      code: "misconfigured",
      message: expect.stringMatching(/"locks".*\bTTL\b.*`expiresAt`.*\bturn it on\b.*`expiresAt`/),
    };
    await expect(checkTable({ client, table: "locks" })).rejects.toMatchObject(refused);
    await expect(createTable({ client, table: "locks" })).rejects.toMatchObject(refused);
    expect(client.sent).not.toContain("UpdateTimeToLive");
  });

  it("is refused too where it has to be off", async () => {
    const checking = checkTable({ client: stubbed(), table: "locks", format: awsLockClient() });
    await expect(checking).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/"locks".*\bTTL\b(?!.*\bturn it on\b)/),
    });
  });
});

describe("what goes wrong on the way to a table", () => {
  const CODES = [
    ["AccessDeniedException", "access-denied"],
    ["ExpiredTokenException", "access-denied"],
    ["ThrottlingException", "throttled"],
    ["InternalServerError", "unreachable"],
    ["TimeoutError", "unreachable"],
    ["ResourceNotFoundException", "misconfigured"],
  ] as const;

  it.each(CODES)("%s is told as %s, by both", async (name, code) => {
    const client = stub({ DescribeTable: [name], CreateTable: [name] });
    await expect(checkTable({ client, table: "locks" })).rejects.toMatchObject({
      code,
      cause: { name },
    });
    const creating = createTable({ client, table: "locks", wait: 0 });
    await expect(creating).rejects.toMatchObject({ code, cause: { name } });
  });

  it("names the permission that is missing, which is none of those that hold locks", async () => {
    const client = stub({ DescribeTable: ["AccessDeniedException"] });
    const checking = checkTable({ client, table: "locks" });
    await expect(checking).rejects.toMatchObject({
      message: expect.stringContaining("DescribeTable"),
    });
  });
});
