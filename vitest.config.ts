import { availableParallelism } from "node:os";
import { configDefaults, defineConfig, type TestProjectConfiguration } from "vitest/config";

/** A test runs on the sources of every package, which `paths` in tsconfig.json names. */
export const ON_SOURCES = { resolve: { tsconfigPaths: true } };

/** What all runs of tests have, however they are told apart. */
export const COMMON = {
  include: ["{test,packages/*/test}/**/*.test.ts"],
  // Needs the toolchains of five languages: npm run interop.
  exclude: [...configDefaults.exclude, "test/interop/**"],
  globalSetup: ["test/support/global-setup.ts"],
  testTimeout: 30_000,
  hookTimeout: 60_000,
};

// Short timeouts in real time: this file needs the processor for itself. Its tests wait, twenty at a time.
const ALONE = ["test/conformance/trouble.test.ts"];

// Each replaces a module, which the others share, or counts the requests of its process for ever.
const ISOLATED = [
  "packages/holdfast/test/telemetry/quiet.test.ts",
  "packages/holdfast/test/platform/random.test.ts",
  "test/bench/meter.test.ts",
];

// Virtual time and tables in memory.
export const IN_MEMORY_FOLDERS = [
  ...[
    "admin",
    "core",
    "election",
    "internal",
    "locks",
    "native",
    "once",
    "coalesce",
    "schedule",
    "assign",
  ].map((folder) => `packages/holdfast/test/${folder}`),
  "packages/formats/test",
];
const IN_MEMORY = IN_MEMORY_FOLDERS.map((folder) => `${folder}/**/*.test.ts`);

// `npm run test:long`: minutes of simulation on code with known errors, exhaustive searches of the models, and tests
// that first install large tools.
const LONG = [
  "test/sim/*variants.test.ts",
  ...["useful", "starvation", "memory", "outage", "exhaustive", "refused"].map(
    (subject) => `test/sim/${subject}.test.ts`,
  ),
  "test/model/**/*.test.ts",
  "packages/holdfast/test/table/as-code/**/*.test.ts",
  "packages/testing/test/jest/**/*.test.ts",
];

// Both: a few seeds of each search in `npm test`, and many in `npm run test:long`.
const SEARCHES = [
  ...[
    ...["simulation", "world", "queue", "companion", "threads", "object-commit", "first-sight"],
    ...["denied", "schedule", "assign", "coalesce"],
  ].map((kind) => `test/sim/${kind}.test.ts`),
  "test/bench/scale.test.ts",
  "packages/formats/test/sightings-simulation.test.ts",
];

// Both: tables of cases, of which `npm test` has the first.
const FURTHER = [
  ...["locks/starvation", "locks/lost-answers", "election/many-candidates"].map(
    (subject) => `packages/holdfast/test/${subject}.test.ts`,
  ),
  "packages/cli/test/engine/diagnose-engine.test.ts",
];

// Both: the suites that run on the server in memory in `npm test`, and on DynamoDB Local in `npm run test:long`.
const ON_BOTH_SERVERS = [
  "packages/object-commit/test/s3rver.test.ts",
  ...[
    ...["condition", "data", "fair-lock", "multi-lock", "mutex", "permits", "port-agreement"],
    ...["unread-refusals", "agreement", "trouble", "late-writes", "lost-responses", "csharp-peer"],
  ].map((suite) => `test/conformance/${suite}.test.ts`),
];

// Also `npm run test:long`: real processes that the tests kill, stop and cut off. Most of them wait for the end of a lease.
const PROCESSES = ["test/process/**/*.test.ts"];
// Many processes at a time: each of these files needs all processors.
const CROWDS = [
  "test/chaos/**/*.test.ts",
  "test/process/contenders.test.ts",
  "test/process/sessions.test.ts",
];

// Once a run, and not once a project.
const { globalSetup, ...OF_A_PROJECT } = COMMON;

// Twice the processors: most of these files wait for processes and servers.
const WAITING_WORKERS = 2 * availableParallelism();

/** One group of files. Groups run in the order of `groupOrder`. */
function project(
  name: string,
  groupOrder: number,
  files: { readonly include?: string[]; readonly exclude?: string[] },
  maxWorkers: number | string,
  more: {
    readonly isolate?: boolean;
    readonly maxConcurrency?: number;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): TestProjectConfiguration {
  return {
    ...ON_SOURCES,
    test: {
      ...OF_A_PROJECT,
      name,
      include: files.include ?? COMMON.include,
      exclude: [...COMMON.exclude, ...(files.exclude ?? [])],
      maxWorkers,
      ...more,
      sequence: { groupOrder },
    },
  };
}

export default defineConfig({
  test: {
    globalSetup,
    // A file is transformed again only after a change: a tenth of the time of a run.
    experimental: { fsModuleCache: true },
    projects: [
      // At least one worker for each processor, where the default leaves one idle.
      // The files of these two groups share what they import: a worker needs 0.4 s for the imports of each file. A test that
      // changes its process or a module tidies up, or is alone.
      project("in-memory", 0, { include: IN_MEMORY }, "100%", { isolate: false }),
      project(
        "together",
        1,
        { exclude: [...ALONE, ...ISOLATED, ...IN_MEMORY, ...LONG, ...PROCESSES, ...CROWDS] },
        WAITING_WORKERS,
        { isolate: false },
      ),
      project("isolated", 1, { include: ISOLATED }, WAITING_WORKERS),
      project("alone", 2, { include: ALONE }, 1, { maxConcurrency: 20 }),
      // Two tests of a file at a time: each needs a processor. More of them would only take longer each, up to their timeouts.
      project("long", 3, { include: [...LONG, ...SEARCHES, ...FURTHER] }, "100%", {
        maxConcurrency: 2,
        env: { HOLDFAST_TESTS: "long" },
      }),
      // Real time, as all that follow.
      project("servers", 4, { include: ON_BOTH_SERVERS }, WAITING_WORKERS, {
        env: { HOLDFAST_TESTS: "long" },
      }),
      // Most of their time they wait.
      project("processes", 5, { include: PROCESSES, exclude: CROWDS }, WAITING_WORKERS),
      project("crowds", 6, { include: CROWDS }, 1),
    ],
  },
});
