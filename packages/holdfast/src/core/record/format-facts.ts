import type { Duration } from "../../internal/duration.js";

/** Whether a grant replaces or keeps the user data in the record. */
export type ExistingData = "replace" | "keep";

/** The constant properties of a format, as data. */
export interface FormatFacts {
  /** The schema of the table. */
  readonly schema: {
    readonly keys: { readonly pk: string; readonly sk: string | null };
    /** The attribute for TTL, or null if TTL must be off. */
    readonly ttlAttribute: string | null;
  };
  /** The DynamoDB writes that a holder sends by default (`hold`), and a client that only frees records (`free`). */
  readonly writes: { readonly hold: readonly string[]; readonly free: readonly string[] };
  /** The format's own defaults. Without them, the defaults of the native format apply. */
  readonly defaults?: LeaseDefaults;
  /** The most bytes in a name. Set if the key is the name alone. Default 1,900: the key then starts with a kind. */
  readonly longestNameBytes?: number;
  /** Whether a record contains a fence: a number that grows with every grant. */
  readonly recordsHaveFences: boolean;
  /** Whether a release may delete the record. If so, no record shows which client freed the lock. */
  readonly releaseMayDelete: boolean;
  /**
   * Whether a write that frees a record must store a new id, so that the record differs from every earlier
   * observation.
   */
  readonly freeNeedsMark: boolean;
  /** Whether each record has the end of its lease, which a holder takes from its wall clock if answers have no `Date`. */
  readonly endsByWallClock?: boolean;
}

/** The defaults of a format: lengths of time, and whether user data are kept. */
export interface LeaseDefaults {
  readonly lease: Duration;
  /** A holder renews after this fraction of its lease, whatever the lease's length: 4 means a quarter. */
  readonly renewsPerLease: number;
  /** The default `wait`: a duration, or the time to add to the watch of the longest lease. */
  readonly wait: Duration | { readonly beyondLease: Duration };
  /** The shortest default wait, however short the lease. Default 0. */
  readonly leastWait?: Duration;
  readonly minPoll: Duration;
  readonly maxPoll: Duration;
  /** Default `"replace"`. */
  readonly existingData?: ExistingData;
  /** Default false. */
  readonly keepData?: boolean;
}
