import { readFileSync } from "node:fs";
import { type AttributeValue, type DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeOnDynamoDBLocal } from "../../../test/support/dynamodb-local.js";
import { freshTable, sdkClient } from "../../../test/support/sdk.js";
import { shared } from "../../../test/support/shared.js";
import { CliWorld } from "./support.js";

/** The command line on a table with rows as written by the original clients: spec/vectors. */

type Json = Readonly<
  Record<string, { readonly S?: string; readonly N?: string; readonly B?: string }>
>;
type Row = Record<string, AttributeValue>;

interface Vectors {
  readonly scenes: readonly {
    readonly state: string;
    readonly keys: { readonly sortKey?: string };
    readonly steps: readonly { readonly item: Json | null }[];
  }[];
}

const FORMATS = [
  { format: "aws-lock-client", key: "key", owner: "ownerName", hasData: true, hasFence: false },
  { format: "dynamolock", key: "key", owner: "ownerName", hasData: true, hasFence: false },
  { format: "dynamodb-lease", key: "key", owner: undefined, hasData: false, hasFence: false },
  { format: "lock-client-fail-open", key: "id", owner: "owner", hasData: false, hasFence: true },
] as const;

function isFree(row: Row): boolean {
  return row["isReleased"] !== undefined || row["leaseDurationMs"]?.N === "1";
}

/** Rows of the format's own client in a table without a sort key, each under a different name. */
function rowsOf(format: string, key: string): Row[] {
  const file = new URL(`../../../spec/vectors/${format}.json`, import.meta.url);
  const { scenes } = JSON.parse(readFileSync(file, "utf8")) as Vectors;
  const items = scenes
    .filter(({ state, keys }) => !state.startsWith("found") && keys.sortKey === undefined)
    .flatMap(({ steps }) => steps.flatMap(({ item }) => (item === null ? [] : [item])));
  return items.map((item, index) => {
    const values = Object.entries(item).map(([name, value]) => [
      name,
      value.B === undefined ? value : { B: Buffer.from(value.B, "base64") },
    ]);
    return { ...Object.fromEntries(values), [key]: { S: `row/${index}` } } as Row;
  });
}

// The rows have leases of some seconds; in formats with wall-clock expiry the leases expired long ago.
const QUICK = ["--longest-lease", "1s", "--max-clock-skew", "100ms"];

const world = await shared(CliWorld.start());

describeOnDynamoDBLocal("the command line on another client's table", (endpoint) => {
  describe.each(FORMATS)("with --format $format", ({ format, key, owner, hasData, hasFence }) => {
    const table = freshTable();
    const rows = rowsOf(format, key);
    const own = format === "dynamodb-lease" ? QUICK : [];
    let client: DynamoDBClient;
    const env = () => ({ HOLDFAST_ENDPOINT: endpoint(), HOLDFAST_TABLE: table });
    const run = (command: string, ...words: string[]) =>
      world.run([...command.split(" "), "--format", format, ...own, ...words], env());
    const nameOf = (row: Row): string => row[key]?.S ?? "";
    const put = (row: Row, more: Row = {}) =>
      client.send(new PutItemCommand({ TableName: table, Item: { ...row, ...more } }));
    const held = rows.find((row) => !isFree(row)) ?? {};
    // In this format only the expiry tells a peer that a lease is over.
    const alive: Row =
      format === "dynamodb-lease"
        ? { lease_expiry: { N: String(Math.floor(Date.now() / 1000) + 3_600) } }
        : {};

    beforeAll(async () => {
      client = sdkClient(endpoint());
      const { status, stdout } = await run("table create");
      expect({ status, stdout }).toMatchObject({ status: 0 });
      expect(stdout).toContain(`key ${key}, TTL ${format === "dynamodb-lease" ? "on" : "off"}`);
      await Promise.all(rows.map((row) => put(row, alive)));
    });
    afterAll(() => client.destroy());

    it("checks the table by the given format only", async () => {
      expect((await run("table check")).status).toBe(0);
      const native = await world.run(["table", "check"], env());
      expect(native.status).toBe(78);
      const named = await world.run(["table", "check"], { ...env(), HOLDFAST_FORMAT: format });
      expect(named.status).toBe(0);
    });

    it("lists every row with its state", async () => {
      const { status, stdout, stderr } = await run("ls", "--all", "--prefix", "row/", "--json");
      expect(status).toBe(0);
      // On a slow machine lines of progress come before the last.
      expect(JSON.parse(stderr.trim().split("\n").at(-1) ?? "")).toMatchObject({
        scan: { locks: rows.length, unreadable: 0 },
      });
      const told = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(told.map(({ name, state }) => `${name} ${state}`).sort()).toEqual(
        rows.map((row) => `${nameOf(row)} ${isFree(row) ? "free" : "held"}`).sort(),
      );
      expect(told.every(({ fence }) => (fence !== undefined) === hasFence)).toBe(true);
    });

    it("shows a lock, for people and in JSON, with data and attributes", async () => {
      const row = rows.find(({ data, team }) => data ?? team) ?? held;
      const { stdout } = await run("inspect", nameOf(row));
      const inJson = JSON.parse((await run("inspect", nameOf(row), "--json")).stdout);
      expect(inJson).toMatchObject({ name: nameOf(row), state: isFree(row) ? "free" : "held" });
      if (owner !== undefined) {
        expect(stdout).toContain(row[owner]?.S);
        expect(inJson.owner).toBe(row[owner]?.S);
      }
      const { data, team } = row;
      if (data?.B === undefined) return;
      expect(stdout).toContain(Buffer.from(data.B).toString());
      expect(inJson.data).toBe(Buffer.from(data.B).toString("base64"));
      if (team !== undefined) expect(inJson.attributes).toMatchObject({ team });
    });

    it("does not acquire a held lock, and acquires a released lock", async () => {
      await put({ ...held, [key]: { S: "kept" } }, alive);
      const refused = await run("lock", "kept", "--wait", "0", "--", "true");
      expect(refused.status).toBe(75);
      const free = rows.find(isFree);
      if (free === undefined) return;
      await put({ ...free, [key]: { S: "released" } });
      const script = 'echo "$HOLDFAST_LEASE_NAME <$HOLDFAST_LEASE_FENCE>"';
      const got = await run("lock", "released", "--wait", "0", "--", "sh", "-c", script);
      expect(got).toMatchObject({ status: 0, stderr: "" });
      const fence = hasFence ? Number(free["fencingToken"]?.N) + 1 : "";
      expect(got.stdout).toBe(`released <${fence}>\n`);
    });

    it("takes over a dead holder's lock, with `lock` and with `elect`", async () => {
      await Promise.all(["dead", "led"].map((name) => put({ ...held, [key]: { S: name } })));
      const locked = run("lock", "dead", "--wait", "20s", "--", "echo", "mine");
      const led = run("elect", "led", "--once", "--poll", "200ms", "--", "echo", "leads");
      expect(await locked).toMatchObject({ status: 0, stdout: "mine\n" });
      expect(await led).toMatchObject({ status: 0, stdout: "leads\n" });
    });

    it("prints the leader, and releases a leadership by holder id", async () => {
      // With --once, so that the command does not campaign again after the release.
      const lease = format === "dynamodb-lease" ? [] : ["--lease", "2s"];
      // The next renewal shows the command that it no longer leads.
      const lengths = [...lease, "--renew", "300ms"];
      const options = ["--format", format, ...own, ...lengths, "--owner", "me", "--once"];
      const words = ["elect", "pool", ...options, "--"];
      const running = world.start([...words, "sh", "-c", "echo started; sleep 60"], env());
      await running.printed("started");
      const led = await run("leader", "pool");
      expect(led.status).toBe(0);
      expect(led.stdout).toMatch(
        hasFence ? /"pool" .*\bme\b.*\bterm 1/ : /"pool" .*\bme\/(?!.*\bterm\b)/,
      );
      const { holder } = JSON.parse((await run("inspect", "pool", "--json")).stdout);
      expect((await run("release", "pool", "--holder", "other")).status).toBe(76);
      expect((await run("release", "pool", "--holder", holder)).status).toBe(0);
      expect((await run("leader", "pool")).status).toBe(75);
      expect((await running.result).status).toBe(76);
    });

    it("stores --data as bytes if the format supports data, and refuses --data otherwise", async () => {
      const words = ["lock", "with-data", "--format", format, ...own, "--data", "batch 7", "--"];
      const running = world.start([...words, "sh", "-c", "echo held; sleep 60"], env());
      if (!hasData) {
        const { status, stderr } = await running.result;
        expect(status).toBe(64);
        expect(stderr).toContain(`"${format}"`);
        return;
      }
      await running.printed("held");
      expect((await run("inspect", "with-data")).stdout).toMatch(/^data +batch 7$/m);
      running.kill("SIGTERM");
      await running.result;
    });

    it("numbers grants with companion fences on request, or refuses the option", async () => {
      const script = 'echo "fence $HOLDFAST_LEASE_FENCE"';
      const words = ["--fences", "companion", "--", "sh", "-c", script];
      const first = await run("lock", "numbered", ...words);
      if (hasFence) {
        expect(first).toMatchObject({ status: 64, stdout: "" });
        expect(first.stderr).toContain(format);
        return;
      }
      const told = ({ stdout, status }: typeof first): bigint => {
        expect(status).toBe(0);
        return BigInt(/^fence (\d+)$/m.exec(stdout)?.[1] ?? -1);
      };
      const fence = told(first);
      expect(told(await run("lock", "numbered", ...words))).toBe(fence + 1n);
      expect(told(await run("elect", "numbered", "--once", "--poll", "200ms", ...words))).toBe(
        fence + 2n,
      );
      const listed = await run("ls", "--all", "--prefix", "numbered", "--fences", "companion");
      expect(listed.stdout).not.toContain("#holdfast-fence");
      const taken = await run("lock", "numbered#holdfast-fence", ...words);
      expect(taken.status).toBe(64);
    });

    it("keeps observations on request, or refuses the option", async () => {
      const words = ["--observations", "companion"];
      const listed = await run("ls", "--all", "--prefix", "observed", ...words);
      if (format === "dynamodb-lease") {
        expect(listed).toMatchObject({ status: 64, stdout: "" });
        expect(listed.stderr).toContain(format);
        return;
      }
      await put({ ...held, [key]: { S: "observed" } });
      const refused = await run("lock", "observed", "--wait", "0", ...words, "--", "true");
      expect(refused.status).toBe(75);
      const names = async (...more: string[]) => {
        const { stdout } = await run("ls", "--all", "--prefix", "observed", "--json", ...more);
        const lines = stdout.trim().split("\n");
        return lines.map((line) => JSON.parse(line).name).sort();
      };
      expect(await names(...words)).toEqual(["observed"]);
      expect(await names()).toEqual(["observed", "observed#holdfast-seen"]);
    });

    it("refuses unsupported commands with 64, and names the format", async () => {
      const refused = [
        ["sessions"],
        ["diagnose"],
        ["resign", "pool"],
        ["release", "pool", "--force", "--reason", "x"],
        ["lock", "pool", "--fair", "--", "true"],
        ["queue", "pool"],
        ["elect", "pool", "--preferred", "--", "true"],
      ];
      const results = await Promise.all(refused.map(([verb = "", ...rest]) => run(verb, ...rest)));
      for (const { status, stdout, stderr } of results) {
        expect({ status, stdout }).toEqual({ status: 64, stdout: "" });
        expect(stderr).toContain(format);
      }
    });
  });

  it("uses composite names in a table with a sort key", async () => {
    const env = {
      HOLDFAST_ENDPOINT: endpoint(),
      HOLDFAST_TABLE: freshTable(),
      HOLDFAST_FORMAT: "dynamolock",
      HOLDFAST_SK: "sort",
    };
    expect((await world.run(["table", "create"], env)).status).toBe(0);
    const script = 'echo "$HOLDFAST_LEASE_NAME"';
    const words = ["lock", "customer", "--sort", "42", "--", "sh", "-c", script];
    expect(await world.run(words, env)).toMatchObject({ status: 0, stdout: "customer/42\n" });
    const { stdout } = await world.run(["ls", "--all", "--json"], env);
    expect(JSON.parse(stdout)).toMatchObject({ name: ["customer", "42"], state: "free" });
    const one = await world.run(["lock", "customer", "--", "true"], env);
    expect(one.status).toBe(64);
    expect(one.stderr).toContain("Add --sort.");
  });
});

describe("options that exclude each other", () => {
  it.each([
    [["ls", "--format", "nonsense"]],
    [["ls", "--format", "dynamodb-lease", "--pk", "id"]],
    [["ls", "--longest-lease", "10s"]],
    [["ls", "--format", "dynamolock", "--max-clock-skew", "1s"]],
    [["ls", "--format", "object-commit"]],
    [["ls", "--fences", "companion"]],
    [["ls", "--observations", "companion"]],
    [["ls", "--format", "dynamolock", "--fences", "table"]],
    [["inspect", "a", "--sort", "b"]],
  ])("are refused with 64: %j", async (words) => {
    const { status, stdout } = await world.run(words);
    expect({ status, stdout }).toEqual({ status: 64, stdout: "" });
  });
});
