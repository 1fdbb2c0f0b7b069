import { execFile } from "node:child_process";
import { join } from "node:path";
import { bundle, bundlesIn } from "./bundle.js";
import type { Found } from "./hunt.js";
import type { InSimulation, Variant } from "./variant.js";

/** Some variants make a run endless; no hunt in one range takes this long, in milliseconds. */
const LONGEST_HUNT_MS = 600_000;

/** Hunts for a variant in ranges from these seeds, each as long as the variant allows. */
export async function huntFor(
  root: string,
  variant: Variant & { readonly caughtBy: InSimulation },
  from: readonly number[],
): Promise<Found[]> {
  const { invariant, within, of } = variant.caughtBy;
  const hunt = join(bundlesIn(root), `bad-${variant.name}.mjs`);
  await bundle(root, variant, hunt, { entryPoints: [join(root, "verification/variants/hunt.ts")] });
  const args = [
    hunt,
    "--invariant",
    invariant,
    "--within",
    String(within),
    ...(of === undefined ? [] : ["--of", of]),
  ];
  const ranges = from.flatMap((seed) => ["--from", String(seed)]);
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [...args, ...ranges],
      { timeout: LONGEST_HUNT_MS * from.length },
      (error, stdout) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`Variant "${variant.name}": ${error.message}\n${stdout}`));
      },
    );
  });
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Found);
}
