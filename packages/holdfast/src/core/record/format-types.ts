import type { Json } from "../../internal/json-value.js";
import type { Item } from "../../platform/table.js";

/** A name of two parts, for a table with a sort key: partition key and sort key. */
export type CompositeName = readonly [partitionKey: string, sortKey: string];

/** The name of a lock. The format decides whether the name has one part or two. */
export type LockName = string | CompositeName;

/** The types of a format's leases. A type only: no object has this shape. */
export interface FormatTypes {
  /** The name of a lock. */
  readonly name: LockName;
  /** User data. */
  readonly data: unknown;
  /** Further attributes of a record for its users, or undefined if the format does not support them. */
  readonly attributes: Item | undefined;
  /** A number that grows with every grant, or undefined if a lease has no fence. */
  readonly fence: bigint | undefined;
  /** Whether a companion item beside the record stores the fence. Without it, the record itself stores the fence. */
  readonly hasCompanion?: boolean;
  /** The types of the parts of a lease of several locks. Without it, a lease is its only part. */
  readonly parts?: FormatTypes;
}

/** The leases of the native format. */
export interface NativeTypes extends FormatTypes {
  readonly name: string;
  readonly data: Json;
  readonly attributes: undefined;
  readonly fence: bigint;
}

/**
 * Describes how records look in a table that other clients share. It is the value of the option `format` of `Holdfast`.
 * A table has one format. If a client finds a record of another format, its error names that format if it is known, and
 * the client never takes the record.
 */
export interface LockFormat<S extends FormatTypes = FormatTypes> {
  /** The format's name in messages. */
  readonly name: string;
  /** Never set: carries the types of the format's leases. */
  readonly leases?: S;
}
