import { describe, expect, it } from "vitest";
import { check, checkers } from "../../verification/sim/checkers.js";
import type { RequestKind, Timed } from "../../verification/sim/history.js";
import { SAFETY, type Terms } from "../../verification/sim/terms.js";

/** A bad history, under the terms that are not those of every run. */
interface Bad {
  readonly history: readonly Timed[];
  readonly terms: Partial<Terms>;
}

/** By invariant, a bad history for each way to break it. */
type Cases = Readonly<Record<string, Readonly<Record<string, readonly Timed[] | Bad>>>>;

const under = (terms: Partial<Terms>, history: readonly Timed[]): Bad => ({ history, terms });

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
const onSession = (
  atMs: number,
  by: string,
  fence: bigint,
  holder: string,
  session = "s1",
): Timed => ({ kind: "record", by, name, fence, holder, leaseMs: 1_000, session, atMs });
const row = (
  atMs: number,
  by: string,
  version: bigint | undefined,
  holder: string | undefined = undefined,
): Timed => ({
  kind: "session row",
  by,
  session: "s1",
  version,
  holder,
  atMs,
  ...(holder === undefined ? {} : { leaseMs: 1_000 }),
});
const sessionKept = (atMs: number, by: string, sentMs: number): Timed => ({
  kind: "session kept",
  by,
  session: "s1",
  sentMs,
  leaseMs: 1_000,
  atMs,
});
const moved = (atMs: number, by: string, fence: bigint, sentMs: number): Timed => ({
  kind: "kept",
  by,
  name,
  fence,
  sentMs,
  leaseMs: 1_000,
  session: "s1",
  atMs,
});
const changing = (atMs: number, leaseMs: number, session?: string): Timed => ({
  kind: "changing",
  by: "p1",
  name,
  fence: 1n,
  leaseMs,
  ...(session === undefined ? {} : { session }),
  atMs,
});
const sessionOver = (atMs: number, by: string, why: "lost" | "closed"): Timed => ({
  kind: "session over",
  by,
  session: "s1",
  why,
  atMs,
});
const sessionRequest = (atMs: number, by: string, what: RequestKind, isApplied = true): Timed => ({
  kind: "session request",
  by,
  session: "s1",
  what,
  isApplied,
  atMs,
});
const waits = (atMs: number, by: string): Timed => ({ kind: "waits", by, name, atMs });
const happened = (
  atMs: number,
  by: string,
  what: "killed" | "hindered" | "free again" | "at rest",
): Timed => ({ kind: "process", by, what, atMs });
const request = (
  atMs: number,
  what: "grant" | "release" | "poll" | "look",
  isApplied = true,
): Timed => ({ kind: "request", by: "p1", name, what, isApplied, atMs });

const COST = { renewMs: 300, longestLeaseMs: 900, minPollMs: 20, maxPollMs: 400, latencyMs: 1 };

/** A grant and its release, in a run without faults. */
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

const safety: Cases = {
  exclusion: {
    "a former holder acts after a later grant": [
      granted(1, "p1", 1n),
      granted(2, "p2", 2n),
      acted(3, "p1", 1n),
    ],
    "a lease is handed out after a later grant": [granted(1, "p2", 2n), granted(2, "p1", 1n)],
  },
  deadline: {
    "a holder acts after the end of its lease, counted from the send": [
      keptFrom(900, "p1", 1n, 0),
      granted(900, "p1", 1n),
      acted(1_000, "p1", 1n),
    ],
    "a holder ignores the margin for drift": [
      keptFrom(2, "p1", 1n, 0),
      granted(2, "p1", 1n),
      acted(995, "p1", 1n),
    ],
    "an answer revives an expired lease": [
      keptFrom(2, "p1", 1n, 0),
      keptFrom(1_100, "p1", 1n, 900),
      acted(1_200, "p1", 1n),
    ],
  },
  "fence order": {
    "two holders have the same fence": [record(1, "p1", 2n, "h1"), record(2, "p2", 2n, "h2")],
    "a fence goes back after a deletion": [
      record(1, "p1", 2n, "h1"),
      record(2, "ttl", 2n, undefined),
      record(3, "p2", 1n, "h2"),
    ],
  },
  "guarded writes": {
    "a former holder's write is carried out": [
      record(1, "p1", 1n, "h1"),
      record(2, "p2", 2n, "h2"),
      { kind: "guarded", by: "p1", name, fence: 1n, isApplied: true, atMs: 3 },
    ],
  },
  "lost is final": {
    "a holder acts after the report of its loss": [lost(1, "p1", 1n), acted(2, "p1", 1n)],
    "a holder acts after its release": [released(1, "p1", 1n), acted(2, "p1", 1n)],
    "a loss is reported twice": [lost(1, "p1", 1n), lost(2, "p1", 1n)],
  },
  ownership: {
    "another process renews": [record(1, "p1", 1n, "h1"), record(5_000, "p2", 1n, "h1")],
    "a holder is replaced before its lease has passed": [
      record(1, "p1", 1n, "h1"),
      record(990, "p2", 2n, "h2"),
    ],
    "a holder is replaced a full lease after its grant, but sooner after its renewal": [
      record(1, "p1", 1n, "h1"),
      record(500, "p1", 1n, "h1"),
      record(1_100, "p2", 2n, "h2"),
    ],
    "a different process frees the record of a holder": [
      record(1, "p1", 1n, "h1"),
      record(500, "p2", 1n, undefined),
    ],
  },
};

/** A lock on a session with renewals until 600, as the process and the table see the lock. */
const ALIVE: readonly Timed[] = [
  row(0, "p1", 1n, "o1"),
  sessionKept(1, "p1", 0),
  row(2, "p1", 2n, "o1"),
  sessionKept(3, "p1", 1),
  record(10, "p1", 1n, "h1"),
  keptFrom(11, "p1", 1n, 9),
  granted(11, "p1", 1n),
  onSession(300, "p1", 1n, "h1"),
  moved(301, "p1", 1n, 299),
  row(600, "p1", 3n, "o1"),
  sessionKept(601, "p1", 599),
];

const sessions: Cases = {
  deadline: {
    "a holder acts after its session's deadline": [...ALIVE, acted(1_595, "p1", 1n)],
    "a renewal of its own extends a lease on a session": [
      ...ALIVE.slice(0, 9),
      acted(995, "p1", 1n),
    ],
    "an answer revives an expired session": [
      ...ALIVE,
      sessionKept(1_700, "p1", 1_500),
      acted(1_800, "p1", 1n),
    ],
    "a shortened lease counts only from its answer": [
      keptFrom(2, "p1", 1n, 0),
      changing(100, 500),
      acted(601, "p1", 1n),
    ],
    "the later of two deadlines counts during an unanswered move": [
      sessionKept(1, "p1", 0),
      keptFrom(302, "p1", 1n, 300),
      changing(600, 1_000, "s1"),
      acted(995, "p1", 1n),
    ],
  },
  "lost is final": {
    "a holder acts after the loss of its session": [
      ...ALIVE,
      sessionOver(700, "p1", "lost"),
      acted(701, "p1", 1n),
    ],
    "a holder acts after the close of its session": [
      ...ALIVE,
      sessionOver(700, "p1", "closed"),
      acted(701, "p1", 1n),
    ],
  },
  ownership: {
    "a record on a live session is taken, after a long time without a change": [
      ...ALIVE,
      record(1_550, "p2", 2n, "h2"),
    ],
    "a record on a dead session is taken before the session is ended": [
      ...ALIVE,
      record(9_000, "p2", 2n, "h2"),
    ],
    "a record is taken when its session's row is absent, without an ended row": [
      ...ALIVE,
      row(700, "hand", undefined),
      record(9_000, "p2", 2n, "h2"),
    ],
    "a session is ended before its lease has passed": [...ALIVE, row(1_500, "p2", 3n)],
    "an absent session is ended before its lease has passed": [
      ...ALIVE,
      row(700, "hand", undefined),
      row(1_600, "p2", 0n),
    ],
    "another process renews a session": [...ALIVE, row(9_000, "p2", 4n, "o1")],
    "a record on a session is renewed": [...ALIVE, onSession(700, "p1", 1n, "h1")],
  },
  "ended for good": {
    "an ended session is renewed": [...ALIVE, row(700, "p1", 3n), row(701, "p1", 4n, "o1")],
    "a renewal creates the row of a session again": [
      ...ALIVE,
      row(700, "hand", undefined),
      row(701, "p1", 4n, "o1"),
    ],
    "a different process claims a session": [...ALIVE, row(9_000, "p2", 4n, "o2")],
    "the version of a session goes back": [...ALIVE, row(700, "p1", 2n, "o1")],
  },
  "no leak": {
    "the session of a process at rest is alive": [...ALIVE, happened(1_500, "p1", "at rest")],
    "a process at rest renews its session": [
      ...ALIVE,
      happened(9_000, "p1", "at rest"),
      row(9_001, "p1", 4n, "o1"),
    ],
  },
  kept: {
    "a session is lost without a reason": under({ losesNothing: true }, [
      sessionOver(700, "p1", "lost"),
    ]),
    "a lease is closed without the close of its session": under({ losesNothing: true }, [
      granted(1, "p1", 1n),
      sessionOver(1, "p1", "closed"),
      { kind: "lost", by: "p1", name, fence: 1n, reason: "closed", atMs: 2 },
    ]),
  },
  "in time": {
    "a record on an ended session is not taken over": under({ longestStillMs: 500 }, [
      ...ALIVE,
      row(700, "p1", 3n),
      waits(701, "p2"),
      waits(1_202, "p3"),
    ]),
    "a dead session is not ended": under({ longestStillMs: 500 }, [
      ...ALIVE,
      waits(701, "p2"),
      waits(2_240, "p3"),
    ]),
    "a record keeps an ended lease on a live session": under({ longestStillMs: 500 }, [
      ...ALIVE,
      lost(610, "p1", 1n),
      waits(611, "p2"),
      ...Array.from({ length: 5 }, (_, index) => {
        const version = 4n + BigInt(index);
        return row(900 + 300 * index, "p1", version, "o1");
      }),
      waits(2_200, "p3"),
    ]),
  },
};

const use: Cases = {
  kept: {
    "a lease is lost without a reason": under({ losesNothing: true }, [
      granted(1, "p1", 1n),
      lost(2, "p1", 1n),
    ]),
    "a lease is never released": under({ losesNothing: true }, [
      granted(1, "p1", 1n),
      acted(2, "p1", 1n),
    ]),
  },
  "in time": {
    "a free lock is not granted to its waiter": under({ longestStillMs: 500 }, [
      waits(0, "p2"),
      record(1, "p1", 1n, undefined),
      record(502, "p2", 2n, "h2"),
    ]),
    "a dead holder is not replaced": under({ longestStillMs: 500 }, [
      waits(0, "p2"),
      record(1, "p1", 1n, "h1"),
      happened(2, "p1", "killed"),
      record(1_600, "p2", 2n, "h2"),
    ]),
    "a process is no longer hindered, and still not granted": under({ longestStillMs: 500 }, [
      waits(0, "p2"),
      happened(1, "p2", "hindered"),
      happened(5_000, "p2", "free again"),
      record(5_501, "p2", 1n, "h2"),
    ]),
  },
  "no idle wait": {
    "the table names a holder, but no process believes in the lease": under(
      { longestIdleMs: 500 },
      [
        granted(0, "p1", 1n),
        waits(1, "p2"),
        released(2, "p1", 1n),
        record(3, "p1", 2n, "h2"),
        granted(700, "p2", 2n),
      ],
    ),
  },
};

const costs: Cases = {
  cost: {
    "a grant takes two writes": [...GOOD, request(203, "grant")],
    "a grant is handed out without a write": GOOD.filter(
      (event) => event.kind !== "request" || event.what !== "grant",
    ),
    "a release takes two writes": [...GOOD, request(203, "release")],
    "a release is refused": [...GOOD, request(203, "release", false)],
    "the rollback of a claim whose session ended does not slow down": [
      ...GOOD,
      { kind: "gave up", by: "p1", name, code: "closed", waited: false, atMs: 203 },
      ...Array.from({ length: 20 }, (_, index) => request(204 + index, "release", false)),
    ],
    "a claim without rivals is refused": [...GOOD, request(203, "grant", false)],
    "a lock without rivals is polled": [...GOOD, request(203, "poll")],
    "a read is strongly consistent without need": [...GOOD, request(203, "look")],
    "a lease is renewed too often": GOOD.toSpliced(5, 0, keptFrom(20, "p1", 1n, 19)),
    "a lease is not renewed": GOOD.map((event) =>
      event.kind === "released" ? { ...event, atMs: 700 } : event,
    ),
    "a waiter polls faster than allowed": [
      waits(0, "p1"),
      record(1, "p2", 1n, "h1"),
      record(100, "p2", 1n, undefined),
      ...Array.from({ length: 60 }, (_, index) => request(index, "poll")),
      { kind: "gave up", by: "p1", name, code: "not-acquired", waited: true, atMs: 200 },
    ],
  },
};

const sessionCosts: Cases = {
  "session cost": {
    "a session is renewed once for every lock": [
      row(0, "p1", 1n, "o1"),
      ...Array.from({ length: 20 }, (_, index) => row(300, "p1", 2n + BigInt(index), "o1")),
    ],
    "a session is renewed too seldom": [
      row(0, "p1", 1n, "o1"),
      row(1, "p1", 2n, "o1"),
      row(900, "p1", 2n),
    ],
    "a session is written after its end": [
      row(0, "p1", 1n, "o1"),
      row(1, "p1", 1n),
      row(2, "p1", 1n),
    ],
    "a process has a refused renewal of its own session": [
      row(0, "p1", 1n, "o1"),
      sessionRequest(1, "p1", "renewal", false),
    ],
    "a rival ends a live session": [row(0, "p1", 1n, "o1"), sessionRequest(9_000, "p2", "release")],
    "an ended row is written without a deletion": [sessionRequest(1, "p2", "data")],
    "a session is read more often than its locks": [
      row(0, "p1", 1n, "o1"),
      { ...request(1, "poll"), by: "p2" } as Timed,
      ...[2, 3, 4].map((atMs) => sessionRequest(atMs, "p2", "poll")),
    ],
    "a rival tries to end a session more often than it acquires": [
      row(0, "p1", 1n, "o1"),
      sessionRequest(1, "p2", "release", false),
    ],
  },
};

const firstSight: Cases = {
  "at first sight": {
    "a process that tries once is refused by a holder long dead": under({ firstSightMs: 5_000 }, [
      { ...record(0, "p1", 1n, "h1"), leaseMs: 1_000, endInMs: 1_500 } as Timed,
      { kind: "gave up", by: "p2", name, code: "contended", waited: false, atMs: 6_001 } as Timed,
    ]),
  },
};

describe("the check of a takeover at first sight", () => {
  const dead = { ...record(0, "p1", 1n, "h1"), leaseMs: 1_000, endInMs: 1_500 } as Timed;
  const refused = { kind: "gave up", by: "p2", name, code: "contended", waited: false } as const;
  const place = { kind: "place", by: "p3", name, ticket: 1n, leaseMs: 1_000 } as const;
  const terms = { ...SAFETY, firstSightMs: 5_000 };

  it("accepts a try that would pass a live waiter in the queue", () => {
    const waiting: Timed = { ...place, holder: "h3", atMs: 5_500 };
    expect(check([dead, waiting, { ...refused, atMs: 6_001 }], terms)).toEqual([]);
    expect(check([dead, waiting, { ...refused, atMs: 11_501 }], terms)).toHaveLength(1);
  });

  it("refuses it if the waiter has left", () => {
    const left: Timed[] = [
      { ...place, holder: "h3", atMs: 5_500 },
      { ...place, holder: undefined, atMs: 5_600 },
    ];
    expect(check([dead, ...left, { ...refused, atMs: 6_001 }], terms)).toHaveLength(1);
  });
});

describe("the checkers refuse", () => {
  const listed = (cases: Cases, terms: Partial<Terms> = {}) =>
    Object.entries(cases).flatMap(([invariant, ways]) =>
      Object.entries(ways).map(([because, bad]) => {
        const its = "history" in bad ? bad : under(terms, bad);
        return { invariant, because, ...its };
      }),
    );
  const cases = [
    ...[firstSight, safety, sessions, use].flatMap((some) => listed(some)),
    ...[costs, sessionCosts].flatMap((some) => listed(some, { cost: COST })),
  ];
  it.each(cases)("$invariant: $because", ({ invariant, history, terms }) => {
    const found = check(history, { ...SAFETY, ...terms }).map((violation) => violation.invariant);
    expect(found).toContain(invariant);
  });

  it("a bad history with each checker", () => {
    const refusing = Object.values(checkers).filter((checker) =>
      cases.some(({ history, terms }) => checker(history, { ...SAFETY, ...terms }).length > 0),
    );
    expect(refusing).toHaveLength(Object.keys(checkers).length);
  });
});

describe("the checkers accept", () => {
  it("a lock on a session, the loss of the session, and a takeover after its end or deletion", () => {
    const terms = { ...SAFETY, losesNothing: false, longestStillMs: 500 };
    const dead = [...ALIVE, waits(700, "p2"), happened(1_000, "p1", "killed")];
    const taken = (fromMs: number): Timed[] => [
      record(fromMs + 2, "p2", 2n, "h2"),
      granted(fromMs + 3, "p2", 2n),
      released(fromMs + 4, "p2", 2n),
      record(fromMs + 5, "p2", 2n, undefined),
    ];
    expect(check([...ALIVE, acted(1_500, "p1", 1n)], terms)).toEqual([]);
    expect(check([...dead, row(1_630, "p2", 3n), ...taken(1_630)], terms)).toEqual([]);
    const deleted = [...dead, row(1_100, "hand", undefined)];
    expect(check([...deleted, row(2_130, "p2", 0n), ...taken(2_130)], terms)).toEqual([]);
    // No process believes in an ended session, so a second watcher may end it again at once.
    const again = [row(2_140, "hand", undefined), row(2_150, "p3", 0n)];
    expect(check([...deleted, row(2_130, "p2", 0n), ...taken(2_130), ...again], terms)).toEqual([]);
    // A late copy of the first write creates the deleted row again; no process believes in this row.
    const late = [row(1_200, "p1", 1n, "o1"), row(2_230, "p2", 1n)];
    expect(check([...deleted, ...late, ...taken(2_230)], terms)).toEqual([]);
  });

  it("a lease ended by the close of its session, and a session lost long before its process came to rest", () => {
    const closed: Timed = { kind: "lost", by: "p1", name, fence: 1n, reason: "closed", atMs: 700 };
    const history = [...ALIVE, sessionOver(700, "p1", "closed"), closed, row(701, "p1", 3n)];
    expect(check(history, { ...SAFETY, losesNothing: true })).toEqual([]);
    expect(check([...ALIVE, happened(9_000, "p1", "at rest")], SAFETY)).toEqual([]);
  });

  it("a grant, an act and a release, on every term", () => {
    expect(check(GOOD, EVERYTHING)).toEqual([]);
    // A missing event is reported.
    expect(check(without("released"), EVERYTHING)).not.toEqual([]);
  });

  it("a takeover after a watch of the lease and its margin", () => {
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

  it("a long wait of a hindered process", () => {
    const history = [
      waits(0, "p2"),
      happened(1, "p2", "hindered"),
      record(5_000, "p1", 1n, undefined),
    ];
    expect(check(history, { ...SAFETY, longestStillMs: 500, longestIdleMs: 500 })).toEqual([]);
  });

  it("two holders without promised exclusion, but no lower fence", () => {
    const terms = { ...SAFETY, isExclusive: false };
    const history = [granted(1, "p1", 1n), granted(2, "p2", 2n), acted(3, "p1", 1n)];
    expect(check(history, terms)).toEqual([]);
    const lower = [record(1, "p1", 2n, "h1"), record(2, "hand", 2n, undefined)];
    expect(check([...lower, record(3, "p2", 1n, "h2")], terms)).toHaveLength(1);
  });
});
