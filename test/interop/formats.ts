import { type FormatCase, LACKS, type SceneName } from "./scenes.js";

/** The particulars of each client for the scenes. */

export const AWS_LOCK_CLIENT: FormatCase = {
  format: "aws-lock-client",
  leaseMs: 2_000,
  pollMs: 100,
  theirs: {
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    // In addition to a lease, which the client always waits.
    wait: (forMs) => ({ wait: Math.max(0, forMs - 2_000), pollMs: 100 }),
    noticesWithinMs: 200,
    releases: {
      "and deletes": { delete: true },
      "and keeps": { delete: false },
      "and keeps, with data": { delete: false, data: "later" },
      "by best effort": { delete: true, bestEffort: true },
    },
  },
  ours: {
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    wait: (forMs) => ({ wait: forMs, pollMs: 100 }),
    noticesWithinMs: 200,
    releases: { "and deletes": { delete: true }, "and keeps": { delete: false } },
  },
  costs: {
    acquire: { theirs: ["GetItem", "PutItem"], ours: ["PutItem"] },
    renew: { theirs: ["UpdateItem"], ours: ["UpdateItem"] },
    "release and delete": { theirs: ["DeleteItem"], ours: ["DeleteItem"] },
    "release and keep": { theirs: ["UpdateItem"], ours: ["UpdateItem"] },
    "be refused at once": { theirs: ["GetItem"], ours: ["PutItem"] },
  },
};

export const DYNAMOLOCK: FormatCase = {
  format: "dynamolock",
  leaseMs: 2_000,
  pollMs: 100,
  theirs: {
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    // In addition to a lease, which the client always waits.
    cannot: ["list"],
    wait: (forMs) => ({ wait: Math.max(0, forMs - 2_000), pollMs: 100 }),
    noticesWithinMs: 200,
    releases: {
      "and keeps": {},
      "and deletes": { delete: true },
      "and keeps, with data": { data: "later" },
    },
  },
  ours: {
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    wait: (forMs) => ({ wait: forMs, pollMs: 100 }),
    noticesWithinMs: 200,
    releases: { "and keeps": { delete: false }, "and deletes": { delete: true } },
  },
  costs: {
    acquire: { theirs: ["GetItem", "PutItem"], ours: ["UpdateItem"] },
    renew: { theirs: ["UpdateItem"], ours: ["UpdateItem"] },
    "release and delete": { theirs: ["DeleteItem"], ours: ["DeleteItem"] },
    "release and keep": { theirs: ["UpdateItem"], ours: ["UpdateItem"] },
    "be refused at once": { theirs: ["GetItem"], ours: ["UpdateItem"] },
  },
};

export const LOCK_CLIENT_FAIL_OPEN: FormatCase = {
  format: "lock-client-fail-open",
  leaseMs: 2_000,
  pollMs: 100,
  theirs: {
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { retries: 0 },
    // The client sleeps for whole leases without a read.
    wait: (forMs) => ({ retries: Math.ceil(forMs / 2_000) - 1 }),
    cannot: ["list", "read", "held", "beat", "carry data", "tell a lost release"],
    // One lease for the record read before the release, and one for a record renewed since.
    noticesWithinMs: 4_000,
    releases: { "by a lease of 1 ms": {} },
  },
  ours: {
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    wait: (forMs) => ({ wait: forMs, pollMs: 100 }),
    cannot: ["carry data"],
    noticesWithinMs: 200,
    releases: { "by a lease of 1 ms": {} },
  },
  costs: {
    acquire: { theirs: ["GetItem", "PutItem"], ours: ["UpdateItem"] },
    renew: LACKS.beat,
    "release and delete": "a release always keeps the record",
    "release and keep": { theirs: ["PutItem"], ours: ["UpdateItem"] },
    "be refused at once": { theirs: ["GetItem", "PutItem"], ours: ["UpdateItem"] },
  },
};

export const DYNAMODB_LEASE: FormatCase = {
  format: "dynamodb-lease",
  leaseMs: 3_000,
  pollMs: 100,
  theirs: {
    opening: { leaseMs: 3_000, beatMs: 1_000, pollMs: 100 },
    once: { wait: false },
    wait: (forMs) => ({ wait: forMs }),
    // The client only reports whether its heartbeats continue.
    cannot: ["list", "read", "held", "beat", "stop its beats", "carry data"],
    // The lease counts from the last heartbeat. Our expiry is rounded up to whole seconds, and for their client it has passed
    // in the second after it.
    followsMs: [1_900, 5_100],
    noticesWithinMs: 200,
    releases: { "by hand": {}, "by dropping it": { drop: true } },
  },
  ours: {
    opening: { leaseMs: 3_000, beatMs: 1_000 },
    once: { wait: false },
    wait: (forMs) => ({ wait: forMs, pollMs: 100 }),
    cannot: ["carry data"],
    // Their client's wait, the watch of a lease, and 2 s for clock differences. But the server's TTL may delete a
    // record up to a second before its lease ends; an absent record is free for all clients.
    followsMs: [1_900, 6_100],
    noticesWithinMs: 200,
    releases: { "by hand": {} },
  },
  costs: {
    acquire: { theirs: ["PutItem"], ours: ["PutItem"] },
    renew: LACKS.beat,
    "release and delete": { theirs: ["DeleteItem"], ours: ["DeleteItem"] },
    "release and keep": "a release always deletes the record",
    "be refused at once": { theirs: ["PutItem"], ours: ["PutItem"] },
  },
};

// Enough scenes for a client which differs little from a fully played client.
const IN_SHORT: readonly SceneName[] = ["released", "died", "contention", "lostTakeover"];

const isFull = process.env["INTEROP_FULL"] === "1";

/** The same client, built on Amazon's older kit. */
export const DYNAMOLOCK_V1: FormatCase = {
  ...DYNAMOLOCK,
  driver: "dynamolock-v1",
  ...(isFull ? {} : { scenes: IN_SHORT }),
};

/** All scenes, with names of one part. */
export const FORMATS: readonly FormatCase[] = [
  AWS_LOCK_CLIENT,
  DYNAMODB_LEASE,
  DYNAMOLOCK,
  DYNAMOLOCK_V1,
  LOCK_CLIENT_FAIL_OPEN,
];

/**
 * The same client with names of two parts: the scenes which could fail if a client read only the first part.
 */
export function withSortKey(one: FormatCase): FormatCase {
  return { ...one, sortKey: "sort", scenes: ["held", "released", "died", "followed", "parts"] };
}
