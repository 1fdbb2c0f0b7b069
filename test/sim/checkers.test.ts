import { describe, expect, it } from "vitest";
import { check, checkers } from "../../sim/checkers.js";
import type { Timed } from "../../sim/history.js";
import { SAFETY, type Terms } from "../../sim/terms.js";

/** One bad history for each way in which an invariant can be broken. */
interface Case {
  readonly invariant: string;
  readonly because: string;
  readonly history: readonly Timed[];
  readonly terms?: Partial<Terms>;
}

const name = "a";
const granted = (atMs: number, by: string, fence: bigint): Timed => ({
  kind: "granted",
  by,
  name,
  fence,
  waited: true,
  atMs,
});
const acted = (atMs: number, by: string, fence: bigint): Timed => ({
  kind: "acted",
  by,
  name,
  fence,
  atMs,
});
const keptFrom = (atMs: number, by: string, fence: bigint, sentMs: number): Timed => ({
  kind: "kept",
  by,
  name,
  fence,
  sentMs,
  leaseMs: 1_000,
  atMs,
});
const lost = (atMs: number, by: string, fence: bigint): Timed => ({
  kind: "lost",
  by,
  name,
  fence,
  reason: "expired",
  atMs,
});
const released = (atMs: number, by: string, fence: bigint): Timed => ({
  kind: "released",
  by,
  name,
  fence,
  atMs,
});
const record = (atMs: number, by: string, fence: bigint, holder: string | undefined): Timed => ({
  kind: "record",
  by,
  name,
  fence,
  holder,
  atMs,
  ...(holder === undefined ? {} : { leaseMs: 1_000 }),
});
const waits = (atMs: number, by: string): Timed => ({ kind: "waits", by, name, atMs });
const happened = (atMs: number, by: string, what: "killed" | "hindered" | "free again"): Timed => ({
  kind: "process",
  by,
  what,
  atMs,
});
const request = (
  atMs: number,
  what: "grant" | "release" | "poll" | "look",
  isApplied = true,
): Timed => ({
  kind: "request",
  by: "p1",
  name,
  what,
  isApplied,
  atMs,
});

const COST = { renewMs: 300, fastestPollMs: 20, slowestPollMs: 400, latencyMs: 1 };

/** One grant and its release, as they are where nothing goes wrong. */
const GOOD: readonly Timed[] = [
  waits(0, "p1"),
  record(1, "p1", 1n, "h1"),
  request(2, "grant"),
  keptFrom(2, "p1", 1n, 0),
  granted(2, "p1", 1n),
  acted(100, "p1", 1n),
  released(200, "p1", 1n),
  record(201, "p1", 1n, undefined),
  request(202, "release"),
];

const EVERYTHING: Terms = {
  ...SAFETY,
  losesNothing: true,
  longestIdleMs: 500,
  longestStillMs: 500,
  cost: COST,
};

const without = (kind: Timed["kind"]): Timed[] => GOOD.filter((event) => event.kind !== kind);

const safety: readonly Case[] = [
  {
    invariant: "exclusion",
    because: "a former holder acts after a later grant",
    history: [granted(1, "p1", 1n), granted(2, "p2", 2n), acted(3, "p1", 1n)],
  },
  {
    invariant: "exclusion",
    because: "a lease is handed out after a later one",
    history: [granted(1, "p2", 2n), granted(2, "p1", 1n)],
  },
  {
    invariant: "deadline",
    because: "a holder acts when its lease, counted from the sending, is over",
    history: [keptFrom(900, "p1", 1n, 0), granted(900, "p1", 1n), acted(1_000, "p1", 1n)],
  },
  {
    invariant: "deadline",
    because: "the margin for drift is not kept",
    history: [keptFrom(2, "p1", 1n, 0), granted(2, "p1", 1n), acted(995, "p1", 1n)],
  },
  {
    invariant: "deadline",
    because: "an answer revives a lease that is over",
    history: [keptFrom(2, "p1", 1n, 0), keptFrom(1_100, "p1", 1n, 900), acted(1_200, "p1", 1n)],
  },
  {
    invariant: "fence order",
    because: "two holders have one fence",
    history: [record(1, "p1", 2n, "h1"), record(2, "p2", 2n, "h2")],
  },
  {
    invariant: "fence order",
    because: "a fence goes back after a deletion",
    history: [
      record(1, "p1", 2n, "h1"),
      record(2, "ttl", 2n, undefined),
      record(3, "p2", 1n, "h2"),
    ],
  },
  {
    invariant: "guarded writes",
    because: "a former holder's write is carried out",
    history: [
      record(1, "p1", 1n, "h1"),
      record(2, "p2", 2n, "h2"),
      { kind: "guarded", by: "p1", name, fence: 1n, isApplied: true, atMs: 3 },
    ],
  },
  {
    invariant: "lost is final",
    because: "a holder acts after it was told of its loss",
    history: [lost(1, "p1", 1n), acted(2, "p1", 1n)],
  },
  {
    invariant: "lost is final",
    because: "a holder acts after its release",
    history: [released(1, "p1", 1n), acted(2, "p1", 1n)],
  },
  {
    invariant: "lost is final",
    because: "a loss is told twice",
    history: [lost(1, "p1", 1n), lost(2, "p1", 1n)],
  },
  {
    invariant: "ownership",
    because: "another process renews",
    history: [record(1, "p1", 1n, "h1"), record(5_000, "p2", 1n, "h1")],
  },
  {
    invariant: "ownership",
    because: "a holder is replaced before its lease has passed",
    history: [record(1, "p1", 1n, "h1"), record(990, "p2", 2n, "h2")],
  },
  {
    invariant: "ownership",
    because: "a holder is replaced a lease after its grant, and less after its renewal",
    history: [
      record(1, "p1", 1n, "h1"),
      record(500, "p1", 1n, "h1"),
      record(1_100, "p2", 2n, "h2"),
    ],
  },
  {
    invariant: "ownership",
    because: "a holder is freed by somebody else",
    history: [record(1, "p1", 1n, "h1"), record(500, "p2", 1n, undefined)],
  },
];

const use: readonly Case[] = [
  {
    invariant: "kept",
    because: "a lease is lost without a reason",
    terms: { losesNothing: true },
    history: [granted(1, "p1", 1n), lost(2, "p1", 1n)],
  },
  {
    invariant: "kept",
    because: "a lease is never released",
    terms: { losesNothing: true },
    history: [granted(1, "p1", 1n), acted(2, "p1", 1n)],
  },
  {
    invariant: "in time",
    because: "a free lock is left alone",
    terms: { longestStillMs: 500 },
    history: [waits(0, "p2"), record(1, "p1", 1n, undefined), record(502, "p2", 2n, "h2")],
  },
  {
    invariant: "in time",
    because: "a dead holder is not replaced",
    terms: { longestStillMs: 500 },
    history: [
      waits(0, "p2"),
      record(1, "p1", 1n, "h1"),
      happened(2, "p1", "killed"),
      record(1_600, "p2", 2n, "h2"),
    ],
  },
  {
    invariant: "in time",
    because: "a process is no longer hindered, and still gets nowhere",
    terms: { longestStillMs: 500 },
    history: [
      waits(0, "p2"),
      happened(1, "p2", "hindered"),
      happened(5_000, "p2", "free again"),
      record(5_501, "p2", 1n, "h2"),
    ],
  },
  {
    invariant: "no idle wait",
    because: "a lock has a holder in the table, and nobody believes in it",
    terms: { longestIdleMs: 500 },
    history: [
      granted(0, "p1", 1n),
      waits(1, "p2"),
      released(2, "p1", 1n),
      record(3, "p1", 2n, "h2"),
      granted(700, "p2", 2n),
    ],
  },
];

const costs: readonly Case[] = [
  {
    invariant: "cost",
    because: "a grant takes two writes",
    history: [...GOOD, request(203, "grant")],
  },
  {
    invariant: "cost",
    because: "a grant is handed out without a write",
    history: GOOD.filter((event) => event.kind !== "request" || event.what !== "grant"),
  },
  {
    invariant: "cost",
    because: "a release takes two writes",
    history: [...GOOD, request(203, "release")],
  },
  {
    invariant: "cost",
    because: "a release is refused",
    history: [...GOOD, request(203, "release", false)],
  },
  {
    invariant: "cost",
    because: "a claim is refused though nobody else is there",
    history: [...GOOD, request(203, "grant", false)],
  },
  {
    invariant: "cost",
    because: "a lock that nobody else wants is polled",
    history: [...GOOD, request(203, "poll")],
  },
  {
    invariant: "cost",
    because: "a read is strong without need",
    history: [...GOOD, request(203, "look")],
  },
  {
    invariant: "cost",
    because: "a lease is renewed too often",
    history: GOOD.toSpliced(5, 0, keptFrom(20, "p1", 1n, 19)),
  },
  {
    invariant: "cost",
    because: "a lease is not renewed",
    history: GOOD.map((event) => (event.kind === "released" ? { ...event, atMs: 700 } : event)),
  },
  {
    invariant: "cost",
    because: "a waiter polls faster than it may",
    history: [
      waits(0, "p1"),
      record(1, "p2", 1n, "h1"),
      record(100, "p2", 1n, undefined),
      ...Array.from({ length: 60 }, (_, index) => request(index, "poll")),
      { kind: "gave up", by: "p1", name, code: "not-acquired", waited: true, atMs: 200 },
    ],
  },
];

describe("the checkers refuse", () => {
  const cases = [
    ...safety,
    ...use,
    ...costs.map((bad) => ({ ...bad, terms: { cost: COST } })),
  ] as const;
  it.each(cases)("$invariant: $because", ({ invariant, history, terms }) => {
    const found = check(history, { ...SAFETY, ...terms }).map((violation) => violation.invariant);
    expect(found).toContain(invariant);
  });

  it("something with each of them", () => {
    const refused = new Set(cases.map(({ invariant }) => invariant));
    expect(refused.size).toBe(Object.keys(checkers).length);
  });
});

describe("the checkers take", () => {
  it("a grant, an act and a release, on every term", () => {
    expect(check(GOOD, EVERYTHING)).toEqual([]);
    // And what is taken away from it is missed.
    expect(check(without("released"), EVERYTHING)).not.toEqual([]);
  });

  it("a takeover after the lease and its allowance, which the waiter has watched", () => {
    const history = [
      waits(0, "p2"),
      record(1, "p1", 1n, "h1"),
      happened(2, "p1", "killed"),
      record(1_025, "p2", 2n, "h2"),
      granted(1_026, "p2", 2n),
      released(1_030, "p2", 2n),
      record(1_031, "p2", 2n, undefined),
    ];
    expect(check(history, { ...SAFETY, losesNothing: true, longestStillMs: 500 })).toEqual([]);
  });

  it("a long wait of a process that is hindered", () => {
    const history = [
      waits(0, "p2"),
      happened(1, "p2", "hindered"),
      record(5_000, "p1", 1n, undefined),
    ];
    expect(check(history, { ...SAFETY, longestStillMs: 500, longestIdleMs: 500 })).toEqual([]);
  });

  it("two who believe, where nothing was promised about that, and no lower fence even there", () => {
    const terms = { ...SAFETY, isExclusive: false };
    const history = [granted(1, "p1", 1n), granted(2, "p2", 2n), acted(3, "p1", 1n)];
    expect(check(history, terms)).toEqual([]);
    const lower = [record(1, "p1", 2n, "h1"), record(2, "hand", 2n, undefined)];
    expect(check([...lower, record(3, "p2", 1n, "h2")], terms)).toHaveLength(1);
  });
});
