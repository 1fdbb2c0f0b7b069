import { HoldfastError } from "holdfast";
import type { AttributeValue, Condition, Item, Write } from "holdfast/internal";

/**
 * The commit record of the Rust crate object_store, 0.9 to 0.12.5. The record makes the writers of one object take
 * turns if the object store has no conditional writes.
 *
 * Not promised: a fence. The object store does not read the record. If the object store applies a writer's request only
 * after `timeout` times the skew rate, another writer may have the turn. Only the object store's own conditions can
 * refuse such a request.
 *
 * | attribute    | type | content                                                                    |
 * | ------------ | ---- | -------------------------------------------------------------------------- |
 * | `path`       | S    | partition key: the object's key, without the bucket                        |
 * | `etag`       | S    | sort key: `*` to create, else the ETag to replace, with quotation marks    |
 * | `generation` | N    | 0 at first, one more at every takeover                                     |
 * | `timeout`    | N    | milliseconds for which the writer may act; 0 after the writer has ended    |
 * | `ttl`        | N    | seconds since 1970, for DynamoDB's TTL alone                               |
 * | `token`      | S    | of this library: the commit's id; a writer recognises its own record by it |
 * | `owner`      | S    | of this library: a readable label of the writer                            |
 *
 * The crate reads every attribute of a record as a string or as an unsigned whole number of 64 bits. The crate fails if
 * a record has any other value, so this library writes no other value.
 *
 * spec/formats/object-commit.md describes the steps, and their differences from the crate's.
 */

/** The names of the attributes, and the sort key of a create. */
const COMMIT_ATTRIBUTES = Object.freeze({
  path: "path",
  etag: "etag",
  generation: "generation",
  timeout: "timeout",
  ttl: "ttl",
  token: "token",
  owner: "owner",
  create: "*",
});

const { path, etag, generation, timeout, ttl, token, owner } = COMMIT_ATTRIBUTES;

/** The object to write: a new object, or the replacement of the object with this ETag. */
export interface CommitTarget {
  readonly key: string;
  /** Undefined for a new object. */
  readonly etag: string | undefined;
}

/** A commit record as read. */
export interface CommitRecord {
  readonly generation: bigint;
  /** 0: the writer has ended. */
  readonly timeoutMs: number;
  readonly ttlEpochS: bigint | undefined;
  /** Undefined in a record of the Rust crate. */
  readonly token: string | undefined;
  readonly owner: string | undefined;
}

/** The values that a claim writes into the record. */
export interface CommitClaim {
  readonly timeoutMs: number;
  readonly ttlEpochS: bigint;
  readonly token: string;
  readonly owner: string;
}

/** Returns the key of a target's record. */
export function commitKeyOf(target: CommitTarget): Item {
  return { [path]: { S: target.key }, [etag]: { S: target.etag ?? COMMIT_ATTRIBUTES.create } };
}

/** Returns the write that claims an absent record, or exactly the record that the writer has watched. */
export function claimCommit(
  target: CommitTarget,
  claim: CommitClaim,
  watched: CommitRecord | undefined,
): Write {
  return {
    key: commitKeyOf(target),
    condition: watched === undefined ? { kind: "absent", attribute: path } : exactly(watched),
    change: {
      set: {
        [generation]: { N: generationAfter(watched).toString() },
        [timeout]: { N: String(claim.timeoutMs) },
        [ttl]: { N: String(claim.ttlEpochS) },
        [token]: { S: claim.token },
        [owner]: { S: claim.owner },
      },
      remove: [],
    },
  };
}

/** Returns the generation that a claim writes. */
export function generationAfter(watched: CommitRecord | undefined): bigint {
  return watched === undefined ? 0n : watched.generation + 1n;
}

/**
 * Returns the write that ends a commit, so that the next writer need not wait. The write keeps the record and its
 * generation. If a writer deleted the record, the next record would start at generation 0 again. That record could
 * match an older record that another writer is watching.
 */
export function endCommit(target: CommitTarget, ownToken: string, ownGeneration: bigint): Write {
  const own: Condition[] = [
    { kind: "equals", attribute: token, value: { S: ownToken } },
    { kind: "equals", attribute: generation, value: { N: ownGeneration.toString() } },
  ];
  return {
    key: commitKeyOf(target),
    condition: { kind: "all", of: own },
    change: { set: { [timeout]: { N: "0" } }, remove: [] },
  };
}

// The crate's claim requires only the generation. But a record that was deleted and created again can have the same
// generation.
function exactly(record: CommitRecord): Condition {
  return {
    kind: "all",
    of: [
      { kind: "present", attribute: path },
      { kind: "equals", attribute: generation, value: { N: record.generation.toString() } },
      optional(ttl, record.ttlEpochS === undefined ? undefined : { N: String(record.ttlEpochS) }),
      optional(token, record.token === undefined ? undefined : { S: record.token }),
    ],
  };
}

function optional(attribute: string, value: AttributeValue | undefined): Condition {
  return value === undefined ? { kind: "absent", attribute } : { kind: "equals", attribute, value };
}

/** Reads a record. Throws `foreign-record` if the item is not a commit record. Writes nothing. */
export function readCommit(target: CommitTarget, item: Item): CommitRecord {
  const found = wholeNumber(item[generation]);
  const foundTimeout = wholeNumber(item[timeout]);
  if (found === undefined || foundTimeout === undefined) {
    throw new HoldfastError(
      "foreign-record",
      `The record of object "${target.key}" has no readable \`generation\` and \`timeout\`, so the record is ` +
        "not a commit record. Nothing was written. Use another table.",
      { objectKey: target.key },
    );
  }
  return {
    generation: found,
    // A number above 2^53 ms is rounded. That does no harm, because so much time never passes.
    timeoutMs: Number(foundTimeout),
    ttlEpochS: wholeNumber(item[ttl]),
    token: text(item[token]),
    owner: text(item[owner]),
  };
}

/** Whether two reads show the same record, unchanged. */
export function isSameRecord(one: CommitRecord, other: CommitRecord): boolean {
  return (
    one.generation === other.generation &&
    one.timeoutMs === other.timeoutMs &&
    one.ttlEpochS === other.ttlEpochS &&
    one.token === other.token
  );
}

function wholeNumber(value: AttributeValue | undefined): bigint | undefined {
  return value !== undefined && "N" in value && /^\d+$/.test(value.N) ? BigInt(value.N) : undefined;
}

function text(value: AttributeValue | undefined): string | undefined {
  return value !== undefined && "S" in value ? value.S : undefined;
}
