// The tests that also run on another server with DynamoDB's API, for `node scripts/engines/run.mjs` and `node scripts/aws.mjs`.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, ROOT } from "./projects.mjs";

const SUITES = {
  conformance: [
    "--project=together",
    "--project=alone",
    "test/conformance",
    "packages/holdfast/test/table/table.test.ts",
  ],
  processes: [
    "--project=processes",
    "--project=crowds",
    "test/process/sessions.test.ts",
    "test/process/first-sight.test.ts",
  ],
};
const SELECTED = "on the engine: ";
const LIMIT_MS = 900_000;

/** Runs a program to its end without blocking, since a server's output must be read meanwhile. */
export function outcomeOf(command, args, env, { limitMs = LIMIT_MS, signal } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env }, signal });
    const late = setTimeout(() => child.kill(), limitMs);
    const text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].on("data", (chunk) => {
        text[name] = `${text[name]}${chunk}`.slice(-1_000_000);
      });
    }
    child.once("error", reject);
    child.once("close", (status) => {
      clearTimeout(late);
      resolve({ status, ...text });
    });
  });
}

/** Runs the tests of a suite on an engine. Tests that did not run, for example after a failed set-up, count as failed. */
export async function runSuite(endpoint, suite, options) {
  const report = join(cacheFolder("engines"), `${suite}.json`);
  // The report of a former run must not count for a run that wrote none.
  rmSync(report, { force: true });
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const flags = ["-t", SELECTED, "--reporter=json", `--outputFile=${report}`];
  const words = [vitest, "run", ...SUITES[suite], ...flags];
  await outcomeOf(process.execPath, words, { HOLDFAST_TEST_ENDPOINT: endpoint }, options);
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  const results = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ fullName }) => fullName.startsWith(SELECTED))
      .map(({ title, status }) => ({ file: name.split("/").at(-1), title, status })),
  );
  if (results.length === 0) throw new Error(`The suite ${suite} ran no test.`);
  return {
    passed: results.filter(({ status }) => status === "passed").length,
    failed: results.filter(({ status }) => status !== "passed"),
  };
}
