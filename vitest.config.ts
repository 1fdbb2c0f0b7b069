import { configDefaults, defineConfig, type TestProjectConfiguration } from "vitest/config";

/** What all runs of tests have, however they are told apart. */
export const COMMON = {
  include: ["test/**/*.test.ts"],
  // Needs the toolchains of five languages: npm run interop.
  exclude: [...configDefaults.exclude, "test/interop/**"],
  globalSetup: ["test/support/global-setup.ts"],
  testTimeout: 30_000,
  hookTimeout: 60_000,
};

// Real processes, and requests with short timeouts, in real time: what they are given allows for no other work.
const ALONE = [
  "test/process/**/*.test.ts",
  "test/chaos/**/*.test.ts",
  "test/conformance/trouble.test.ts",
];

const projects: TestProjectConfiguration[] = [
  {
    test: {
      ...COMMON,
      name: "together",
      exclude: [...COMMON.exclude, ...ALONE],
      // One for each processor, where the default leaves one idle: most files wait for processes and servers.
      maxWorkers: "100%",
      sequence: { groupOrder: 0 },
    },
  },
  {
    test: {
      ...COMMON,
      name: "alone",
      include: ALONE,
      maxWorkers: 1,
      sequence: { groupOrder: 1 },
    },
  },
];

export default defineConfig({ test: { projects } });
