import { describe, expect, it } from "vitest";
import type { Decision } from "../../../src/core/record/decide.js";
import { decidePermit, type PermitDecision } from "../../../src/core/record/decide-permit.js";
import type { PermitInRecord, SharedRecord } from "../../../src/core/record/permits.js";

const permit = (holder: string, weight: number): PermitInRecord => ({
  ...{ holder, weight, fence: 7n, session: `session of ${holder}`, leaseMs: 30_000 },
  owner: undefined,
});

function recordOf(
  permits: readonly PermitInRecord[],
  more: Partial<SharedRecord> = {},
): SharedRecord {
  const used = permits.reduce((sum, { weight }) => sum + weight, 0);
  return {
    ...{ state: "shared", fence: 9n, version: 9n, queue: { tail: undefined, served: undefined } },
    ...{ limit: 3, limitChanges: 0, used, permits, marks: [], ...more },
  };
}

const alive: Decision = { kind: "wait", acquirableAtMs: 500 };
const later: Decision = { kind: "wait", acquirableAtMs: 900 };
const dead = (holder: string): Decision => ({ kind: "take-over", holder, version: 7n });
const unseen: Decision = { kind: "look-at-session", session: "session of b" };
const ending: Decision = { kind: "end-session", session: "session of b", watched: undefined };

const A = permit("a", 2);
const B = permit("b", 1);
const queued = { queue: { tail: 5n, served: 3n } };

/** What a waiter of weight 1, or as given, does next; `holders` decides about a and b. */
const CASES: readonly {
  readonly what: string;
  readonly record: Parameters<typeof decidePermit>[0];
  readonly weight?: number;
  readonly refuses?: boolean;
  readonly tries?: boolean;
  readonly ticket?: bigint;
  readonly unserved?: number;
  readonly holders?: Readonly<Record<string, Decision>>;
  readonly next: PermitDecision;
}[] = [
  { what: "nothing is known", record: undefined, next: { kind: "grant" } },
  { what: "the record is absent", record: { state: "absent" }, next: { kind: "grant" } },
  {
    what: "no limit was stored",
    record: recordOf([], { limit: undefined }),
    next: { kind: "grant" },
  },
  { what: "there is room", record: recordOf([A]), next: { kind: "grant" } },
  {
    what: "the limit is another, and the caller refuses it",
    record: recordOf([], { limit: 4 }),
    refuses: true,
    next: { kind: "limit-mismatch", limit: 4 },
  },
  {
    what: "a higher limit of the record leaves room",
    record: recordOf([A, B], { limit: 4 }),
    next: { kind: "grant" },
  },
  {
    what: "a lower limit of the record leaves no room",
    record: recordOf([A], { limit: 2 }),
    holders: { a: alive },
    next: { kind: "wait", untilMs: 500 },
  },
  {
    what: "the weights are above a lowered limit",
    record: recordOf([A, B], { limit: 1 }),
    holders: { a: later, b: alive },
    next: { kind: "wait", untilMs: 500 },
  },
  {
    what: "its weight is above the limit of the record",
    record: recordOf([], { limit: 1 }),
    weight: 2,
    next: { kind: "limit-mismatch", limit: 1 },
  },
  { what: "others are queued", record: recordOf([], queued), next: { kind: "queued" } },
  {
    what: "others are queued, and there is no room",
    record: recordOf([A, B], queued),
    next: { kind: "queued" },
  },
  {
    what: "others are queued, and there is no room for a try",
    record: recordOf([A, B], queued),
    tries: true,
    holders: { a: later, b: alive },
    next: { kind: "wait", untilMs: 500 },
  },
  {
    what: "others are queued, and a holder is dead, for a try",
    record: recordOf([A, B], queued),
    tries: true,
    holders: { a: alive, b: dead("b") },
    next: { kind: "queued" },
  },
  { what: "its ticket is next", record: recordOf([], queued), ticket: 4n, next: { kind: "grant" } },
  {
    what: "its ticket was passed over",
    record: recordOf([], queued),
    ticket: 3n,
    next: { kind: "passed-over" },
  },
  {
    what: "there is room for a lighter permit only",
    record: recordOf([A]),
    weight: 2,
    holders: { a: alive },
    next: { kind: "wait", untilMs: 500 },
  },
  {
    what: "all holders may be alive",
    record: recordOf([A, B]),
    holders: { a: later, b: alive },
    next: { kind: "wait", untilMs: 500 },
  },
  {
    what: "the session of a holder has ended",
    record: recordOf([A, B]),
    holders: { a: alive, b: dead("b") },
    next: { kind: "remove", permit: B },
  },
  {
    what: "a holder counts as dead",
    record: recordOf([A, B]),
    holders: { a: alive, b: ending },
    next: { kind: "end-session", session: "session of b", watched: undefined },
  },
  {
    what: "two holders count as dead, and the session of the first could not be ended",
    record: recordOf([A, B]),
    unserved: 1,
    holders: { a: { ...ending, session: "session of a" }, b: ending },
    next: { kind: "end-session", session: "session of b", watched: undefined },
  },
  {
    what: "a session was never seen, and that of another holder could not be ended",
    record: recordOf([A, B]),
    unserved: 1,
    holders: { a: { ...ending, session: "session of a" }, b: unseen },
    next: { kind: "look-at-session", session: "session of b" },
  },
  {
    what: "a session was never seen",
    record: recordOf([A, B]),
    holders: { a: alive, b: unseen },
    next: { kind: "look-at-session", session: "session of b" },
  },
  {
    what: "a session was never seen, and another holder is dead",
    record: recordOf([B, A]),
    holders: { b: unseen, a: dead("a") },
    next: { kind: "remove", permit: A },
  },
];

describe("a waiter for a permit", () => {
  it.each(CASES)(
    "decides, if $what: $next.kind",
    ({ record, weight = 1, refuses = false, tries = false, ticket, unserved, holders, next }) => {
      const passage = ticket === undefined ? undefined : ({ kind: "ticket", ticket } as const);
      const decision = decidePermit(
        record,
        { weight, limit: 3, adopts: !refuses, passage, tries, ...(unserved && { unserved }) },
        ({ holder }) => {
          const known = holders?.[holder];
          if (known === undefined)
            throw new Error(`The decision must not depend on holder ${holder}.`);
          return known;
        },
      );
      expect(decision).toEqual(next);
    },
  );
});
