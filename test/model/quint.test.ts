import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../scripts/quint.mjs", import.meta.url));

function run(...options: string[]) {
  return spawn(process.execPath, [SCRIPT, ...options], { stdio: ["ignore", "pipe", "pipe"] });
}

describe("the second model of the lease", () => {
  it("keeps every invariant in random runs, and each broken rule breaks its own", async () => {
    const simulating = run("--short", "--seed", `${Math.floor(Math.random() * 1e9)}`);
    const [output, errors, [status]] = await Promise.all([
      text(simulating.stdout),
      text(simulating.stderr),
      once(simulating, "exit"),
    ]);
    expect(status, output + errors).toBe(0);
  }, 300_000);

  it("names the rules if it is asked for another one", async () => {
    const simulating = run("--only", "drift");
    const [errors, [status]] = await Promise.all([
      text(simulating.stderr),
      once(simulating, "exit"),
    ]);
    expect(status).toBe(1);
    expect(errors).toContain('No rule is called "drift". The rules are "margin of the holder", ');
  });
});
