import type { Json } from "../../internal/json-value.js";
import type { Item } from "../../platform/table.js";

/** A name of two parts, for a table with a sort key: partition key and sort key. */
export type CompositeName = readonly [partitionKey: string, sortKey: string];

/** What a lock can be called; which of the two, its format says. */
export type LockName = string | CompositeName;

/** What the leases of a format are like: for the types alone, there is no object of it. */
export interface FormatTypes {
  /** What a lock is called. */
  readonly name: LockName;
  /** What user data are. */
  readonly data: unknown;
  /** Further attributes that a record carries for its users; undefined where there are none. */
  readonly attributes: Item | undefined;
  /** A number that grows with every grant; undefined where a lease has none. */
  readonly fence: bigint | undefined;
  /** Whether that number is kept beside the record, in its companion; left out: in the record itself. */
  readonly hasCompanion?: boolean;
}

/** The leases of the native format. */
export interface NativeTypes extends FormatTypes {
  readonly name: string;
  readonly data: Json;
  readonly attributes: undefined;
  readonly fence: bigint;
}

/**
 * How records look in a table, so that a client shares it with other clients; given to `Holdfast` as
 * `format`. One format for a table: what is found in another is named, and never stolen.
 */
export interface LockFormat<S extends FormatTypes = FormatTypes> {
  /** How messages call it. */
  readonly name: string;
  /** Never there: it lets the types know what the format's leases are like. */
  readonly leases?: S;
}
