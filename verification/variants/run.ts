import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Caught } from "../exhaustive/hunt.js";
import type { Violation } from "../sim/history.js";
import { bundle, bundlesIn } from "./bundle.js";
import { ANY_INVARIANT, ANY_WORLD, type Found } from "./hunt-options.js";
import type { InSimulation, Variant } from "./variant.js";

/** Some variants make a run endless; no hunt in one range takes this long, in milliseconds. */
const LONGEST_HUNT_MS = 600_000;

/** Hunts for a variant with its own catcher, in ranges from these seeds, each as long as the variant allows. */
export function huntFor(
  root: string,
  variant: Variant & { readonly caughtBy: InSimulation },
  from: readonly number[],
): Promise<Found[]> {
  return hunt(root, variant, variant.caughtBy, from);
}

/** Hunts in runs of the world for a variant, or in the code as it is: any checker may reject a run. */
export function huntInWorld(
  root: string,
  variant: Variant | undefined,
  from: readonly number[],
  within: number,
): Promise<Found[]> {
  return hunt(root, variant, { invariant: ANY_INVARIANT, within, of: ANY_WORLD }, from);
}

/** Hunts for a variant, or in the code as it is, with every placement of one fault. */
export async function huntByPlacements(
  root: string,
  variant: Variant | undefined,
): Promise<Caught | null> {
  const name = `placed-${variant?.name ?? "as-it-is"}`;
  const hunting = join(bundlesIn(root), `${name}.mjs`);
  await bundle(root, variant, hunting, {
    entryPoints: [join(root, "verification/exhaustive/hunt.ts")],
  });
  const output = await outputOf(name, [hunting], LONGEST_HUNT_MS);
  return JSON.parse(output.trim().split("\n")[0] ?? "null") as Caught | null;
}

/** Runs one placement, given by its name, with a variant's defect. */
export async function violationsOf(
  root: string,
  variant: Pick<Variant, "name" | "edits">,
  placement: string,
): Promise<Violation[]> {
  const name = `one-${variant.name}`;
  const running = join(bundlesIn(root), `${name}.mjs`);
  await bundle(root, variant, running, {
    entryPoints: [join(root, "verification/exhaustive/one.ts")],
  });
  return JSON.parse(await outputOf(name, [running, placement], LONGEST_HUNT_MS)) as Violation[];
}

/** What a hunt looks for, where, and in how many seeds. */
interface Hunted {
  readonly invariant: string;
  readonly within: number;
  readonly of?: string | undefined;
}

async function hunt(
  root: string,
  variant: Variant | undefined,
  { invariant, within, of }: Hunted,
  from: readonly number[],
): Promise<Found[]> {
  const name = variant === undefined ? "as-it-is" : `bad-${variant.name}`;
  const hunting = join(bundlesIn(root), `${name}.mjs`);
  const entryPoints = [join(root, "verification/variants/hunt.ts")];
  await bundle(root, variant, hunting, { entryPoints });
  const args = [
    hunting,
    ...["--invariant", invariant, "--within", String(within)],
    ...(of === undefined ? [] : ["--of", of]),
    ...from.flatMap((seed) => ["--from", String(seed)]),
  ];
  const output = await outputOf(name, args, LONGEST_HUNT_MS * from.length);
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Found);
}

function outputOf(name: string, args: readonly string[], timeout: number): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { timeout }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${name}: ${error.message}\n${stdout}`));
    });
  });
}
