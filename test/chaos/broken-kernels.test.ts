import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { BROKEN, brokenKernel } from "../../scripts/lib/broken-kernels.mjs";

const WORKER = fileURLToPath(new URL("../../verification/chaos/worker.ts", import.meta.url));

async function bundle(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [WORKER],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "silent",
    write: false,
    plugins: [brokenKernel(name)],
  });
  return outputFiles[0]?.text ?? "";
}

describe("the broken kernels of a chaos run", () => {
  it.each(Object.keys(BROKEN))("%s fits the code of today", async (name) => {
    expect(await bundle(name)).not.toBe("");
  });

  it("end with an error that lists the names, for an unknown name", () => {
    expect(() => brokenKernel("none")).toThrow("deadline, watch, session, guard, permits, wall");
  });
});
