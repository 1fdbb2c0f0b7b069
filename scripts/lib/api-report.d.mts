import type { Subpath } from "./entries.mjs";

/** The report of a subpath, from the declarations of the last build. */
export function apiReport(one: Subpath): string;
