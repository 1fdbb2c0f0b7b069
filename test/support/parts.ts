import type { FormatTypes } from "../../packages/holdfast/src/core/record/format-types.js";
import type { Lease } from "../../packages/holdfast/src/index.js";

/** The fences of the locks of a lease, by name. */
export function fencesOf({ parts }: Lease<FormatTypes>): ReadonlyMap<string, bigint> {
  return new Map(parts.map(({ name, fence }) => [name, fence as bigint]));
}

/** The holder ids of the locks of a lease, by name. */
export function holdersOf({ parts }: Lease<FormatTypes>): ReadonlyMap<string, string> {
  return new Map(parts.map(({ name, holder }) => [name, holder]));
}
