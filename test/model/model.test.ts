import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MODELS } from "../../scripts/lib/models.mjs";

const SCRIPT = fileURLToPath(new URL("../../scripts/model.mjs", import.meta.url));

function runs(program: string, flag: string): boolean {
  return spawnSync(program, [flag], { stdio: "ignore" }).status === 0;
}

const isChecked = runs("spin", "-V") && runs("gcc", "--version");
const SKIPPED =
  "SKIPPED: the models of the protocol (verification/model/*.pml) and their mutants are not checked, " +
  "because `spin` or `gcc` does not run here. On Debian or Ubuntu: apt-get install spin gcc.";
if (!isChecked) console.warn(SKIPPED);

describe("the models of the protocol", () => {
  // Exactly one of both tests runs: a skipped suite must be visible, and must fail in CI.
  if (!isChecked) {
    it("is skipped without spin or gcc, but never with CI=true", () => {
      expect(process.env["CI"], SKIPPED).not.toBe("true");
    });
    return;
  }

  // Each test mostly waits for a compiler or a search, so concurrent tests take half as long.
  it.concurrent.each(MODELS)(
    "$name.pml holds every invariant within the short bounds, and each mutant breaks its own",
    async ({ name }) => {
      const checking = spawn(process.execPath, [SCRIPT, "--short", "--only", name], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [output, errors, [status]] = await Promise.all([
        text(checking.stdout),
        text(checking.stderr),
        once(checking, "exit"),
      ]);
      expect(status, output + errors).toBe(0);
    },
    300_000,
  );
});
