import { type AttributeValue, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { CliWorld } from "./support.js";

/** Output of texts from other clients, up to the size of an item. */

const LONG = 380_000;

const world = await shared(CliWorld.start());

async function held(name: string, more: Record<string, AttributeValue>): Promise<void> {
  const Item: Record<string, AttributeValue> = {
    pk: { S: `lock#${name}` },
    sk: { S: "lease" },
    v: { N: "1" },
    holder: { S: "h" },
    owner: { S: "o" },
    version: { N: "1" },
    fence: { N: "1" },
    leaseMs: { N: "600000" },
    ...more,
  };
  await world.client.send(new PutItemCommand({ TableName: "locks", Item }));
}

describe("text written by another client", () => {
  it("does not delay an error line, whatever it contains", async () => {
    await held("blanks", { owner: { S: `${" ".repeat(LONG)}x` } });
    // Used to take 100 s, longer than this test may.
    const { status, stderr } = await world.run(["lock", "blanks", "--wait", "0", "--", "true"]);
    expect(status).toBe(75);
    expect(stderr.length).toBeLessThan(500);
  });

  it("adds no line to an error, or to a note", async () => {
    await held("forged", { owner: { S: "bob\nholdfast: all is well\u001b[2K" } });
    for (const words of [
      ["lock", "forged", "--wait", "0"],
      ["coalesce", "forged"],
    ]) {
      const { stderr } = await world.run([...words, "--", "true"]);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(stderr).toContain("bob\\u000aholdfast: all is well\\u001b[2K");
    }
  });

  it("is shortened in a listing, and complete in JSON", async () => {
    const owner = `begin ${"x".repeat(LONG)}`;
    await held("listed", { owner: { S: owner } });
    for (let i = 0; i < 20; i += 1) await held(`short/${i}`, {});
    const { stdout, status } = await world.run(["ls"]);
    expect(status).toBe(0);
    const lines = stdout.split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(700);
    expect(stdout).toMatch(/listed .*begin x{70,}…/);
    const json = await world.run(["ls", "--json", "--prefix", "listed"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ name: "listed", owner });
  });

  it("is escaped in the line about an unreadable record", async () => {
    await held(`odd\u001b]0;t\u0007${"y".repeat(1_000)}`, { v: { S: "none" } });
    const { stderr } = await world.run(["ls"]);
    expect(stderr).not.toContain("\u001b");
    expect(stderr).toMatch(/record of "odd\\u001b\]0;t\\u0007y+…" cannot be read/);
  });

  it.each(["inspect", "queue", "watch", "history"])("shortens %s", async (command) => {
    await held("wide", { owner: { S: "z".repeat(LONG) }, data: { S: "d".repeat(1_000) } });
    const running = world.start([command, "wide"]);
    if (command === "watch") await running.printed("seen");
    if (command === "watch") running.kill("SIGINT");
    const { stdout } = await running.result;
    expect(stdout.length).toBeLessThan(10_000);
  });
});

describe("an error line about the table", () => {
  it.each([
    ["a port that nothing listens on", "http://127.0.0.1:1", "ECONNREFUSED"],
    ["a host that is none", "http://holdfast.invalid:8000", "holdfast.invalid"],
  ])("says why the table does not answer: %s", async (_, endpoint, why) => {
    const words = ["lock", "a", "--wait", "1s", "--endpoint", endpoint, "--", "true"];
    const { status, stderr } = await world.run(words);
    expect(status).toBe(69);
    expect(stderr).toMatch(
      /the table does not answer at http:[^ ]+ \([^)]+\)\. Check the endpoint/,
    );
    expect(stderr).toContain(why);
  });

  it("names missing credentials, not a refusal by DynamoDB", async () => {
    const none = {
      AWS_ACCESS_KEY_ID: "",
      AWS_SECRET_ACCESS_KEY: "",
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_SHARED_CREDENTIALS_FILE: world.file("none"),
      AWS_CONFIG_FILE: world.file("none"),
    };
    const { status, stderr } = await world.spawn(["inspect", "a"], none).result;
    expect(status).toBe(78);
    expect(stderr).toMatch(/^holdfast: No AWS credentials were found/);
    expect(stderr).not.toContain("refused");
  });
});
