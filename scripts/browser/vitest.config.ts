import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/cli/test/browser/**/*.browser.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    reporters: ["verbose"],
  },
});
