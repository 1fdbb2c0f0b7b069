import { UnusedEdits } from "./bundle.js";
import { huntInWorld } from "./run.js";
import { firstSeedOf, type Variant } from "./variant.js";

/** The longest hunt in the world, in seeds: forty of each kind. */
export const WORLD_SEEDS = 280;

/**
 * Returns the number of seeds until a run of the world fails. Null if none of {@link WORLD_SEEDS} does, or if no run
 * uses the changed code. Without a variant, hunts in the code as it is.
 */
export async function seedsInWorld(root: string, variant?: Variant): Promise<number | null> {
  try {
    const [found] = await huntInWorld(root, variant, [firstSeedOf(1)], WORLD_SEEDS);
    return found?.seeds ?? null;
  } catch (error) {
    if (error instanceof UnusedEdits) return null;
    throw error;
  }
}

/** Rejects if the code without a defect fails: then the world could not tell a defect. */
export async function expectSound(root: string): Promise<void> {
  const seeds = await seedsInWorld(root);
  if (seeds !== null)
    throw new Error(`Without a defect, a run of the world fails after ${seeds} seeds.`);
}
