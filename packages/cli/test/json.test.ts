import { readFileSync, writeFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assign } from "../../holdfast/src/assign/index.js";
import { election } from "../../holdfast/src/election/index.js";
import { fairLock, type Lease, mutex, openSession, semaphore } from "../../holdfast/src/index.js";
import { type RunningS3rver, startS3rver } from "../../object-commit/test/stores/s3rver.js";
import { programOf } from "../src/program.js";
import { CliWorld, pause } from "./support.js";

const SCHEMA = JSON.parse(
  readFileSync(new URL("../../../docs/schemas/cli.schema.json", import.meta.url), "utf8"),
) as { readonly $defs: Readonly<Record<string, object>> };

// Times are checked as text for people.
const ajv = new Ajv2020({ allowUnionTypes: true, formats: { "date-time": true } });
ajv.addSchema(SCHEMA, "cli");

/** Returns the errors of each line, checked against this definition; empty if all match. */
function wrongIn(lines: string, definition: string): string[] {
  const validate = ajv.getSchema(`cli#/$defs/${definition}`);
  if (validate === undefined) throw new Error(`There is no definition of ${definition}.`);
  return lines
    .split("\n")
    .filter((line) => line !== "" && !validate(JSON.parse(line)))
    .map((line) => `${line}: ${ajv.errorsText(validate.errors)}`);
}

/** Commands without lines in this test, each with its reason. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  lock: "stdout is its command's",
  semaphore: "stdout is its command's; packages/cli/test/semaphore.test.ts has --set-limit",
  coalesce: "stdout is its command's, unless no command ran: below",
  once: "stdout is its command's, unless no command ran: below",
  schedule: "stdout is its command's",
  runs: "it needs a run: below",
  elect: "stdout is its command's",
  object: "it needs a store: below",
  demo: "it tells a story to people",
  serve: "it prints its URL; packages/cli/test/serve and packages/cli/test/browser test the rest",
  complete: "shells read it",
};

let world: CliWorld;
beforeAll(async () => {
  world = await CliWorld.start({ credentials: "S3RVER" });
  const { locks } = world;
  const session = await openSession(locks, { lease: "3s", renew: "500ms" });
  await mutex(locks, "on a session", { session }).acquire();
  await mutex(locks, "data").acquire({ data: { any: ["value", 1, null] } });
  await mutex(locks, "data").inspect();
  const term = await election(locks, "e").campaign();
  await term.update({ at: "here" });
  const untilTold = ({ signal }: { readonly signal: AbortSignal }): Promise<void> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  const untilStopped = (_: string, lease: Lease) => untilTold(lease);
  void election(locks, "led", { lease: "3s", renew: "300ms", poll: "1s" })
    .lead(untilTold)
    .catch(() => undefined);
  await fairLock(locks, "q", { namespace: "n" }).acquire();
  void fairLock(locks, "q", { namespace: "n" })
    .acquire()
    .catch(() => undefined);
  await assign(locks, "webhooks", { names: ["eu", "us"], period: "1s", run: untilStopped }).start();
  await semaphore(locks, "limited", { permits: 2 }).acquire();
  await (await mutex(locks, "free").acquire()).release();
  await world.run(["lock", "kept", "--history", "--", "true"]);
  await mutex(locks, "forced").acquire();
  await world.run(["release", "forced", "--force", "--now", "--reason", "a test"]);
  await world.run(["lock", "forced", "--history", "--", "true"]);
  await pause(600);
});
afterAll(() => world.close());

const ANSWERS: readonly (readonly [definition: string, words: readonly string[]])[] = [
  ["ls", ["ls"]],
  ["ls", ["ls", "--kind", "leader"]],
  ["inspect", ["inspect", "data"]],
  ["inspect", ["inspect", "on a session"]],
  ["inspect", ["inspect", "forced"]],
  ["inspect", ["inspect", "free"]],
  ["inspect", ["inspect", "none"]],
  ["ls", ["ls", "--kind", "semaphore"]],
  ["inspect", ["inspect", "limited", "--kind", "semaphore"]],
  ["queue", ["queue", "q", "--namespace", "n"]],
  ["history", ["history", "kept"]],
  ["history", ["history", "forced"]],
  ["history", ["history", "none"]],
  ["sessions", ["sessions"]],
  ["assignment", ["assignment", "webhooks"]],
  ["leader", ["leader", "e"]],
  ["cost", ["cost"]],
  ["diagnose", ["diagnose"]],
  ["diagnose-engine", ["diagnose", "--engine"]],
  ["table", ["table", "check"]],
  ["table", ["table", "create", "--table", "another"]],
  ["policy", ["table", "policy", "--for", "lock,operate"]],
  ["release", ["release", "data", "--force", "--now", "--reason", "a test"]],
  ["resign", ["resign", "led"]],
  ["interrupt", ["interrupt", "on a session"]],
  ["inspect", ["inspect", "on a session"]],
  ["interrupt", ["interrupt", "q", "--namespace", "n"]],
  ["queue", ["queue", "q", "--namespace", "n"]],
  ["interrupt", ["interrupt", "none"]],
];

describe("output with --json", () => {
  it.each(ANSWERS)("of %s for %j matches the schema", async (definition, words) => {
    const { status, stdout } = await world.run([...words, "--json"]);
    expect(status).toBe(0);
    expect(stdout).not.toBe("");
    expect(wrongIn(stdout, definition)).toEqual([]);
  });

  it("of release and watch matches the schemas", async () => {
    const lease = await mutex(world.locks, "watched").acquire();
    const watching = world.start(["watch", "watched", "--poll", "100ms", "--json"]);
    await watching.printed("seen");
    const released = await world.run(["release", "watched", "--holder", lease.holder, "--json"]);
    expect(wrongIn(released.stdout, "release")).toEqual([]);
    await watching.printed("released");
    watching.kill("SIGINT");
    expect(wrongIn((await watching.result).stdout, "watch")).toEqual([]);
  });

  it("of dev matches the schema", async () => {
    const running = world.start(["dev", "--json", "--port", "0", "--data", world.file("dev")]);
    await running.printed("\n");
    running.kill("SIGINT");
    expect(wrongIn((await running.result).stdout, "dev")).toEqual([]);
  });

  it("of errors, and of the cost of a scan, on stderr matches the schemas", async () => {
    const missing = await world.run(["inspect", "a", "--table", "none", "--json"]);
    expect(missing.stderr).not.toBe("");
    expect(wrongIn(missing.stderr, "error")).toEqual([]);
    const scanned = await world.run(["ls", "--json"]);
    expect(scanned.stderr).not.toBe("");
    expect(wrongIn(scanned.stderr, "scan")).toEqual([]);
  });

  it("of coalesce without a run matches the schema", async () => {
    const { stdout } = await world.run(["coalesce", "data", "--json", "--if-owed", "--", "true"]);
    expect(stdout).not.toBe("");
    expect(wrongIn(stdout, "coalesce")).toEqual([]);
  });

  it("of once without a run, and of runs, matches the schemas", async () => {
    const words = ["once", "told", "--occurrence", "a", "--json", "--", "true"];
    await world.run(words);
    expect(wrongIn((await world.run(words)).stdout, "once")).toEqual([]);
    await world.run(["once", "told", "--every", "1m", "--", "false"]);
    await world.run(["once", "failed", "--occurrence", "a", "--", "false"]);
    for (const name of ["told", "failed", "none"])
      expect(wrongIn((await world.run(["runs", name, "--json"])).stdout, "runs")).toEqual([]);
  });

  it("is covered for every command, or excluded with a reason; and schemas refuse unknown fields", () => {
    const commands = programOf([], () => undefined).commands.map((command) => command.name());
    const here = [
      ...ANSWERS.map(([, [command]]) => command),
      "watch",
      "dev",
      ...Object.keys(ELSEWHERE),
    ];
    expect(commands.filter((command) => !here.includes(command))).toEqual([]);
    expect(Object.keys(ELSEWHERE).filter((command) => !commands.includes(command))).toEqual([]);
    expect(wrongIn('{"name":"a","resigned":true,"more":1}', "resign")).toHaveLength(1);
    expect(wrongIn('{"name":"a"}', "resign")).toHaveLength(1);
  });
});

describe("holdfast object --json", () => {
  let store: RunningS3rver;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    store = await startS3rver();
    env = {
      HOLDFAST_BUCKET: store.bucket,
      HOLDFAST_S3_ENDPOINT: store.url,
      HOLDFAST_COMMIT_TABLE: "commits",
      HOLDFAST_STRATEGY: "dynamo",
    };
    writeFileSync(world.file("body.txt"), "body");
    await world.run(["table", "create", "--format", "object-commit", "--table", "commits"]);
  });
  afterAll(() => store.stop());

  async function answered(definition: string, status: number, words: readonly string[]) {
    const result = await world.run(["object", ...words, "--json"], env);
    expect(result.status).toBe(status);
    const lines = status === 0 || status === 66 ? result.stdout : result.stderr;
    expect(lines).not.toBe("");
    expect(wrongIn(lines, definition)).toEqual([]);
    return JSON.parse(lines);
  }

  it("prints the output of each command according to the schema", async () => {
    const file = world.file("body.txt");
    const type = ["--content-type", "text/plain"];
    const { etag } = await answered("object", 0, ["put", "a", file, "--if-absent", ...type]);
    await answered("object", 0, ["put", "a", file, "--if-match", etag]);
    await answered("object", 0, ["copy", "a", "b"]);
    await answered("object", 0, ["mv", "b", "c"]);
    const whole = await answered("object-inspect", 0, ["inspect", "a"]);
    // Uses every optional field of the schema: a field that never appears would never be checked.
    expect(Object.keys(whole.object).toSorted()).toEqual(propertiesOf("object-inspect", "object"));
    expect(whole.records).not.toEqual([]);
    await answered("object-inspect", 66, ["inspect", "none"]);
    await answered("error", 74, ["put", "a", file, "--if-absent"]);
  });
});

function propertiesOf(definition: string, property: string): string[] {
  const { properties } = SCHEMA.$defs[definition] as {
    readonly properties: Readonly<Record<string, { readonly properties: object }>>;
  };
  return Object.keys(properties[property]?.properties ?? {}).toSorted();
}
