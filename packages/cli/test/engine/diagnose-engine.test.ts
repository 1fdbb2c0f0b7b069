import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { describeOnDynamoDBLocal } from "../../../../test/support/dynamodb-local.js";
import { expectError } from "../../../../test/support/errors.js";
import { IS_LONG } from "../../../../test/support/long.js";
import { freshTable, pause, sdkClient } from "../../../../test/support/sdk.js";
import { createTable } from "../../../holdfast/src/table/index.js";
import { memoryClient } from "../../../testing/src/index.js";
import {
  type DiagnoseEngineOptions,
  diagnoseBy,
  diagnoseEngine,
  type EngineReport,
} from "../../src/engine/diagnose-engine.js";
import {
  BROKEN,
  engineWith,
  lateEngine,
  memoryEngine,
  RESTRICTED,
  stillEngine,
  undatedEngine,
} from "./broken-engines.js";

type Options = Omit<DiagnoseEngineOptions, "client" | "table">;

async function reportOn(client: DynamoDBClient, options: Options = {}): Promise<EngineReport> {
  await createTable({ client, table: "locks", keys: options.keys }).catch(() => undefined);
  return diagnoseEngine({ client, table: "locks", ...options });
}

/** Only one check: all checks send 1,300 requests. */
async function reportOf(check: string, client: DynamoDBClient, options: Options = {}) {
  await createTable({ client, table: "locks" }).catch(() => undefined);
  return diagnoseBy({ client, table: "locks", ...options }, (name) => name === check);
}

const checksOf = ({ findings }: EngineReport, level: string): string[] =>
  findings.filter((each) => each.level === level).map(({ check }) => check);

/** The checks that report about transactions are one. */
const PART_OF: Readonly<Record<string, string>> = {
  tokens: "transactions",
  "condition-checks": "transactions",
  "multi-claims": "transactions",
};

async function itemsIn(client: DynamoDBClient, table = "locks"): Promise<unknown> {
  return (await client.send(new ScanCommand({ TableName: table }))).Items;
}

// One at a time: each takes the processor for two seconds.
describe("diagnoseEngine", () => {
  it("judges a correct engine as fit, and leaves nothing behind", async () => {
    const client = memoryClient(memoryEngine());
    const report = await reportOn(client);
    expect(report.findings.filter(({ level }) => level !== "ok")).toEqual([]);
    expect(report.isFit).toBe(true);
    expect(checksOf(report, "ok")).toHaveLength(14);
    // The figure of its doc comment and of the help text.
    expect(Math.round(report.requests / 100)).toBe(13);
    expect(await itemsIn(client)).toEqual([]);
  });

  it("accepts a table without a sort key", async () => {
    const client = memoryClient(memoryEngine());
    const keys = { pk: "id", sk: null };
    expect(await reportOn(client, { keys })).toMatchObject({ isFit: true });
    expect(await itemsIn(client)).toEqual([]);
  });

  it("accepts an engine without transactions for features that need none", async () => {
    const [, change] = BROKEN["has no transactions"] ?? [];
    const client = engineWith(change as never);
    const report = await reportOn(client, { for: ["lock", "sessions", "elect", "once"] });
    expect(report.isFit).toBe(true);
    expect(checksOf(report, "warning")).toEqual(["transactions"]);
  });

  it("writes only names with the prefix", async () => {
    const dynamodb = memoryEngine();
    dynamodb.allows = ({ leadingKey }) => leadingKey?.startsWith("lock#team/") ?? true;
    const client = memoryClient(dynamodb);
    expect(await reportOn(client, { prefix: "team/" })).toMatchObject({ isFit: true });
    await expectError(reportOn(client), { code: "access-denied" });
  });

  it("writes nothing if it may not delete", async () => {
    const dynamodb = memoryEngine();
    const client = memoryClient(dynamodb);
    dynamodb.allows = ({ action }) => action !== "dynamodb:DeleteItem";
    await expectError(reportOn(client), { code: "access-denied" });
    expect(await itemsIn(client)).toEqual([]);
  });

  it.each([100, 700])("deletes its records when aborted after %i requests", async (after) => {
    const controller = new AbortController();
    let requests = 0;
    const client = engineWith((handle, operation, body) => {
      requests += 1;
      if (requests === after) controller.abort(new Error("enough"));
      return handle(operation, body);
    });
    await expect(reportOn(client, { signal: controller.signal })).rejects.toThrow("enough");
    expect(requests).toBeLessThan(after + 200);
    expect(await itemsIn(client)).toEqual([]);
  });

  it("waits for the writes in flight before it deletes its records", async () => {
    const controller = new AbortController();
    const client = memoryClient(memoryEngine());
    const { requestHandler } = client.config;
    const handle = requestHandler.handle.bind(requestHandler);
    let updates = 0;
    // The engine applies each update after a while, also one whose connection was closed.
    requestHandler.handle = async (request) => {
      if (!String(request.headers["x-amz-target"]).endsWith("UpdateItem")) return handle(request);
      updates += 1;
      if (updates === 100) controller.abort(new Error("enough"));
      else if (updates > 80) await pause(150);
      return handle(request);
    };
    await expect(reportOn(client, { signal: controller.signal })).rejects.toThrow("enough");
    await pause(300);
    expect(await itemsIn(client)).toEqual([]);
  });

  it("deletes its records when the engine throttles in the middle", async () => {
    let requests = 0;
    const client = engineWith((handle, operation, body) => {
      requests += 1;
      if (requests < 900 || operation === "DeleteItem" || operation === "Scan")
        return handle(operation, body);
      const __type = "com.amazonaws.dynamodb.v20120810#ThrottlingException";
      return { status: 400, body: { __type } };
    });
    await expectError(reportOn(client), { code: "throttled" });
    expect(await itemsIn(client)).toEqual([]);
  });

  it("reports records that it cannot delete", async () => {
    let deletes = 0;
    const client = engineWith((handle, operation, body) => {
      const isLast = operation === "DeleteItem" && String(body["ConditionExpression"]).length < 25;
      if (isLast) deletes += 1;
      return isLast && deletes > 3 ? { status: 500, body: {} } : handle(operation, body);
    });
    const report = await reportOn(client);
    expect(checksOf(report, "warning")).toEqual(["cleanup"]);
    const items = (await itemsIn(client)) as { readonly expiresAt?: object }[];
    expect(items.length).toBeGreaterThan(0);
    // TTL deletes what is left.
    expect(items.filter(({ expiresAt }) => expiresAt === undefined)).toEqual([]);
  });
});

describe.concurrent("a check of diagnoseEngine", () => {
  it.each(Object.entries(BROKEN))("refuses an engine that %s", async (title, [check, change]) => {
    const report = await reportOf(PART_OF[check] ?? check, engineWith(change));
    expect(checksOf(report, "problem")).toContain(check);
    const [found] = report.findings.filter((finding) => finding.check === check);
    expect(/cannot answer/.test(found?.message ?? "")).toBe(/^cannot answer/.test(title));
    expect(report.isFit).toBe(false);
    for (const { level, consequence } of report.findings) {
      expect(consequence === undefined).toBe(level === "ok");
    }
  });

  it.each(Object.entries(RESTRICTED))("warns of %s", async (_, [check, change]) => {
    // Whether another check warns, too, is seen in `npm run test:long`.
    const report = await (IS_LONG
      ? reportOn(engineWith(change))
      : reportOf(PART_OF[check] ?? check, engineWith(change)));
    expect(checksOf(report, "warning")).toEqual([check]);
    expect(report.isFit).toBe(true);
  });

  it("refuses an engine that applies an abandoned write without its condition", async () => {
    const report = await reportOf("late-writes", lateEngine(true));
    expect(checksOf(report, "problem")).toEqual(["late-writes"]);
  });

  it("accepts an engine that applies an abandoned write late, on its condition", async () => {
    const report = await reportOf("late-writes", lateEngine(false));
    expect(checksOf(report, "problem")).toEqual([]);
    const [late] = report.findings.filter(({ check }) => check === "late-writes");
    expect(late?.message).toMatch(/^8 of 8 /);
  });

  it.each([
    ["has no `Date`", undatedEngine],
    ["has a `Date` that stands still", stillEngine],
  ])("refuses an engine that %s, unless no client uses the `Date`", async (_, make) => {
    const client = make();
    const [report, careless] = await Promise.all([
      reportOf("date", client),
      reportOf("date", client, { maxClockError: "never" }),
    ]);
    expect(checksOf(report, "problem")).toEqual(["date"]);
    expect(report.isFit).toBe(false);
    expect(careless.isFit).toBe(true);
  });
});

describeOnDynamoDBLocal("diagnoseEngine on DynamoDB Local", (endpoint) => {
  it("finds DynamoDB Local fit, and leaves nothing behind", async () => {
    const client = sdkClient(endpoint());
    const table = freshTable();
    await createTable({ client, table });
    const { findings, isFit } = await diagnoseEngine({ client, table });
    expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
    expect(isFit).toBe(true);
    expect(await itemsIn(client, table)).toEqual([]);
    client.destroy();
  });
});
