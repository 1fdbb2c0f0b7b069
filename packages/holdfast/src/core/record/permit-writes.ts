import type { Item, Write } from "../../platform/table.js";
import type { FoundPermits } from "./permits.js";
import type { Passage } from "./record.js";
import type { Held, PermitRef, RecordRef, SharedKind } from "./ref.js";

/** The values that the grant of a permit writes. */
export interface PermitGrant {
  /** Random, and new with every attempt. */
  readonly holder: string;
  readonly weight: number;
  /** The limit of the record. A record that has a limit must have this one. */
  readonly limit: number;
  /** Whether the limit is the record's and not the caller's: then no record gets it anew. */
  readonly isStored: boolean;
  /** The exact record that the grant requires: for a grant in a transaction, whose answer shows no record. */
  readonly onto?: "absent" | { readonly fence: bigint; readonly version: bigint } | undefined;
  /** The session that keeps the permit alive, and its length. */
  readonly session: string;
  readonly leaseMs: number;
  readonly owner: string;
  readonly wallMs: number;
  /** The first fence if the record is absent. */
  readonly fenceSeed: bigint;
  readonly passage?: Passage | undefined;
  /** Attempts whose marks the write removes. */
  readonly oldMarks: readonly string[];
}

/** Composes the writes of a record with several holders. Each is one conditional write on the record. */
export interface PermitWrites {
  /** Returns the ref of the record with this name. */
  refOf(kind: SharedKind, name: string): RecordRef;
  /** Returns the ref of one permit in the record. */
  permitOf(ref: RecordRef, permit: PermitRef): RecordRef;
  readAll(item: Item | undefined): FoundPermits;
  /** Whether the record has the permit of this holder, even if the client cannot read the record. */
  has(item: Item | undefined, holder: string): boolean;
  /** Adds the permit if its weight fits under the limit and no waiter in the queue comes before it. */
  grant(ref: RecordRef, grant: PermitGrant): Write;
  /** Replaces the held permit of `from` by a permit with another id and no more weight. */
  exchange(from: RecordRef, held: Held, grant: PermitGrant): Write;
  /** Marks an attempt without a permit as withdrawn, so that no late copy of its request is granted. */
  withdraw(ref: RecordRef, grant: PermitGrant): Write;
  /** Changes the limit of a record that has `changes` changes so far, or creates a record with this limit. */
  setLimit(
    ref: RecordRef,
    limit: number,
    options: Pick<PermitGrant, "fenceSeed" | "wallMs"> & { readonly changes: number },
  ): Write;
}
