// Bundles and runs the simulation: npm run sim -- --help.
import { runBundled } from "./lib/bundle.mjs";

await runBundled("verification/sim/main.ts");
