import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** The built library, as a program uses it. */
const PROGRAM = `
import { Holdfast, mutex } from "holdfast";
import { MemoryDynamoDB, memoryClient } from "@holdfast/testing";
import { createTable } from "holdfast/table";
const client = memoryClient(new MemoryDynamoDB({ nowMs: () => Date.now() }));
await createTable({ client, table: "locks" });
const [one, other] = ["one\\u202e", "other"].map((owner) => new Holdfast({ client, table: "locks", owner }));
const lease = await mutex(one, "a").acquire();
await mutex(other, "a").acquire({ wait: "1ms" }).catch(() => undefined);
await lease.release();
await Promise.all([one.close(), other.close()]);
`;

const stderrWith = async (env: object): Promise<string> => {
  const words = ["--no-warnings", "--input-type=module", "--eval", PROGRAM];
  const options = { cwd: ROOT, env: { ...process.env, ...env } };
  return (await promisify(execFile)(process.execPath, words, options)).stderr;
};

it("prints each step of a lock on one line with HOLDFAST_DEBUG=1", async () => {
  const lines = (await stderrWith({ HOLDFAST_DEBUG: "1" })).trim().split("\n");
  for (const line of lines)
    expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z holdfast:[a-z:]+ \{ .* \}$/);
  const steps = lines.filter((line) => line.includes(" holdfast:lease:"));
  expect(steps.map((line) => / holdfast:lease:(\w+) /.exec(line)?.[1])).toEqual([
    "grant",
    "wait",
    "refusal",
    "release",
  ]);
  for (const step of steps) expect(step).toContain("kind: 'lock', name: 'a', owner: ");
  expect(steps[0]).toContain("owner: 'one\\u202e'");
  expect(steps[0]).toMatch(/, fence: \d+n, how: .claim.,/);
  // Each step has its requests, which belong to no lock.
  expect(lines.filter((line) => line.includes(" holdfast:request "))).toEqual([]);
});

it.each([{}, { HOLDFAST_DEBUG: "" }])("prints nothing with %j", async (env) => {
  expect(await stderrWith(env)).toBe("");
});
