import { HoldfastError } from "../errors.js";
import type { AttributeValue, Condition, Item, Write } from "../platform/table.js";

/**
 * The commit record of the Rust crate object_store, 0.9 to 0.12.5: how writers of one object take
 * turns through a table, where the object store itself has no conditional writes.
 *
 * What it does not give: a fence. Nothing looks at the record when the object is written, so a request
 * that stays on the wire for longer than `timeout` times the skew rate is carried out all the same.
 * Only the object store's own conditions can refuse it.
 *
 * | attribute    | type | content                                                                  |
 * | ------------ | ---- | ------------------------------------------------------------------------ |
 * | `path`       | S    | partition key: the object's key, without the bucket                      |
 * | `etag`       | S    | sort key: `*` to create, else the ETag to replace, quotation marks and all |
 * | `generation` | N    | 0 at first, one more at every takeover                                   |
 * | `timeout`    | N    | milliseconds for which its writer may act; 0 where nobody does any more  |
 * | `ttl`        | N    | seconds since 1970, for DynamoDB's TTL alone                             |
 * | `token`      | S    | ours: the id of the commit, so that it recognises its own record         |
 * | `owner`      | S    | ours: who it is, for people                                              |
 *
 * The crate reads every attribute of a record as a string or as a whole number of 64 bits without a
 * sign, and fails on a record with any other: nothing else may ever be written here.
 *
 * The steps, and how they differ from the crate's, are in spec/formats/object-commit.md.
 */

/** The names of the attributes, and of the sort key of a create. */
export const COMMIT_ATTRIBUTES = Object.freeze({
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

/** What is to be committed: a new object, or another in the place of the one with this ETag. */
export interface CommitTarget {
  readonly key: string;
  /** Undefined to create. */
  readonly etag: string | undefined;
}

/** A record, as read. */
export interface CommitRecord {
  readonly generation: bigint;
  /** 0: nobody acts on it any more. */
  readonly timeoutMs: number;
  readonly ttlEpochS: bigint | undefined;
  /** Undefined where the Rust crate wrote it. */
  readonly token: string | undefined;
  readonly owner: string | undefined;
}

/** What a writer puts into the record that it takes. */
export interface CommitClaim {
  readonly timeoutMs: number;
  readonly ttlEpochS: bigint;
  readonly token: string;
  readonly owner: string;
}

/** The key of the record about a target. */
export function commitKeyOf(target: CommitTarget): Item {
  return { [path]: { S: target.key }, [etag]: { S: target.etag ?? COMMIT_ATTRIBUTES.create } };
}

/** Takes the record: where there is none, or in the place of exactly the one that was watched. */
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

/** The generation that a claim writes. */
export function generationAfter(watched: CommitRecord | undefined): bigint {
  return watched === undefined ? 0n : watched.generation + 1n;
}

/**
 * Says that nobody acts on the record any more, so that whoever meets it need not wait. It stays, with
 * its generation: were it deleted, the next one would begin at 0 again, and pass for the one that
 * somebody has watched for a while.
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

// The crate names the generation alone. A record that vanished and was made anew has the same one.
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

/** Reads a record. Throws `foreign-record` for an item that is none; nothing is then written. */
export function readCommit(target: CommitTarget, item: Item): CommitRecord {
  const found = wholeNumber(item[generation]);
  const foundTimeout = wholeNumber(item[timeout]);
  if (found === undefined || foundTimeout === undefined) {
    throw new HoldfastError(
      "foreign-record",
      `The record of object "${target.key}" has no readable \`generation\` and \`timeout\`, so it is ` +
        "not a commit record. Nothing was written. Use another table.",
      { objectKey: target.key },
    );
  }
  return {
    generation: found,
    // Beyond 2^53 ms rounding does not matter: it is for ever.
    timeoutMs: Number(foundTimeout),
    ttlEpochS: wholeNumber(item[ttl]),
    token: text(item[token]),
    owner: text(item[owner]),
  };
}

/** Whether two readings show one record that nobody has touched in between. */
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
