// Bundles and runs the search through every placement of faults: node scripts/exhaustive.mjs --help.
import { runBundled } from "./lib/bundle.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

await runBundled("verification/exhaustive/main.ts");
