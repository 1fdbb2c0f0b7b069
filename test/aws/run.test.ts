import { PutItemCommand, QueryCommand, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { condition, Holdfast, mutex } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { MemoryDynamoDB } from "../../packages/testing/src/dynamodb/memory-dynamodb.js";
import { type Forward, forwardTo } from "../../verification/aws/account.js";
import { type Command, main } from "../../verification/aws/main.js";
import { settingsOf } from "../../verification/aws/options.js";
import { expectedSignature, signatureOf } from "../package/signature.js";
import { type StubRequest, StubServer } from "../package/stub-server.js";
import { sdkClient } from "../support/sdk.js";

/** An account in memory, and one call of the command. */
class Trial {
  readonly engine = new MemoryDynamoDB({ nowMs: () => Date.now() });
  readonly sent: { readonly operation: string; readonly body: Record<string, unknown> }[] = [];
  readonly lists = new Map<string, readonly string[]>();
  readonly texts: string[] = [];
  /** The name of the error of a request; undefined for an answer of the engine. */
  fault: (operation: string) => string | undefined = () => undefined;
  runSuite: Command["runSuite"] = async () => ({ passed: 1, failed: [] });
  interrupt = (): void => undefined;

  readonly #forward: Forward = async ({ operation, body }) => {
    const input = JSON.parse(body) as Record<string, unknown>;
    this.sent.push({ operation, body: input });
    const fault = this.fault(operation);
    const answer =
      fault === undefined
        ? this.engine.handle(operation, input)
        : { status: 400, body: { __type: `x#${fault}` } };
    return { status: answer.status, headers: {}, body: JSON.stringify(answer.body) };
  };

  run(args: string, more: Partial<Command> = {}): Promise<number> {
    return main({
      args: ["--region", "us-east-1", "--endpoint", "http://memory.invalid", ...args.split(" ")],
      forwardTo: () => this.#forward,
      runSuite: (endpoint, signal) => this.runSuite(endpoint, signal),
      runBench: async () => "figures",
      store: {
        save: (run, tables) => void this.lists.set(run, tables),
        load: (run) => this.lists.get(run),
      },
      ask: undefined,
      note: (text) => void this.texts.push(text),
      print: (text) => void this.texts.push(text),
      onInterrupt: (listener) => {
        this.interrupt = listener;
        return () => undefined;
      },
      exit: () => undefined,
      retryMs: 1,
      ...more,
    });
  }

  get tables(): unknown {
    return this.engine.handle("ListTables", {}).body["TableNames"];
  }

  expectNothingLeft(): void {
    expect(this.sent.length).toBeGreaterThan(0);
    expect(this.tables).toEqual([]);
    expect([...this.lists.values()].flat()).toEqual([]);
    expect(this.texts.at(-1)).toBe("All tables of the run are removed.");
  }
}

describe.concurrent("node scripts/aws.mjs", () => {
  it.each([
    ["--only engine", undefined, 2],
    ["--only engine", "y", 1],
    ["--yes --ceiling 0.01", undefined, 2],
    ["--dry-run", undefined, 0],
    ["--yes --only nothing", undefined, 2],
    ["--yes --ceiling x", undefined, 2],
    ["--remove none", undefined, 2],
  ])("sends nothing with %s after the answer %s", async (args, answer, status) => {
    const trial = new Trial();
    const ask = answer === undefined ? undefined : async () => answer;
    expect(await trial.run(args, { ask })).toBe(status);
    expect(trial.sent).toEqual([]);
  });

  it("diagnoses the engine after the answer yes, and removes its table", async () => {
    const trial = new Trial();
    const status = await trial.run("--only engine", { ask: async () => "Yes " });
    expect(trial.texts.filter((text) => text.includes("PROBLEM"))).toEqual([]);
    expect(status).toBe(0);
    trial.expectNothingLeft();
  });

  it("names, tags, counts and removes the tables of the tests", async () => {
    const trial = new Trial();
    trial.runSuite = async (endpoint) => {
      const client = sdkClient(endpoint);
      await createTable({ client, table: "tests" });
      const locks = new Holdfast({ client, table: "tests" });
      const lease = await mutex(locks, "a").acquire();
      await client.send(new TransactWriteItemsCommand({ TransactItems: [condition(lease)] }));
      await lease.release();
      await locks.close();
      client.destroy();
      return { passed: 1, failed: [{ file: "one.test.ts", title: "fails" }] };
    };
    expect(await trial.run("--yes --only conformance")).toBe(1);
    const [run] = trial.lists.keys();
    const made = trial.sent.find(({ operation }) => operation === "CreateTable");
    expect(made?.body["TableName"]).toBe(`holdfast-aws-${run}-tests`);
    expect(made?.body["Tags"]).toEqual([{ Key: "holdfast-aws", Value: run }]);
    expect(trial.texts).toContain("conformance: PROBLEM  one.test.ts: fails");
    trial.expectNothingLeft();
  });

  it("reaches no other table, and at the ceiling sends nothing but removals", async () => {
    const trial = new Trial();
    const errors: string[] = [];
    trial.runSuite = async (endpoint, signal) => {
      const client = sdkClient(endpoint);
      await createTable({ client, table: "tests" });
      const read = new QueryCommand({
        TableName: "theirs",
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": { S: "a" } },
      });
      await client.send(read).catch((error: Error) => errors.push(error.name));
      const Item = { pk: { S: "a" }, sk: { S: "a" }, text: { S: "x".repeat(300_000) } };
      const put = new PutItemCommand({ TableName: "tests", Item });
      while (!signal.aborted) {
        await client.send(put).catch((error: Error) => errors.push(error.name));
      }
      client.destroy();
      return { passed: 1, failed: [] };
    };
    expect(await trial.run("--yes --only conformance --ceiling 0.0082")).toBe(1);
    expect(errors).toEqual(["ResourceNotFoundException", "AccessDeniedException"]);
    expect(trial.texts).toContain("NOT COMPLETE: The ceiling of 0.0082 USD is reached.");
    trial.expectNothingLeft();
  });

  it("stops at an interruption, and retries a refused removal", async () => {
    const trial = new Trial();
    let refusals = 3;
    trial.fault = (operation) => {
      if (operation === "PutItem" || operation === "UpdateItem") trial.interrupt();
      if (operation !== "DeleteTable" || refusals === 0) return undefined;
      refusals -= 1;
      return "ResourceInUseException";
    };
    expect(await trial.run("--yes --only engine")).toBe(1);
    expect(trial.texts).toContain("NOT COMPLETE: Interrupted.");
    expect(refusals).toBe(0);
    trial.expectNothingLeft();
  });

  it("lists each remaining table for --remove", async () => {
    const trial = new Trial();
    trial.fault = (operation) =>
      operation === "DeleteTable" ? "AccessDeniedException" : undefined;
    expect(await trial.run("--yes --only engine")).toBe(1);
    expect(trial.texts.at(-1)).toMatch(
      /delete-table --table-name holdfast-aws-\w+-engine --region/,
    );
    trial.fault = () => undefined;
    expect(await trial.run(`--remove ${[...trial.lists.keys()][0]}`)).toBe(0);
    trial.expectNothingLeft();
  });

  it("signs a forwarded request", async () => {
    const server = await StubServer.start();
    server.answer = { status: 200, body: {} };
    const settings = settingsOf(["--region", "eu-west-1", "--endpoint", server.endpoint]);
    if (settings === "help") throw new Error("There are no settings.");
    await forwardTo(settings)({ operation: "ListTables", body: '{"ExclusiveStartTableName":"ü"}' });
    await server.stop();
    const [request] = server.requests as [StubRequest];
    expect(request.operation).toBe("ListTables");
    expect(signatureOf(request)).toMatchObject({ key: "local", region: "eu-west-1" });
    expect(signatureOf(request).signature).toBe(expectedSignature(request, "local"));
  });
});
