// Runs Biome: npm run lint, npm run format.
import { spawnSync } from "node:child_process";
import { ROOT } from "../lib/entries.mjs";
import { toolCommand } from "../lib/tools.mjs";

const biome = toolCommand("biome");
const { status } = spawnSync(biome, process.argv.slice(2), { cwd: ROOT, stdio: "inherit" });
process.exitCode = status ?? 1;
