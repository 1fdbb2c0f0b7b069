import { ScanCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it, vi } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { election } from "../../holdfast/src/election/index.js";
import { inspect, mutex, once, openSession } from "../../holdfast/src/index.js";
import { described } from "../src/commands/force-release.js";
import { CliWorld, until } from "./support.js";

const world = await shared(CliWorld.start());

const errorOf = (stderr: string): { code: string; message: string } =>
  (JSON.parse(stderr) as { error: { code: string; message: string } }).error;

describe("the command line", () => {
  it.each([
    [[]],
    [["nonsense"]],
    [["ls", "--nonsense"]],
    [["ls", "--limit", "none"]],
    [["lock"]],
    [["lock", "a"]],
    [["lock", "a", "true"]],
    [["lock", "a", "--"]],
    [["lock", "a", "--wait", "30", "--", "true"]],
    [["lock", "a", "--wait", "lease+5", "--", "true"]],
    [["lock", "a", "--renew", "manual", "--", "true"]],
    [["lock", "a", "--lease", "1s", "--renew", "900ms", "--", "true"]],
    [["lock", "", "--", "true"]],
    [["release", "a"]],
    [["release", "a", "--force"]],
    [["release", "a", "--now"]],
    [["release", "a", "--reason", "x"]],
    [["leader", "a", "--poll", "1s"]],
    [["diagnose", "--watch", "1s"]],
    [["release", "a", "--holder", "y", "--wait", "5s"]],
    [["release", "a", "--holder", "y", "--by", "me"]],
    [["release", "a", "--force", "--reason", "x", "--holder", "y"]],
    [["release", "a", "--force", "--reason", "x", "--wait", "soon"]],
    [["inspect", "a", "--endpoint", "nowhere"]],
    [["inspect", "a", "--table", ""]],
  ])("refuses %j with 64 and one line", async (words) => {
    const { status, stdout, stderr } = await world.run(words);
    expect({ status, stdout }).toEqual({ status: 64, stdout: "" });
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  });

  it.each([
    [["--help"]],
    [["lock", "--help"]],
    [["ls", "--help"]],
    [["sessions", "--help"]],
    [["table", "create", "--help"]],
  ])("explains %j on stdout, exit codes included", async (words) => {
    const { status, stdout, stderr } = await world.run(words);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/Usage: holdfast/);
    expect(stdout).toMatch(/Exit status:[\s\S]* 64 [\s\S]* 69 [\s\S]* 77 [\s\S]* 78 /);
  });

  it("prints its version", async () => {
    expect((await world.run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("explains how to find a holder id when release has no --holder", async () => {
    const { stderr } = await world.run(["release", "a"]);
    expect(stderr).toContain("--holder");
    expect(stderr).toContain("HOLDFAST_LEASE_HOLDER");
    expect(stderr).toContain("holdfast inspect a");
  });

  it("prints an error as a JSON object with --json, also a usage error", async () => {
    const wrong = await world.run(["ls", "--json", "--nonsense"]);
    expect(wrong.status).toBe(64);
    expect(errorOf(wrong.stderr).code).toBe("usage");
    const missing = await world.run(["inspect", "a", "--json", "--table", "nowhere"]);
    expect(missing.status).toBe(78);
    expect(errorOf(missing.stderr).code).toBe("misconfigured");
  });

  it("ignores --json in the user's command", async () => {
    const { stderr } = await world.run(["lock", "a", "--", "no-such-command", "--json"]);
    expect(stderr).toMatch(/^holdfast: /);
  });
});

describe("the exit status for a table error", () => {
  it("is 69 when DynamoDB does not answer", async () => {
    const { status, stderr } = await world.run([
      "inspect",
      "a",
      "--endpoint",
      "http://127.0.0.1:9",
    ]);
    expect(status).toBe(69);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  });

  it("is 78 without credentials", async () => {
    const { status, stderr } = await world.spawn(["inspect", "a"], {
      AWS_ACCESS_KEY_ID: "",
      AWS_SECRET_ACCESS_KEY: "",
      AWS_EC2_METADATA_DISABLED: "true",
    }).result;
    expect(status).toBe(78);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  });

  it("is 78 when the table is missing or has different keys", async () => {
    expect((await world.run(["inspect", "a", "--table", "nowhere"])).status).toBe(78);
    expect((await world.run(["inspect", "a", "--pk", "id", "--sk", "none"])).status).toBe(78);
    expect((await world.run(["table", "check", "--sk", "none"])).status).toBe(78);
  });

  it("is 78 for a record with an unknown layout, which `ls` lists", async () => {
    await world.run(["lock", "odd", "--", "true"]);
    const { Items = [] } = await world.client.send(new ScanCommand({ TableName: "locks" }));
    const { pk, sk } = Items.find((item) => item["pk"]?.S?.endsWith("odd")) ?? {};
    await world.client.send(
      new UpdateItemCommand({
        TableName: "locks",
        Key: { ...(pk && { pk }), ...(sk && { sk }) },
        UpdateExpression: "SET v = :v",
        ExpressionAttributeValues: { ":v": { N: "99" } },
      }),
    );
    const { status, stderr } = await world.run(["lock", "odd", "--wait", "0", "--", "true"]);
    expect(status).toBe(78);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
    const listed = await world.run(["ls", "--all"]);
    expect(listed.status).toBe(0);
    expect(listed.stderr).toContain('"odd"');
  });
});

describe("the table command", () => {
  it("creates a table once, checks the table, and leaves an existing table unchanged", async () => {
    const words = ["--table", "fresh", "--pk", "id", "--sk", "none", "--json"];
    expect((await world.run(["table", "check", ...words])).status).toBe(78);
    const created = await world.run(["table", "create", ...words]);
    expect(created.status).toBe(0);
    expect(JSON.parse(created.stdout)).toMatchObject({
      table: "fresh",
      keys: { pk: "id", sk: null },
    });
    expect((await world.run(["table", "create", ...words])).stdout).toBe(created.stdout);
    expect((await world.run(["table", "check", ...words])).stdout).toBe(created.stdout);
    const env = { HOLDFAST_TABLE: "fresh", HOLDFAST_PK: "id", HOLDFAST_SK: "none" };
    expect((await world.run(["lock", "a", "--", "true"], env)).status).toBe(0);
  });

  it("accepts a global table with its home region", async () => {
    const { dynamodb } = world.server;
    const handle = dynamodb.handle;
    const TableArn = "arn:aws:dynamodb:eu-west-1:1:table/locks";
    dynamodb.handle = (operation, asked) => {
      const answer = handle(operation, asked);
      if (operation !== "DescribeTable") return answer;
      const { Table } = answer.body as { readonly Table: object };
      const Replicas = [{ RegionName: "us-east-1" }];
      return { ...answer, body: { Table: { ...Table, TableArn, Replicas } } };
    };
    try {
      expect((await world.run(["table", "create"])).status).toBe(78);
      const home = ["--home-region", "eu-west-1"];
      const { status, stdout } = await world.run(["table", "create", ...home]);
      expect({ status, stdout }).toMatchObject({
        status: 0,
        stdout: expect.stringContaining("eu-west-1, us-east-1"),
      });
    } finally {
      dynamodb.handle = handle;
    }
  });
});

describe("inspect, ls and release", () => {
  it("show a held lock, and the cost of the scan", async () => {
    const lease = await mutex(world.locks, "shown/1").acquire({ owner: "me", data: "text" });
    const inspected = await world.run(["inspect", "shown/1", "--json"]);
    expect(JSON.parse(inspected.stdout)).toMatchObject({
      name: "shown/1",
      state: "held",
      holder: lease.holder,
      owner: "me",
      fence: lease.fence.toString(),
      data: "text",
    });
    expect((await world.run(["inspect", "shown/1"])).stdout).toContain(lease.holder);

    const listed = await world.run(["ls", "--prefix", "shown/"]);
    expect(listed.stdout).toMatch(/^NAME {2,}STATE /);
    expect(listed.stdout).toContain(lease.holder);
    expect(listed.stderr).toMatch(/\bscans\b[\s\S]* \d+(\.5)? read units/);
    const inJson = await world.run(["ls", "--prefix", "shown/", "--json"]);
    expect(JSON.parse(inJson.stdout)).toMatchObject({ holder: lease.holder });
    expect(JSON.parse(inJson.stderr)).toMatchObject({ scan: { locks: 1, pages: 1 } });
    await lease.release();
  });

  it("show the session of a lock, with further locks of the session", async () => {
    const session = await openSession(world.locks, { lease: "3s", renew: "100ms", owner: "me" });
    const leases = [
      await mutex(world.locks, "on/1", { session }).acquire(),
      await mutex(world.locks, "on/2", { session }).acquire(),
    ];
    await vi.waitFor(
      async () => {
        for (const name of ["on/1", "on/2"]) {
          expect((await inspect(world.locks, name)).session).toBe(session.id);
        }
      },
      { timeout: 10_000 },
    );
    const { stdout } = await world.run(["sessions", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      id: session.id,
      state: "alive",
      owner: "me",
      leaseMs: 3_000,
      locks: ["on/1", "on/2"],
    });
    const forPeople = await world.run(["sessions"]);
    expect(forPeople.stdout).toMatch(/^SESSION {2,}STATE [\s\S]*on\/1, on\/2/);
    expect(forPeople.stderr).toContain("1 listed");
    expect((await world.run(["inspect", "on/1"])).stdout).toContain(session.id);
    await session.close({ leases: "end" });
    expect(leases.some((lease) => lease.isHeld)).toBe(false);
    const ended = await world.run(["sessions", "--json"]);
    expect(JSON.parse(ended.stdout)).toMatchObject({ state: "ended", locks: ["on/1", "on/2"] });
    expect((await world.run(["inspect", "on/1"])).stdout).toMatch(/^takeable in +now\b/m);
    for (const name of ["on/1", "on/2"]) await mutex(world.locks, name).run(() => undefined);
    expect((await world.run(["sessions", "--json"])).stdout).toBe("");
  });

  it.each([
    ["ls"],
    ["sessions"],
    ["ls", "--json"],
    ["ls", "--kind", "semaphore"],
    ["watch", "--prefix", ""],
  ])(
    "say that the key of the table is another, where a scan finds nothing: %s %s %s",
    async (...words) => {
      const { status, stderr } = await world.run([...words, "--pk", "id"]);
      expect(status).toBe(78);
      expect(stderr).toMatch(/key .*holdfast table check/);
    },
  );

  it("list held locks by default, all with --all, up to --limit", async () => {
    for (const name of ["few/1", "few/2", "few/3"]) {
      await mutex(world.locks, name).run(() => undefined);
    }
    const lines = async (...words: string[]): Promise<number> => {
      const { stdout } = await world.run(["ls", "--prefix", "few/", "--json", ...words]);
      return stdout.split("\n").length - 1;
    };
    expect(await lines()).toBe(0);
    expect(await lines("--all")).toBe(3);
    expect(await lines("--all", "--limit", "2")).toBe(2);
  });

  it("escape control characters of an owner", async () => {
    const lease = await mutex(world.locks, "evil").acquire({ owner: "\u001b[31mred" });
    const { stdout } = await world.run(["ls", "--prefix", "evil"]);
    expect(stdout).toContain("\\u001b[31mred");
    expect(stdout).not.toContain("\u001b");
    await lease.release();
  });

  it("release the lock of the named holder only", async () => {
    const lease = await mutex(world.locks, "freed").acquire();
    const wrong = await world.run(["release", "freed", "--holder", "somebody-else"]);
    expect(wrong.status).toBe(76);
    expect((await inspect(world.locks, "freed")).holder).toBe(lease.holder);
    const right = await world.run(["release", "freed", "--holder", lease.holder, "--json"]);
    expect(right.status).toBe(0);
    expect(JSON.parse(right.stdout)).toEqual({ name: "freed", released: true });
    expect((await inspect(world.locks, "freed")).state).toBe("free");
  });

  it("release by force, with operator and reason for the holder", async () => {
    const lease = await mutex(world.locks, "forced").acquire({ lease: "2s", renew: "200ms" });
    lease.signal.addEventListener("abort", () => void lease.release(), { once: true });
    const words = ["release", "forced", "--force", "--by", "alice", "--reason", "it hangs"];
    const { status, stdout } = await world.run([...words, "--json"]);
    expect(status).toBe(0);
    const { holder, owner } = lease;
    expect(JSON.parse(stdout)).toEqual({
      ...{ name: "forced", isFree: true, wasDead: false },
      ...{ holder, owner },
    });
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "released-by-force" });
    expect(String(lease.signal.reason.message)).toMatch(/\balice\b.*\bit hangs\b/);
    const again = await world.run([...words, "--json"]);
    expect(again.status).toBe(0);
    expect(JSON.parse(again.stdout)).toEqual({ name: "forced", isFree: true, wasDead: false });
    const shown = await world.run(["inspect", "forced"]);
    expect(shown.stdout).toMatch(/^forced {4,}.*\balice\b.*\bit hangs\b/m);
  });

  it("say who holds a lock that another client got after its release by force", () => {
    const result = { holder: "a1", owner: "first", isFree: false, wasDead: false } as const;
    const successor = { holder: "b1", owner: "second" };
    expect(described('Leadership "x"', { ...result, successor }, false)).toBe(
      'Leadership "x" is no longer held by first; second holds it now.',
    );
  });

  it("say that --force releases any holder, if the holder is missing", async () => {
    const { status, stderr } = await world.run(["release", "held"]);
    expect(status).toBe(64);
    expect(stderr).toMatch(/--holder ID.* --force --reason "TEXT"/);
  });

  it("show the tasks of once with --kind once", async () => {
    await once(world.locks, "nightly", { occurrence: "2026-11-23" }, () => undefined);
    const shown = await world.run(["inspect", "nightly", "--kind", "once", "--json"]);
    const data = { occurrence: "2026-11-23", ended: true };
    expect(JSON.parse(shown.stdout)).toMatchObject({ name: "nightly", state: "free", data });
    const forPeople = await world.run(["inspect", "nightly", "--kind", "once"]);
    expect(forPeople.stdout).toMatch(/^occurrence +2026-11-23, completed$/m);
    await once(world.locks, "nightly", { occurrence: "2026-11-24" }, async () => {
      const running = await world.run(["inspect", "nightly", "--kind", "once"]);
      expect(running.stdout).toMatch(/^occurrence +2026-11-24, running$/m);
    });
    const listed = await world.run(["ls", "--kind", "once", "--all", "--json"]);
    const last = { occurrence: "2026-11-24", ended: true };
    expect(JSON.parse(listed.stdout)).toMatchObject({ name: "nightly", data: last });
    for (const command of [["release", "--force", "--reason", "r"], ["history"]]) {
      expect((await world.run([...command, "nightly", "--kind", "once"])).status).toBe(64);
    }
  });

  it("release a leadership by force with --kind leader, and no lock", async () => {
    const term = await election(world.locks, "forced", { lease: "3s", renew: "300ms" }).campaign();
    const lock = await mutex(world.locks, "forced").acquire();
    const words = ["release", "forced", "--kind", "leader"];
    expect((await world.run(words)).status).toBe(64);
    const forced = await world.run([...words, "--force", "--now", "--reason", "it hangs"]);
    expect(forced.status).toBe(0);
    expect(forced.stdout).toMatch(/^Leadership "forced" /);
    await until(() => term.signal.aborted, "the term has ended");
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });

  it("exit with 75 if the holder does not release in time, and free the lock with --now", async () => {
    const lease = await mutex(world.locks, "stubborn").acquire();
    const words = ["release", "stubborn", "--force", "--reason", "it hangs"];
    const late = await world.run([...words, "--wait", "100ms"]);
    expect(late.status).toBe(75);
    expect(late.stderr).toContain("--now");
    const now = await world.run([...words, "--now"]);
    expect(now.status).toBe(0);
    expect(now.stdout).toContain('"stubborn"');
    expect((await inspect(world.locks, "stubborn")).state).toBe("free");
    await lease.renew().catch(() => undefined);
    expect(lease.signal.reason).toMatchObject({ reason: "released-by-force" });
  });
});
