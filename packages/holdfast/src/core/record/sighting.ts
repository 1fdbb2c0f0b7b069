import type { Version } from "./record.js";

/** Says that a client has seen a held record. An item beside the record stores it, and it stays true for ever. */
export interface Sighting {
  readonly holder: string;
  readonly version: Version;
  readonly leaseMs: number;
  /** An upper bound of the table's time when the client saw the record, in milliseconds since 1970. */
  readonly byMs: number;
}
