import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { COMMON, ON_SOURCES } from "../../vitest.config.js";

// Tests beside foreign lock clients, which must be built first: npm run interop. The tests mostly wait for leases to
// expire, so more tests than processors can run at once.
export default defineConfig({
  ...ON_SOURCES,
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: { ...COMMON, include: ["test/interop/**/*.test.ts"], exclude: [], maxWorkers: 4 },
});
