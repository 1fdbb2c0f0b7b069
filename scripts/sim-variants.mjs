// Bundles and runs the hunt for the core's known-bad variants: node scripts/sim-variants.mjs --help.
import { runBundled } from "./lib/bundle.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

await runBundled("verification/variants/main.ts");
