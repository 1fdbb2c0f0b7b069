import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { inspect } from "../../holdfast/src/index.js";
import { CliWorld, pause } from "./support.js";

const world = await shared(CliWorld.start());

async function markOf(name: string) {
  const Key = { pk: { S: `lock#${name}` }, sk: { S: "lease" } };
  const TableName = world.env["HOLDFAST_TABLE"];
  return (await world.client.send(new GetItemCommand({ TableName, Key }))).Item?.["ring"];
}

async function heldBy(name: string, owner: string): Promise<void> {
  for (;;) {
    const seen = await inspect(world.locks, name);
    if (seen.state === "held" && seen.owner === owner) return;
    await pause(10);
  }
}

describe("--ring", () => {
  it.each(["local", "127.0.0.1:0", "[::1]:0", "127.0.0.1:47500-47590"])(
    "hands a lock over to a command that waits with a slow poll: %s",
    async (where) => {
      const name = `rung ${where}`;
      const ring = ["--ring", where];
      const first = world.start(["lock", name, "--owner", "first", ...ring, "--", "sleep", "2"]);
      await heldBy(name, "first");
      expect(await markOf(name)).toBeDefined();
      const second = world.start([
        "lock",
        name,
        "--owner",
        "second",
        ...ring,
        "--",
        "echo",
        "got it",
      ]);
      expect((await first.result).status).toBe(0);
      const fromMs = performance.now();
      const { status, stdout } = await second.result;
      expect([status, stdout.trim()]).toEqual([0, "got it"]);
      // Without a ring, the waiter would poll every 2 s by now. The end of the command takes a part of the time.
      expect(performance.now() - fromMs).toBeLessThan(1_200);
    },
  );

  it("serves candidates, too", async () => {
    const once = ["--once", "--ring", "local", "--", "true"];
    expect(await world.run(["elect", "rung", ...once])).toMatchObject({ status: 0 });
  });

  it.each(["somewhere", "host:1", "127.0.0.1:9-1", "127.0.0.1"])("refuses %s", async (where) => {
    const told = await world.run(["lock", "a", "--ring", where, "--", "true"]);
    expect(told).toMatchObject({ status: 64, stdout: "" });
    expect(told.stderr).toContain("ring");
  });

  it("is for native records", async () => {
    const words = ["lock", "a", "--format", "dynamolock", "--pk", "key", "--ring", "local"];
    const told = await world.run([...words, "--", "true"]);
    expect(told).toMatchObject({ status: 64 });
    expect(told.stderr).toContain("ring");
  });
});

describe("diagnose --ring", () => {
  it("says whether this machine can ring the clients at some addresses", async () => {
    const name = "reached";
    const held = world.start(["lock", name, "--ring", "127.0.0.1:0", "--", "sleep", "30"]);
    await expect.poll(() => markOf(name), { timeout: 20_000 }).toBeDefined();
    const [, address = ""] = (await markOf(name))?.S?.split(" ") ?? [];
    const { status, stdout } = await world.run(["diagnose", "--ring", address]);
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining(`ring         ${address} answers as a client with ring() does.`),
    ]);
    held.kill("SIGTERM");
    await held.result;
    const after = await world.run(["diagnose", "--json", "--ring", ` ${address},${address}`]);
    const findings = after.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { check: string; code?: string });
    const ofRings = findings.filter(({ check }) => check === "ring");
    expect(ofRings.map(({ code }) => code)).toEqual(["unreachable", "unreachable"]);
    expect(after.status).toBe(69);
  });

  it.each(["local", "nowhere", ","])("refuses %j", async (where) => {
    const told = await world.run(["diagnose", "--ring", where]);
    expect(told.status).toBe(64);
    expect(told.stderr).toContain("10.0.3.7:7420");
  });
});
