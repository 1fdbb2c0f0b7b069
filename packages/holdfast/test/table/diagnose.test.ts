import { DescribeTableCommand, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { allowedBy } from "../../../../test/support/permissions.js";
import { MemoryDynamoDB, memoryClient } from "../../../testing/src/index.js";
import type { DynamoDBLike } from "../../src/index.js";
import {
  createTable,
  diagnose,
  type Finding,
  POLICY_FEATURES,
  policyFor,
} from "../../src/table/index.js";

/** What `holdfast diagnose` finds where the table answers late or not at all, or is replicated. */

type Send = () => Promise<unknown>;

/** A correct table behind a client that answers commands of a single class differently. */
async function behind(
  kind: typeof GetItemCommand | typeof DescribeTableCommand,
  answer: (send: Send) => Promise<unknown>,
): Promise<DynamoDBLike> {
  const client = memoryClient(new MemoryDynamoDB({ nowMs: () => 0 }));
  await createTable({ client, table: "locks" });
  const send = (command: never) => (client as DynamoDBLike).send(command);
  return {
    config: client.config,
    send: (command: never) =>
      (command as object) instanceof kind ? answer(() => send(command)) : send(command),
  };
}

const DENIED = { check: "permission", level: "problem", code: "access-denied" };

// This client shows no `Date`: that is a finding of its own.
const wrong = (found: readonly Finding[]): Finding[] =>
  found.filter(({ check, level }) => check !== "date" && level !== "ok");

describe("a probe", () => {
  it.each([
    ["ThrottlingException", "throttled", "capacity"],
    ["TimeoutError", "unreachable", "network"],
  ])("with the answer %s is a problem, %s, and not a missing permission", async (...row) => {
    const [name, code, fix] = row;
    const client = await behind(GetItemCommand, async () => {
      throw Object.assign(new Error("stubbed"), { name });
    });
    expect(wrong(await diagnose({ client, table: "locks" }))).toMatchObject([
      {
        check: "latency",
        level: "problem",
        code,
        message: expect.stringContaining("dynamodb:GetItem"),
        fix: expect.stringContaining(fix),
      },
    ]);
  });

  it("of more than a second is a warning with the latency", async () => {
    const client = await behind(GetItemCommand, async (send) => {
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      return send();
    });
    const [slow, ...others] = wrong(await diagnose({ client, table: "locks" }));
    expect(slow).toMatchObject({ check: "latency", level: "warning", code: undefined });
    expect(slow?.message).toContain(` ${slow?.latencyMs} ms`);
    expect(slow?.latencyMs).toBeGreaterThan(1_000);
    expect(others).toEqual([]);
  });
});

it("the diagnosis for `table` sends no probe, and does not say that answers have no `Date`", async () => {
  const client = memoryClient(new MemoryDynamoDB({ nowMs: () => 0 }));
  await createTable({ client, table: "locks" });
  const found = await diagnose({ client, table: "locks", for: ["table"] });
  expect(found.filter(({ level }) => level !== "ok")).toEqual([]);
});

describe("a process with a policy for a prefix", () => {
  const features = POLICY_FEATURES.filter((feature) => feature !== "object-commit");

  it.each(features)("has every permission that %s needs below the prefix", async (feature) => {
    const dynamodb = new MemoryDynamoDB({ nowMs: () => Date.now() });
    let answers = 0;
    // The `Date` moves with each answer, so that no diagnosis waits until it moves.
    const wallMs = (): number => Date.now() + (answers++ % 2) * 1_000;
    const client = memoryClient(dynamodb, { wallMs });
    await createTable({ client, table: "locks" });
    const options = { for: [feature], table: "locks" };
    dynamodb.allows = allowedBy(policyFor({ ...options, prefixes: ["team/"] }).document);
    const found = await diagnose({ ...options, client, prefix: "team/" });
    expect(wrong(found).filter(({ level }) => level === "problem")).toEqual([]);
    const other = wrong(await diagnose({ ...options, client, prefix: "other/" }));
    if (feature !== "table") expect(other).toContainEqual(expect.objectContaining(DENIED));
  });
});

describe("a replicated table with the last writer winning", () => {
  const replicated = () =>
    behind(DescribeTableCommand, async (send) => {
      const { Table } = (await send()) as { readonly Table: object };
      const Replicas = [{ RegionName: "eu-west-1" }, { RegionName: "us-east-1" }];
      return { Table: { ...Table, Replicas } };
    });

  it("is a problem, as in checkTable()", async () => {
    const found = await diagnose({ client: await replicated(), table: "locks" });
    expect(wrong(found)).toMatchObject([
      {
        check: "replication",
        level: "problem",
        code: "misconfigured",
        message: expect.stringContaining("eu-west-1, us-east-1"),
        fix: expect.stringContaining("`homeRegion`"),
      },
    ]);
  });

  it("is accepted if `homeRegion` is a region with a replica", async () => {
    const options = { client: await replicated(), table: "locks", homeRegion: "eu-west-1" };
    const found = await diagnose(options);
    expect(wrong(found)).toEqual([]);
    expect(found.find(({ check }) => check === "replication")?.message).toContain("eu-west-1");
  });
});
