// Bundles and runs the outage drill: npm run drill -- --help.
import { runBundled } from "./lib/bundle.mjs";

await runBundled("verification/sim/outage/main.ts");
