/**
 * Coalesced calls: run now; or, if the work runs anywhere, once more after it. The subpath `holdfast/coalesce`.
 * @module
 */

export { type CoalesceResult, coalesce, runOwed } from "./coalesce.js";
export type { CoalesceOptions } from "./options.js";
