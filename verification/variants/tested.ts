import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { bundle, bundlesIn } from "./bundle.js";
import { literally } from "./patch.js";
import type { InTest, Variant } from "./variant.js";

/** A variant which a test must catch. */
export type Tested = Variant & { readonly caughtBy: InTest };

/** The result of a test file, with a variant's defect or without. */
export interface FileResult {
  /** The variant's name, or {@link AS_IT_IS}. */
  readonly project: string;
  readonly file: string;
  /** Why the file could not run. */
  readonly errors: readonly string[];
  readonly tests: readonly { readonly title: string; readonly state: string }[];
}

/** The project without a defect, and its folder. */
export const AS_IT_IS = "as-it-is";

/** Converts a title to a pattern: placeholders of `it.each` match any text. */
function patternOf(title: string): string {
  return title
    .split(/%[sidfjo]|\$\w+/)
    .map(literally)
    .join(".*");
}

/**
 * The longest run, for each variant: ten times what one takes on two free processors. A defect can make a test endless, and
 * then the run ends here.
 */
export const LONGEST_RUN_MS = 5_000;
const LEAST_MS = 300_000;
/** The code of a test, which Node itself loads: Vitest would parse each bundle of two megabytes, and write it anew. */
const CODE_END = ".code.mjs";
/** Enough for all processors. */
const BUNDLES_AT_ONCE = 16;

/** A test file with the named tests, for a variant's defect or for the original code. */
interface Run {
  readonly project: string;
  readonly variant?: Tested;
  readonly file: string;
  readonly named: string;
}

function runsOf(variants: readonly Tested[]): Run[] {
  const named = ({ caughtBy }: Tested): string => `^${patternOf(caughtBy.title)}$`;
  const files = [...new Set(variants.map(({ caughtBy }) => caughtBy.test))];
  const all = variants.map(named).join("|");
  return [
    ...files.map((file) => ({ project: AS_IT_IS, file, named: all })),
    ...variants.map((variant) => ({
      project: variant.name,
      variant,
      file: variant.caughtBy.test,
      named: named(variant),
    })),
  ];
}

/** Runs the named tests, on the original code and with each variant's defect. */
export async function runTests(root: string, variants: readonly Tested[]): Promise<FileResult[]> {
  const runs = runsOf(variants);
  await mkdir(bundlesIn(root), { recursive: true });
  // A separate folder, since two runs may overlap.
  const folder = await mkdtemp(join(bundlesIn(root), "tests-"));
  const testOf = ({ project, file }: Run): string =>
    join(folder, project, file.replace(/\.ts$/, ".mjs"));
  try {
    // One bundle each: Vitest would transform every source file again for each of many projects, which took minutes. Some at a
    // time: all together take gigabytes.
    const left = [...runs];
    const bundling = async (): Promise<void> => {
      for (let run = left.pop(); run !== undefined; run = left.pop()) {
        const test = testOf(run);
        const code = test.replace(/\.test\.mjs$/, CODE_END);
        await bundle(root, run.variant, code, {
          stdin: {
            contents: `import "./verification/variants/only-named.ts";\nimport "./${run.file}";`,
            resolveDir: root,
          },
          define: { HOLDFAST_NAMED: JSON.stringify(run.named) },
          // The package's manifest declares no side effects; its tests are nothing but side effects.
          ignoreAnnotations: true,
        });
        await writeFile(test, `import "./${basename(code)}";\n`);
      }
    };
    await Promise.all(Array.from({ length: BUNDLES_AT_ONCE }, bundling));
    const report = join(folder, "report.json");
    await vitestIn(root, folder, report, Math.max(LEAST_MS, variants.length * LONGEST_RUN_MS));
    const byPath = new Map(runs.map((run) => [testOf(run), run]));
    const results = JSON.parse(await readFile(report, "utf8")) as readonly BundleResult[];
    return results.flatMap(({ path, errors, tests }) => {
      const run = byPath.get(path);
      return run === undefined ? [] : [{ project: run.project, file: run.file, errors, tests }];
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The result of a test file, as written by the reporter in `vitest.config.ts`. */
export interface BundleResult extends Pick<FileResult, "errors" | "tests"> {
  readonly path: string;
}

async function vitestIn(
  root: string,
  folder: string,
  report: string,
  longestMs: number,
): Promise<void> {
  // In their short form: each defect shows in the first seeds of a simulation, whose long form takes minutes.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("VITEST") && name !== "HOLDFAST_TESTS",
  );
  const env = {
    ...Object.fromEntries(inherited),
    HOLDFAST_KNOWN_BAD: folder,
    HOLDFAST_KNOWN_BAD_REPORT: report,
  };
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--config", join(root, "verification/variants/vitest.config.ts")];
  await new Promise((resolve, reject) => {
    // With a defect a test can be endless, and the run leaves no report. Its output is of no use: these tests are
    // meant to fail.
    const running = spawn(process.execPath, args, {
      cwd: root,
      env,
      stdio: "ignore",
      timeout: longestMs,
    });
    running.once("error", reject).once("exit", resolve);
  });
}

/** Returns why a variant does not count as caught by its test; undefined if it does. */
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
