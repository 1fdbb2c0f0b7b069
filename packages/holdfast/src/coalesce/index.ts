/**
 * Coalesced calls: run now; or, if the work runs anywhere, once more after it. The subpath `holdfast/coalesce`.
 * @module
 */

export { coalesce, runOwed } from "./coalesce.js";
export type { CoalesceOptions } from "./options.js";
export type { CoalesceResult } from "./work.js";
