import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { bundle, bundlesIn } from "./bundle.js";
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

/** One test file, of which the named tests run, with one variant's error in the code, or without any. */
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

/** Runs the named tests, on the code as it is and with each variant's error in it. */
export async function runTests(root: string, variants: readonly Tested[]): Promise<FileResult[]> {
  const runs = runsOf(variants);
  await mkdir(bundlesIn(root), { recursive: true });
  // Of its own: two runs may be made at once.
  const folder = await mkdtemp(join(bundlesIn(root), "tests-"));
  const bundleOf = ({ project, file }: Run): string =>
    join(folder, project.replaceAll(" ", "-"), file.replace(/\.ts$/, ".mjs"));
  try {
    // One file each: Vitest transforms every source file anew for each of many projects, which took minutes.
    await Promise.all(
      runs.map((run) =>
        bundle(root, run.variant, bundleOf(run), {
          stdin: {
            contents: `import "./verification/variants/only-named.ts";\nimport "./${run.file}";`,
            resolveDir: root,
          },
          define: { HOLDFAST_NAMED: JSON.stringify(run.named) },
          // The package has no side effects, as its manifest says; its tests are nothing else.
          ignoreAnnotations: true,
        }),
      ),
    );
    const report = join(folder, "report.json");
    await vitestIn(root, folder, report);
    const byBundle = new Map(runs.map((run) => [bundleOf(run), run]));
    const results = JSON.parse(await readFile(report, "utf8")) as readonly BundleResult[];
    return results.flatMap(({ bundle: path, errors, tests }) => {
      const run = byBundle.get(path);
      return run === undefined ? [] : [{ project: run.project, file: run.file, errors, tests }];
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of one bundle, as the reporter of `vitest.config.ts` writes it. */
export interface BundleResult extends Pick<FileResult, "errors" | "tests"> {
  /** Its path. */
  readonly bundle: string;
}

async function vitestIn(root: string, folder: string, report: string): Promise<void> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const env = {
    ...Object.fromEntries(inherited),
    HOLDFAST_KNOWN_BAD: folder,
    HOLDFAST_KNOWN_BAD_REPORT: report,
  };
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--config", join(root, "verification/variants/vitest.config.ts")];
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
