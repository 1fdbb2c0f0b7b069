import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InTest, Variant } from "./variant.js";

/** A variant that a test must catch. */
export type Tested = Variant & { readonly caughtBy: InTest };

/** What the run of one test file with one variant's error, or without any, came to. */
export interface FileResult {
  /** The variant's name, or {@link AS_IT_IS}. */
  readonly project: string;
  readonly file: string;
  /** Why the file could not be run. */
  readonly errors: readonly string[];
  readonly tests: readonly { readonly title: string; readonly state: string }[];
}

/** The project in which the code has no error in it. */
export const AS_IT_IS = "as it is";

/** A title as a pattern: what `it.each` puts into it may be anything. */
export function patternOf(title: string): string {
  return title
    .split(/%[sidfjo]|\$\w+/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
}

const LONGEST_RUN_MS = 280_000;

/** Runs the named tests, on the code as it is and with each variant's error in it. */
export async function runTests(root: string, variants: readonly Tested[]): Promise<FileResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-variants-"));
  const report = join(folder, "report.json");
  try {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
    const env = {
      ...Object.fromEntries(inherited),
      HOLDFAST_KNOWN_BAD: variants.map(({ name }) => name).join(","),
      HOLDFAST_KNOWN_BAD_REPORT: report,
    };
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", "--config", join(root, "sim/variants/vitest.config.ts")];
    await new Promise((resolve, reject) => {
      // An error can make a test run for ever; then there is no report. Whatever it prints is about tests that are meant to fail.
      const running = spawn(process.execPath, args, {
        cwd: root,
        env,
        stdio: "ignore",
        timeout: LONGEST_RUN_MS,
      });
      running.once("error", reject).once("exit", resolve);
    });
    return JSON.parse(await readFile(report, "utf8")) as FileResult[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Why a variant does not count as caught by its test; undefined if it does. */
export function notCaught(variant: Tested, results: readonly FileResult[]): string | undefined {
  const { test, title } = variant.caughtBy;
  const named = new RegExp(`^${patternOf(title)}$`);
  const statesIn = (project: string): string[] => {
    const result = results.find((one) => one.project === project && one.file === test);
    if (result === undefined) return ["not run"];
    if (result.errors.length > 0) return [`not loaded: ${result.errors.join("; ")}`];
    return result.tests.filter((one) => named.test(one.title)).map(({ state }) => state);
  };
  const good = statesIn(AS_IT_IS);
  if (good.length === 0) return `${test} has no test "${title}"`;
  if (good.some((state) => state !== "passed")) return `without it: ${good.join(", ")}`;
  const bad = statesIn(variant.name);
  return bad.includes("failed") ? undefined : `with it: ${[...new Set(bad)].join(", ")}`;
}
