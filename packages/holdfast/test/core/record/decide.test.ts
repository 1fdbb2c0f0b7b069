import { describe, expect, it } from "vitest";
import {
  type Circumstances,
  type Decision,
  decide,
  holdMs,
  watchMs,
} from "../../../src/core/record/decide.js";
import type { Observation } from "../../../src/core/record/observation.js";
import type { LeaseRecord, QueueState } from "../../../src/core/record/record.js";

const NO_QUEUE: QueueState = { tail: undefined, served: undefined };
const SINCE_MS = 1_000;
const LEASE_MS = 10_000;

const known = (queue: QueueState) => ({
  fence: 7n,
  version: 3n,
  queue,
  lastHolder: undefined,
  owner: undefined,
  acquiredAt: undefined,
  data: undefined,
});

const absent: LeaseRecord = { state: "absent" };
const free = (queue = NO_QUEUE): LeaseRecord => ({ state: "free", ...known(queue) });
const held = (queue = NO_QUEUE, holder = "other", session?: string): LeaseRecord => ({
  state: "held",
  ...known(queue),
  holder,
  leaseMs: LEASE_MS,
  session,
  mark: undefined,
  dataSeq: 0,
});

const seen = (record: LeaseRecord): Observation => ({ record, sinceMs: SINCE_MS });

const notBefore = (notBeforeWallMs: number): LeaseRecord => {
  const record = held();
  if (record.state !== "held") throw new Error(record.state);
  return { ...record, notBeforeWallMs };
};

const usual: Circumstances = {
  nowMs: SINCE_MS,
  wallMs: 0,
  maxClockDrift: 0.01,
  maxClockErrorMs: 10_000,
  tableNowMs: Number.MAX_SAFE_INTEGER,
  isAbandoned: (holder) => holder === "given up",
  onlyIfExists: false,
  sessionSeen: () => undefined,
};

const served: QueueState = { tail: 5n, served: 5n };
const waited: QueueState = { tail: 6n, served: 5n };
const wait = (acquirableAtMs: number): Decision => ({ kind: "wait", acquirableAtMs });
const takeOver: Decision = {
  kind: "take-over",
  holder: "other",
  version: 3n,
  session: undefined,
};
const takeBack: Decision = { ...takeOver, holder: "given up" };
const onSession = held(NO_QUEUE, "other", "s");
const sessionIs = (record: LeaseRecord, sinceMs = SINCE_MS): Partial<Circumstances> => ({
  sessionSeen: (session) => (session === "s" ? { record, sinceMs } : undefined),
});
const alive: LeaseRecord = {
  ...held(NO_QUEUE, "s's holder"),
  leaseMs: 2 * LEASE_MS,
} as LeaseRecord;
const endAlive: Decision = {
  kind: "end-session",
  session: "s",
  watched: { holder: "s's holder", version: 3n },
};
const deadAtMs = SINCE_MS + 1.02 * LEASE_MS;

const END_MS = 1_800_000_000_000;
const BOUND_MS = 10_000;
/** A record with an end, which an answer with this `Date` showed at `atMs`. */
const dated = (record: LeaseRecord, dateMs: number, atMs = SINCE_MS): Observation => ({
  record: { ...record, endMs: END_MS } as LeaseRecord,
  sinceMs: SINCE_MS,
  dated: { dateMs, atMs },
});
const sessionSeen = (seenSession: Observation): Partial<Circumstances> => ({
  sessionSeen: () => seenSession,
});
// The length of a watch and the bound, by the table's time.
const LEASE_END_MS = 1.02 * LEASE_MS + 10_000;
const sighted = (sightedByMs: number, dateMs: number): Observation => ({
  ...seen(held()),
  dated: { dateMs, atMs: SINCE_MS },
  sightedByMs,
});

type Case = [
  title: string,
  observation: Observation | undefined,
  circumstances: Partial<Circumstances>,
  decision: Decision,
];

const CASES: readonly Case[] = [
  ["the record was never read", undefined, {}, { kind: "claim", onto: { kind: "blind" } }],
  [
    "the record was never read, and the caller requires an existing one",
    undefined,
    { onlyIfExists: true },
    { kind: "claim", onto: { kind: "existing" } },
  ],
  ["the record is absent", seen(absent), {}, { kind: "claim", onto: { kind: "absent" } }],
  [
    "the record is absent, and the caller requires an existing one",
    seen(absent),
    { onlyIfExists: true },
    { kind: "missing" },
  ],
  [
    "the record is free",
    seen(free()),
    {},
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  [
    "the record is free, and the caller requires an existing one",
    seen(free()),
    { onlyIfExists: true },
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  [
    "the record is free, and its queue is empty",
    seen(free(served)),
    {},
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  ["the record is free, and a waiter is queued", seen(free(waited)), {}, { kind: "queued" }],
  [
    "the record is free, with a tail and without a granted ticket",
    seen(free({ tail: 5n, served: undefined })),
    {},
    { kind: "queued" },
  ],
  [
    "the record is free, with a granted ticket and without a tail",
    seen(free({ tail: undefined, served: 5n })),
    {},
    { kind: "queued" },
  ],
  ["the record is held, just observed", seen(held()), {}, wait(deadAtMs)],
  [
    "the record is held, just before the end of the watch",
    seen(held()),
    { nowMs: deadAtMs - 0.001 },
    wait(deadAtMs),
  ],
  ["the record is held, at the end of the watch", seen(held()), { nowMs: deadAtMs }, takeOver],
  [
    "the record is held, long dead, and its format forbids a takeover for another 7 s by the wall clock",
    seen(notBefore(8_000)),
    { nowMs: 10 * deadAtMs, wallMs: 1_000 },
    wait(10 * deadAtMs + 7_000),
  ],
  [
    "the record is held, and its format permits a takeover, but the watch is too short",
    seen(notBefore(8_000)),
    { nowMs: deadAtMs - 1, wallMs: 9_000 },
    wait(deadAtMs),
  ],
  [
    "the record is held, and a client saw it long ago by the table's time",
    sighted(0, LEASE_END_MS),
    {},
    takeOver,
  ],
  [
    "the record is held, and a client saw it 1 s too late for a takeover by the table's time",
    sighted(1_000, LEASE_END_MS),
    {},
    wait(SINCE_MS + 1_020),
  ],
  [
    "the record is held, and a client has only just seen it, so the watch ends first",
    sighted(LEASE_END_MS, LEASE_END_MS),
    {},
    wait(deadAtMs),
  ],
  [
    "the record is held, a client saw it long ago, and the caller only watches",
    sighted(0, 10 * LEASE_END_MS),
    { maxClockErrorMs: Number.POSITIVE_INFINITY },
    wait(deadAtMs),
  ],
  [
    "the record is held, a client saw it long ago, and no answer has had a `Date`",
    { ...sighted(0, 10 * LEASE_END_MS), dated: undefined },
    {},
    wait(deadAtMs),
  ],
  [
    "the record is held, has an end that is not past, and a client saw it long ago",
    { ...sighted(0, LEASE_END_MS), record: { ...held(), endMs: LEASE_END_MS } as LeaseRecord },
    {},
    wait(SINCE_MS + 1.02 * 10_000),
  ],
  [
    "the record is free, and a client saw its former holder",
    { ...sighted(0, LEASE_END_MS), record: free() },
    {},
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  ["the record is held, long dead", seen(held()), { nowMs: 10 * deadAtMs }, takeOver],
  [
    "the record is held, after the bare lease",
    seen(held()),
    { nowMs: SINCE_MS + LEASE_MS },
    wait(deadAtMs),
  ],
  [
    "the record is held, and clocks are perfect",
    seen(held()),
    { nowMs: SINCE_MS + LEASE_MS, maxClockDrift: 0 },
    takeOver,
  ],
  [
    "the record is held, by a clock that stepped back",
    seen(held()),
    { nowMs: SINCE_MS - 5_000 },
    wait(deadAtMs),
  ],
  ["the record is held, and its queue is empty", seen(held(served)), { nowMs: deadAtMs }, takeOver],
  [
    "the holder is dead, and a waiter is queued",
    seen(held(waited)),
    { nowMs: 10 * deadAtMs },
    { kind: "queued" },
  ],
  ["this process abandoned its id", seen(held(NO_QUEUE, "given up")), {}, takeBack],
  [
    "this process abandoned its id, long ago",
    seen(held(NO_QUEUE, "given up")),
    { nowMs: 10 * deadAtMs },
    takeBack,
  ],
  [
    "this process abandoned its id, and the session is alive",
    seen(held(NO_QUEUE, "given up", "s")),
    sessionIs(alive),
    { ...takeBack, session: "s" },
  ],
  [
    "the session was never read, however long the record does not change",
    seen(onSession),
    { nowMs: 10 * deadAtMs },
    { kind: "look-at-session", session: "s" },
  ],
  [
    "the session is alive, however long the record does not change",
    seen(onSession),
    { ...sessionIs(alive, 9 * deadAtMs), nowMs: 10 * deadAtMs },
    wait(9 * deadAtMs + 2.04 * LEASE_MS),
  ],
  [
    "the session was silent for less than its own length",
    seen(onSession),
    { ...sessionIs(alive), nowMs: SINCE_MS + 2.04 * LEASE_MS - 0.001 },
    wait(SINCE_MS + 2.04 * LEASE_MS),
  ],
  [
    "the session was silent for its own length",
    seen(onSession),
    { ...sessionIs(alive), nowMs: SINCE_MS + 2.04 * LEASE_MS },
    endAlive,
  ],
  [
    "the table's time is past the end by the bound, at first sight",
    dated(held(), END_MS + BOUND_MS),
    {},
    takeOver,
  ],
  [
    "the table's time is past the end by a second less than the bound",
    dated(held(), END_MS + BOUND_MS - 1_000),
    {},
    wait(SINCE_MS + 1_020),
  ],
  [
    "the table's time was less than the bound past the end, and that much time has passed since",
    dated(held(), END_MS + BOUND_MS - 1_000),
    { nowMs: SINCE_MS + 1_020 },
    takeOver,
  ],
  [
    "one answer shows a dead holder, and no second witness does",
    dated(held(), END_MS + BOUND_MS),
    { tableNowMs: Number.NEGATIVE_INFINITY },
    { kind: "wait", acquirableAtMs: deadAtMs, isUnconfirmed: true },
  ],
  [
    "one answer shows a dead holder, and the second witness is a second earlier",
    dated(held(), END_MS + BOUND_MS),
    { tableNowMs: END_MS + BOUND_MS - 1_000 },
    { kind: "wait", acquirableAtMs: SINCE_MS + 1_020, isUnconfirmed: true },
  ],
  [
    "one answer shows a dead holder, and the second witness just so",
    dated(held(), END_MS + BOUND_MS),
    { tableNowMs: END_MS + BOUND_MS },
    takeOver,
  ],
  [
    "one answer shows a dead session, and no second witness does",
    seen(onSession),
    {
      tableNowMs: Number.NEGATIVE_INFINITY,
      sessionSeen: () => dated(held(NO_QUEUE, "s's holder"), END_MS + BOUND_MS),
    },
    { kind: "wait", acquirableAtMs: deadAtMs, isUnconfirmed: true },
  ],
  [
    "the end is far ahead, and the watch ends first",
    dated(held(), END_MS - 10 * LEASE_MS),
    {},
    wait(deadAtMs),
  ],
  [
    "the table's time is past the end, and a smaller bound is set",
    dated(held(), END_MS + 1),
    { maxClockErrorMs: 0 },
    takeOver,
  ],
  [
    "the table's time is long past the end, and the end does not count",
    dated(held(), END_MS + 100 * BOUND_MS),
    { maxClockErrorMs: Number.POSITIVE_INFINITY },
    wait(deadAtMs),
  ],
  [
    "the record has no end, whatever the table's time",
    { ...dated(held(), END_MS + BOUND_MS), record: held() },
    {},
    wait(deadAtMs),
  ],
  [
    "the record has an end, and no answer with a `Date` has shown it",
    { ...dated(held(), END_MS + BOUND_MS), dated: undefined },
    {},
    wait(deadAtMs),
  ],
  [
    "the table's time is past the end, and a waiter is queued",
    dated(held(waited), END_MS + BOUND_MS),
    {},
    { kind: "queued" },
  ],
  [
    "the table's time is past the end, and the format forbids a takeover by the wall clock",
    dated(notBefore(8_000), END_MS + BOUND_MS),
    { wallMs: 1_000 },
    wait(SINCE_MS + 7_000),
  ],
  [
    "the table's time is past the end of the session's row",
    seen(onSession),
    sessionSeen(dated(alive, END_MS + BOUND_MS)),
    endAlive,
  ],
  [
    "the table's time is past the lock's own end, and its session is alive",
    dated(onSession, END_MS + BOUND_MS),
    sessionSeen(dated(alive, END_MS)),
    wait(SINCE_MS + 1.02 * BOUND_MS),
  ],
  ["the session was just observed absent", seen(onSession), sessionIs(absent), wait(deadAtMs)],
  [
    "the session was absent for the record's length",
    seen(onSession),
    { ...sessionIs(absent), nowMs: deadAtMs },
    { kind: "end-session", session: "s", watched: undefined },
  ],
  ["the session has ended", seen(onSession), sessionIs(free()), { ...takeOver, session: "s" }],
  [
    "the session has ended, and a waiter is queued",
    seen(held(waited, "other", "s")),
    sessionIs(free()),
    { kind: "queued" },
  ],
  [
    "this process abandoned its id, and a waiter is queued",
    seen(held(waited, "given up")),
    { nowMs: 10 * deadAtMs },
    { kind: "queued" },
  ],
  ["the record is held, and a waiter is queued", seen(held(waited)), {}, wait(deadAtMs)],
  [
    "the record is free, and the ticket is above the last granted one",
    seen(free(waited)),
    { passage: { kind: "ticket", ticket: 6n } },
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  [
    "the holder is dead, and the ticket is above the last granted one",
    seen(held(waited)),
    { nowMs: deadAtMs, passage: { kind: "ticket", ticket: 9n } },
    takeOver,
  ],
  [
    "the record is free, and no ticket was ever granted",
    seen(free({ tail: 5n, served: undefined })),
    { passage: { kind: "ticket", ticket: 5n } },
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  ...[5n, 4n].flatMap((ticket): Case[] => [
    [
      `the record is free, and ticket ${ticket} is not above the last granted one`,
      seen(free(waited)),
      { passage: { kind: "ticket", ticket } },
      { kind: "passed-over" },
    ],
    [
      `the holder is dead, and ticket ${ticket} is not above the last granted one`,
      seen(held(waited)),
      { nowMs: deadAtMs, passage: { kind: "ticket", ticket } },
      { kind: "passed-over" },
    ],
  ]),
  [
    "a waiter is queued, and the caller barges",
    seen(free(waited)),
    { passage: { kind: "barge" } },
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
  [
    "a waiter is queued, and the caller interrupted the last holder",
    seen(free(waited)),
    { passage: { kind: "asker", number: 2n } },
    { kind: "claim", onto: { kind: "free", fence: 7n, version: 3n } },
  ],
];

describe("decide", () => {
  // rule: R14, protocol 13, protocol 51
  it.each(CASES)(
    "returns the expected decision when %s",
    (_title, observation, circumstances, decision) => {
      expect(decide(observation, { ...usual, ...circumstances })).toEqual(decision);
    },
  );

  it("covers every kind of decision in its table of cases", () => {
    const kinds = new Set(CASES.map(([, , , decision]) => decision.kind));
    expect([...kinds].toSorted()).toEqual(
      [
        "claim",
        "end-session",
        "look-at-session",
        "missing",
        "passed-over",
        "queued",
        "take-over",
        "wait",
      ].toSorted(),
    );
  });
});

describe("holdMs and watchMs", () => {
  it.each([0, 0.001, 0.01, 0.05, 0.1])(
    "leave a gap at a drift of up to %d in both directions",
    (drift) => {
      for (const leaseMs of [100, 1_000, 30_000, 24 * 3_600_000]) {
        // The holder's clock at its slowest, the rival's at its fastest; both in true time.
        const holderMs = holdMs(leaseMs, drift, 10) / (1 - drift);
        const rivalMs = watchMs(leaseMs, drift) / (1 + drift);
        expect(rivalMs).toBeGreaterThanOrEqual(leaseMs);
        // Ten milliseconds for the boot clock's step, which the holder may miss.
        expect(holderMs + 9).toBeLessThan(leaseMs);
      }
    },
  );

  it("cost no more than the drift", () => {
    expect(holdMs(30_000, 0.01, 10)).toBe(29_390);
    expect(watchMs(30_000, 0.01)).toBe(30_600);
  });
});
