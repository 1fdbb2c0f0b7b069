// Bundles and runs the hunt for the core's known-bad variants: npm run sim:variants -- --help.
import { runBundled } from "./lib/bundle.mjs";

await runBundled("verification/variants/main.ts");
