// Bundles and runs the outage drill: node scripts/drill.mjs --help.
import { runBundled } from "./lib/bundle.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

await runBundled("verification/sim/outage/main.ts");
