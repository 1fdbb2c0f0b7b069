import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../../vitest.config.js";

// Tests beside other lock clients, which have to be built first: npm run interop.
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: { ...base.test, include: ["test/interop/**/*.test.ts"], exclude: [] },
});
