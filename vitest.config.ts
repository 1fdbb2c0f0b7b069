import { configDefaults, defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Needs the toolchains of five languages: npm run interop.
    exclude: [...configDefaults.exclude, "test/interop/**"],
    globalSetup: ["test/support/global-setup.ts"],
    // One for each processor, where the default leaves one idle: most files wait for processes and servers.
    maxWorkers: "100%",
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
