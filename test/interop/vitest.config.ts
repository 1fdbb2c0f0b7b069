import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { COMMON } from "../../vitest.config.js";

// Tests beside other lock clients, which have to be built first: npm run interop. Most of the time they wait for
// leases to run out, so that more of them than there are processors can run at once.
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: { ...COMMON, include: ["test/interop/**/*.test.ts"], exclude: [], maxWorkers: 4 },
});
