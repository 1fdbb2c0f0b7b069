import { describe, expect, it } from "vitest";
import { allowedBy } from "../../../test/support/permissions.js";
import { shared } from "../../../test/support/shared.js";
import { awsLockClient } from "../../formats/src/index.js";
import {
  type PolicyDocument,
  type PolicyFeature,
  policyFor,
} from "../../holdfast/src/table/index.js";
import { CliWorld } from "./support.js";

const world = await shared(CliWorld.start());

async function printed(...words: string[]): Promise<PolicyDocument> {
  const { status, stdout } = await world.run(["table", "policy", ...words]);
  expect(status).toBe(0);
  return JSON.parse(stdout) as PolicyDocument;
}

describe("table policy", () => {
  it("prints the result of policyFor() without requests", async () => {
    const requests = world.requests;
    const words = ["--for", "lock, elect", "--region", "eu-west-1", "--account", "123456789012"];
    const { document } = policyFor({
      for: ["lock", "elect"],
      table: "locks",
      region: "eu-west-1",
      account: "123456789012",
    });
    expect(await printed(...words)).toEqual(document);
    expect(await printed(...words, "--json")).toEqual(document);
    expect(world.requests).toBe(requests);
  });

  it("lists on stderr the permissions that a prefix cannot narrow", async () => {
    const words = ["table", "policy", "--for", "observe", "--prefix", "a/", "--prefix", "b/"];
    const { stdout, stderr } = await world.run(words);
    expect(stdout).toContain("lock#b/*");
    expect(stderr).toMatch(/^holdfast: .*\blistings?\b/i);
  });

  it("supports other formats, and names unsupported features", async () => {
    const { document } = policyFor({ for: ["lock"], table: "locks", format: awsLockClient() });
    const words = ["--for", "lock", "--format", "aws-lock-client"];
    expect(await printed(...words)).toEqual(document);
    const noted = await world.run([
      ...["table", "policy", "--for", "lock", "--json"],
      ...["--format", "dynamolock"],
    ]);
    expect(JSON.parse(noted.stderr)).toEqual({ note: expect.stringContaining("DeleteItem") });
    const refused = await world.run(["table", "policy", "--for", "sessions"], {
      HOLDFAST_FORMAT: "dynamolock",
    });
    expect(refused).toMatchObject({ status: 64, stdout: "" });
    expect(refused.stderr).toContain('"dynamolock"');
  });

  it.each([
    [[]],
    [["--for", "everything"]],
    [["--for", "lock", "--bucket", "b"]],
    [["--for", "lock", "--account", ""]],
  ])("refuses %j with 64", async (words) => {
    const { status, stdout } = await world.run(["table", "policy", ...words]);
    expect({ status, stdout }).toEqual({ status: 64, stdout: "" });
  });
});

describe("a process with the policy of its role", () => {
  const allow = async (feature: PolicyFeature): Promise<void> => {
    world.server.dynamodb.allows = allowedBy(await printed("--for", feature));
  };

  it("can observe as an observer, and names the permission that a refused command lacks", async () => {
    await allow("observe");
    for (const words of [["ls"], ["inspect", "a"], ["sessions"]]) {
      expect((await world.run(words)).status).toBe(0);
    }
    const denied = await world.run(["lock", "a", "--wait", "0", "--", "true"]);
    expect(denied.status).toBe(77);
    expect(denied.stderr).toMatch(/refused dynamodb:UpdateItem on table "locks"/);
  });

  it("can hold locks as a holder, and cannot list them", async () => {
    await allow("lock");
    expect((await world.run(["lock", "a", "--", "true"])).status).toBe(0);
    const denied = await world.run(["ls"]);
    expect(denied.status).toBe(77);
    expect(denied.stderr).toMatch(/refused dynamodb:Scan on table "locks"/);
  });
});
