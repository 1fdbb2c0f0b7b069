// Bundles and runs the simulation: npm run sim -- --help.
import { spawnSync } from "node:child_process";
import { bundleSimulation } from "./lib/sim-bundle.mjs";

const { status } = spawnSync(
  process.execPath,
  [await bundleSimulation(), ...process.argv.slice(2)],
  { stdio: "inherit" },
);
process.exitCode = status ?? 1;
