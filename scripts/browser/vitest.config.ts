import { defineConfig } from "vitest/config";
import { ON_SOURCES } from "../../vitest.config.js";

export default defineConfig({
  ...ON_SOURCES,
  test: {
    include: ["packages/cli/test/browser/**/*.browser.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    reporters: ["verbose"],
  },
});
