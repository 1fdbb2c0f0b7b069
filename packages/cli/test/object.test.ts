import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OneEndpoint } from "../../../test/support/one-endpoint.js";
import { type RunningS3rver, startS3rver } from "../../object-commit/test/stores/s3rver.js";
import { CliWorld, type Result } from "./support.js";

let world: CliWorld;
let store: RunningS3rver;
let file: string;
beforeAll(async () => {
  world = await CliWorld.start({ credentials: "S3RVER" });
  store = await startS3rver();
  file = world.file("body.txt");
  writeFileSync(file, "body");
  const made = await world.run([
    "table",
    "create",
    "--format",
    "object-commit",
    "--table",
    "commits",
  ]);
  expect(made.status).toBe(0);
});
afterAll(async () => {
  await world.close();
  await store.stop();
});

/** Runs the command with all required options; `more` overrides or removes options. */
function object(words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Result> {
  return world.run(["object", ...words], envWith(more));
}

function envWith(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    HOLDFAST_BUCKET: store.bucket,
    HOLDFAST_S3_ENDPOINT: store.url,
    HOLDFAST_COMMIT_TABLE: "commits",
    HOLDFAST_STRATEGY: "dynamo",
    ...more,
  };
}

describe("holdfast object", () => {
  it("puts, shows, replaces, copies and renames", async () => {
    const put = await object(["put", "a", file, "--if-absent", "--wait", "0"]);
    expect(put).toMatchObject({ status: 0, stderr: "" });
    expect(put.stdout).toMatch(/^Object "a" [^\n]*"[0-9a-f]{32}"[^\n]*\bdynamo\b[^\n]*\n$/);
    const shown = await object(["inspect", "a", "--json"]);
    expect(shown.status).toBe(0);
    const { etag, size } = JSON.parse(shown.stdout).object;
    expect(size).toBe(4);

    writeFileSync(world.file("next.txt"), "the next");
    const next = await object(["put", "a", world.file("next.txt"), "--if-match", etag, "--json"]);
    expect(next.status).toBe(0);
    expect(JSON.parse(next.stdout)).toMatchObject({ key: "a", strategy: "dynamo" });
    expect((await object(["copy", "a", "b"])).status).toBe(0);
    expect((await object(["mv", "a", "c"])).status).toBe(0);
    const gone = await object(["inspect", "a"]);
    expect(gone).toMatchObject({ status: 66 });
    expect(gone.stdout).toMatch(/^object +.*\bnone\nrecord +create, generation 0: ended\n/m);
    expect((await object(["inspect", "c"])).stdout).toMatch(/object +8 bytes\netag +"/);
  });

  it("exits with 74 and the present ETag when the condition is false", async () => {
    expect((await object(["put", "there", file, "--if-absent"])).status).toBe(0);
    const etag = '"841a2d689ad86bd1611447453c22c6fc"';
    const again = await object(["put", "there", file, "--if-absent"]);
    expect(again).toMatchObject({ status: 74, stdout: "" });
    expect(again.stderr).toContain(etag);
    const other = await object(["put", "there", file, "--if-match", '"other"', "--json"]);
    expect(other).toMatchObject({ status: 74, stdout: "" });
    expect(JSON.parse(other.stderr).error).toMatchObject({ code: "precondition-failed" });
    const bare = await object(["put", "there", file, "--if-match", etag.replaceAll('"', "")]);
    expect(bare.status).toBe(0);
    expect((await object(["put", "none", file, "--if-match", etag])).status).toBe(74);
    expect((await object(["copy", "there", "there-too"])).status).toBe(0);
    expect((await object(["mv", "there", "there-too"])).status).toBe(74);
  });

  it("exits with 66 when the source or the file is missing", async () => {
    const copy = await object(["copy", "nothing", "to"]);
    expect(copy).toMatchObject({ status: 66 });
    expect(copy.stderr).toMatch(/"nothing".*\bcopied\b/);
    const put = await object(["put", "x", world.file("nothing"), "--if-absent"]);
    expect(put).toMatchObject({ status: 66 });
    expect(put.stderr).toContain("ENOENT");
  });

  it.each<[string, NodeJS.ProcessEnv]>([
    ["store", { HOLDFAST_S3_ENDPOINT: "http://127.0.0.1:1" }],
    ["table", { HOLDFAST_ENDPOINT: "http://127.0.0.1:1" }],
  ])("exits with 69 when the %s does not answer", async (which, env) => {
    const put = await object(["put", "silent", file, "--if-absent", "--wait", "1s"], env);
    expect(put).toMatchObject({ status: 69, stdout: "" });
    const [silent, other] = which === "store" ? ["store", "table"] : ["table", "store"];
    expect(put.stderr).toMatch(new RegExp(`\\b${silent}\\b`));
    expect(put.stderr).not.toMatch(new RegExp(`\\b${other}\\b`));
  });

  it("exits with 69 when the outcome is unknown, and names the commit to look for", async () => {
    const between = await OneEndpoint.start(store.url, world.server.endpoint);
    // Fails from the first write on, so that reading back fails too.
    let isLost = false;
    between.loseAnswers(({ method }) => {
      isLost ||= method === "PUT";
      return isLost;
    });
    const words = ["put", "unknown", file, "--if-absent", "--timeout", "1s", "--json"];
    const put = await object(words, { HOLDFAST_S3_ENDPOINT: between.url });
    await between.stop();
    expect(put).toMatchObject({ status: 69, stdout: "" });
    const { code, message } = JSON.parse(put.stderr).error;
    expect(code).toBe("outcome-unknown");
    const shown = await object(["inspect", "unknown", "--json"]);
    expect(message).toContain(JSON.parse(shown.stdout).object.commitId);
  });

  it("exits with 77 when access is denied, with 78 for a missing or unfit bucket or table", async () => {
    const words = ["object", "put", "d", file, "--if-absent"];
    const denied = await world.spawn(words, envWith({ AWS_ACCESS_KEY_ID: "nobody" })).result;
    expect(denied.status).toBe(77);
    expect(denied.stderr).toMatch(/\bstatus 403\b/);
    const bucket = await object(["put", "d", file, "--if-absent", "--bucket", "none"]);
    expect(bucket.status).toBe(78);
    expect(bucket.stderr).toContain('"none"');
    const missing = await object(["put", "d", file, "--if-absent", "--table", "none"]);
    expect(missing.status).toBe(78);
    expect(missing.stderr).toContain("holdfast table create --format object-commit");
    const locks = await object(["put", "d", file, "--if-absent", "--table", "locks"]);
    expect(locks.status).toBe(78);
    expect(locks.stderr).toContain("holdfast table check --format object-commit");
    const undecided = await object(["put", "d", file, "--if-absent"], {
      HOLDFAST_STRATEGY: "auto",
      HOLDFAST_COMMIT_TABLE: "",
    });
    expect(undecided.status).toBe(78);
    expect(undecided.stderr).toContain("--table");
  });

  it.each<[string, readonly string[], NodeJS.ProcessEnv]>([
    ["neither condition", ["put", "u", "FILE"], {}],
    ["both conditions", ["put", "u", "FILE", "--if-absent", "--if-match", "x"], {}],
    ["no bucket", ["put", "u", "FILE", "--if-absent"], { HOLDFAST_BUCKET: "" }],
    ["no table", ["put", "u", "FILE", "--if-absent"], { HOLDFAST_COMMIT_TABLE: "" }],
    ["an ETag that is none", ["put", "u", "FILE", "--if-match", "*"], {}],
    ["an empty key", ["put", "", "FILE", "--if-absent"], {}],
    ["a copy to itself", ["copy", "u", "u"], {}],
    ["an unknown strategy", ["inspect", "u", "--strategy", "best"], {}],
    ["a duration that is none", ["inspect", "u", "--wait", "long"], {}],
    ["an endpoint that is none", ["inspect", "u", "--s3-endpoint", "here"], {}],
  ])("refuses %s with 64 and one line", async (_what, words, env) => {
    const { status, stdout, stderr } = await object(
      words.map((word) => (word === "FILE" ? file : word)),
      env,
    );
    expect({ status, stdout }).toEqual({ status: 64, stdout: "" });
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  });

  it.each([["put"], ["copy"], ["mv"], ["inspect"]])(
    "explains %s, exit codes included",
    async (name) => {
      const { status, stdout } = await object([name, "--help"]);
      expect(status).toBe(0);
      expect(stdout).toMatch(/Exit status:[\s\S]* 66 [\s\S]* 69 [\s\S]* 74 [\s\S]* 77 [\s\S]* 78 /);
    },
  );
});
