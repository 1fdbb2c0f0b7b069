import { GRANTS } from "./grants.js";
import { HOLDS } from "./holds.js";
import { RELEASES } from "./releases.js";
import { SURROUNDINGS } from "./surroundings.js";
import type { Variant } from "./variant.js";
import { WATCHES } from "./watches.js";

/** Every known-bad variant. */
export const VARIANTS: readonly Variant[] = [
  ...GRANTS,
  ...WATCHES,
  ...HOLDS,
  ...RELEASES,
  ...SURROUNDINGS,
];
