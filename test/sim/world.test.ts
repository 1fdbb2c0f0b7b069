import { describe, expect, it } from "vitest";
import { check } from "../../verification/sim/checkers.js";
import type { Event, Timed } from "../../verification/sim/history.js";
import { simulateWorld } from "../../verification/sim/simulation.js";
import { SAFETY, type Terms } from "../../verification/sim/terms.js";
import { worldCheckers } from "../../verification/sim/world/checkers/all.js";
import { EndedLeases } from "../../verification/sim/world/memory.js";
import { WORLD_KINDS } from "../../verification/sim/world/traits.js";
import { countOf, FROM, freshOf } from "./seeds.js";

// Uses fresh seeds at every run, and prints failing seeds. For more seeds: npm run sim -- --world --seeds 1000
const SEEDS = freshOf("HOLDFAST_SIM_WORLD", 1, 14);
const ONCE_FAILED = (
  [
    [20_207, undefined],
    [30_225, undefined],
    [737_208_176, "aged world"],
    [9_038, "world"],
    [9_146, "world"],
    [9_310, "world"],
    [124_969_965, "calm world"],
    [157_670_283, "calm world"],
    [900_237, undefined],
    [1_009_973, undefined],
    [1_205_473, undefined],
    [2_027_233, undefined],
    [2_127_057, undefined],
    [2_108_597, "world"],
    [70_113, undefined],
    [67, "cloned world"],
    [95, "cloned world"],
    [310_054, undefined],
    [330_025, undefined],
    [330_039, undefined],
    [538_758_035, "cloned world"],
  ] as const
).slice(0, countOf("HOLDFAST_SIM_WORLD", 1, 21));
const LENGTH_MS = 60_000;

describe("processes with every operation on the same names, under faults,", () => {
  it(
    `keep every invariant (${SEEDS} fresh seeds from ${FROM})`,
    async () => {
      for (let at = 0; at < SEEDS; at += 1) {
        const seed = FROM + at;
        // Each kind of run in turn, from any of them.
        const kind = WORLD_KINDS[seed % WORLD_KINDS.length];
        const { violations } = await simulateWorld(seed, LENGTH_MS, kind);
        expect(violations.slice(0, 3), `seed ${seed} of kind ${kind}`).toEqual([]);
      }
    },
    60_000 + 20_000 * SEEDS,
  );

  it.each(ONCE_FAILED)(
    "keep every invariant with seed %i, which once failed",
    async (seed, kind) => {
      expect((await simulateWorld(seed, LENGTH_MS, kind)).violations.slice(0, 3)).toEqual([]);
    },
    120_000,
  );

  // A run whose sessions live on to the end. Without the sweep of rule 56, this seed shows an orphan.
  // rule: protocol 56
  it("leave no record that names a live session without a believing holder", async () => {
    const { violations, faults } = await simulateWorld(9_069, LENGTH_MS, "world");
    expect(violations.slice(0, 3)).toEqual([]);
    expect(Object.keys(faults)).not.toEqual([]);
  }, 60_000);

  it("behave equally for equal seeds", async () => {
    const first = await simulateWorld(3, 20_000, "world");
    expect((await simulateWorld(3, 20_000, "world")).hash).toBe(first.hash);
    expect((await simulateWorld(4, 20_000, "world")).hash).not.toBe(first.hash);
  }, 60_000);
});

type Draft = Event extends infer E ? (E extends Event ? Omit<E, "atMs"> : never) : never;

/** A history of events a second apart. */
const of = (...events: readonly Draft[]): Timed[] =>
  events.map((event, index) => ({ ...event, atMs: 1_000 * index }) as Timed);

const a = { name: "a", fence: 1n } as const;
const p1 = { by: "p1", ...a } as const;
const p2 = { by: "p2", ...a } as const;
const task = { kind: "occurrence", name: "once#x", occurrence: "1", isRerun: false } as const;
const permit = { kind: "permit", name: "semaphore#s", weight: 1, limit: 1 } as const;
const permits = { kind: "permits", name: "semaphore#s", by: "p1", used: 1, limit: 1 } as const;
const place = { kind: "place", name: "a", ticket: 3n, leaseMs: 5_000 } as const;
const queue = { kind: "queue", by: "p1", ...a, holder: undefined, tail: 3n, served: 2n } as const;
const use = { ...p1, kind: "use", fence: 11n, of: 20n, keepMs: 500 } as const;
const record = (by: string, fence: bigint, holder: string | undefined): Draft => ({
  kind: "record",
  by,
  name: "a",
  fence,
  holder,
});

interface Case {
  readonly invariant: string;
  readonly because: string;
  readonly history: readonly Timed[];
  readonly terms?: Partial<Terms>;
}

const BAD: readonly Case[] = [
  {
    invariant: "told fence",
    because: "a process is told a fence that its record does not have",
    history: of(record("p1", 2n, "h1"), { ...p1, kind: "granted" }),
  },
  {
    invariant: "all or none",
    because: "two locks are granted one after the other",
    history: of(record("p1", 1n, "h1"), { ...record("p1", 2n, "h2"), name: "b" } as Draft, {
      kind: "granted together",
      by: "p1",
      parts: ["1 a", "2 b"],
    }),
  },
  {
    invariant: "one importer",
    because: "an import replaces another grant than the transfer",
    history: of(record("p1", 1n, "t1"), record("p2", 2n, "h2"), record("p3", 3n, "h3"), {
      kind: "imported",
      by: "p3",
      name: "a",
      fence: 3n,
      from: 1n,
    }),
  },
  {
    invariant: "obedience",
    because: "a leader resigns for a request to another leader",
    history: of(
      record("p2", 2n, "h2"),
      record("p1", 1n, "h1"),
      { ...p2, kind: "asked", fence: 2n, what: "resign", isTold: true, isNow: false },
      { ...p1, kind: "obeyed", what: "asked to resign" },
    ),
  },
  {
    invariant: "told in time",
    because: "a holder acts long after it was asked to release",
    history: of(
      { ...p2, kind: "asked", what: "release", isTold: true, isNow: false },
      { ...p1, kind: "acted" },
    ),
    terms: { told: { leases: 1, leaseMs: 500 } },
  },
  {
    invariant: "permits",
    because: "two processes act with permits that weigh more than the limit",
    history: of(
      { ...permit, by: "p1", holder: "h1", what: "granted" },
      { ...permit, by: "p2", holder: "h2", what: "granted" },
      { ...permit, by: "p1", holder: "h1", what: "acted" },
    ),
  },
  {
    invariant: "ownership",
    because: "a process acts with a permit that was removed",
    history: of(
      { ...permits, holders: ["h1"], fences: [1n] },
      { ...permits, holders: [], fences: [] },
      { ...permit, by: "p1", holder: "h1", what: "acted" },
    ),
  },
  {
    invariant: "fence order",
    because: "a permit has the fence of an earlier one",
    history: of(
      { ...permits, holders: ["h1"], fences: [2n] },
      { ...permits, holders: ["h2"], fences: [2n] },
    ),
  },
  {
    invariant: "permits",
    because: "the permits in a record weigh more than the limit",
    history: of(
      { ...permit, by: "p1", holder: "h1", what: "granted" },
      { ...permits, used: 2, holders: ["h1", "h2"], fences: [1n, 2n] },
    ),
  },
  {
    invariant: "permits",
    because: "a grant changes the limit",
    history: of(
      { ...permits, holders: ["h1"], fences: [1n] },
      { ...permits, limit: 2, used: 2, holders: ["h1", "h2"], fences: [1n, 2n] },
    ),
  },
  {
    invariant: "kept",
    because: "a permit is lost in a run that loses nothing",
    history: of({ ...permit, by: "p1", holder: "h1", what: "lost" }),
    terms: { losesNothing: true },
  },
  {
    invariant: "begun once",
    because: "an occurrence begins again",
    history: of({ ...task, by: "p1", what: "began" }, { ...task, by: "p2", what: "began" }),
  },
  {
    invariant: "completed stays completed",
    because: "an occurrence that may run again begins after it was completed",
    history: of(
      { ...task, isRerun: true, by: "p1", what: "completed" },
      { ...task, isRerun: true, by: "p2", what: "began" },
    ),
  },
  {
    invariant: "completed stays completed",
    because: "no record shows the end of an occurrence that may run again",
    history: of(
      { ...task, isRerun: true, by: "p1", what: "began" },
      { ...task, isRerun: true, by: "p2", what: "recorded" },
      { ...task, isRerun: true, by: "p1", what: "completed" },
    ),
  },
  {
    invariant: "order of occurrences",
    because: "an occurrence begins after a later one",
    history: of(
      { ...task, by: "p1", occurrence: "2", what: "began" },
      { ...task, by: "p2", what: "began" },
    ),
  },
  {
    invariant: "run at least once",
    because: "the last occurrence never ended",
    history: of({ ...task, by: "p1", what: "began" }, { ...task, by: "p2", what: "due" }),
  },
  {
    invariant: "no orphan",
    because: "an import that was given up leaves the transfer reserved",
    history: of(
      record("p1", 1n, "t1"),
      { ...p2, kind: "import given up" },
      { ...p1, kind: "acted" },
    ),
    terms: { answeredMs: 500 },
  },
  {
    invariant: "no orphan",
    because: "a process waits for its own former grant",
    history: of(
      { ...p1, kind: "released", holder: "h1" },
      record("p1", 2n, "h1"),
      { kind: "waits", by: "p1", name: "a" },
      { ...p1, kind: "acted" },
    ),
    terms: { answeredMs: 500 },
  },
  {
    invariant: "starvation",
    because: "a waiter waits during more grants to others than allowed",
    history: of(
      { kind: "waits", by: "p1", name: "a" },
      record("p2", 1n, "h1"),
      record("p3", 2n, "h2"),
    ),
    terms: { mostPassed: 1 },
  },
  {
    invariant: "ids",
    because: "two processes have one holder id",
    history: of(record("p1", 1n, "h1"), record("p2", 2n, "h1")),
  },
  {
    invariant: "newest first",
    because: "a waiter that interrupts is granted after another has taken its number",
    history: of(
      { kind: "number", by: "p1", name: "a", asker: "first" },
      { kind: "number", by: "p2", name: "a", asker: "second" },
      { ...p1, kind: "asker", asker: "second" },
      { ...p1, kind: "interrupts" },
    ),
  },
  {
    invariant: "no barging",
    because: "a grant without a ticket passes a queue",
    history: of(queue, { ...queue, by: "p2", fence: 2n, holder: "h2" }),
  },
  {
    invariant: "no barging",
    because: "a try that may pass a queue excuses no grant before it",
    history: of(
      queue,
      { ...queue, by: "p2", fence: 2n, holder: "h2" },
      { kind: "barges", by: "p2", name: "a" },
    ),
  },
  {
    invariant: "no barging",
    because: "a try that has passed a queue excuses no grant after it",
    history: of(
      queue,
      { kind: "barges", by: "p2", name: "a" },
      { ...queue, by: "p2", fence: 2n, holder: "h2" },
      { kind: "barged", by: "p2", name: "a" },
      { ...queue, by: "p2", fence: 3n, holder: "h3" },
    ),
  },
  {
    invariant: "served order",
    because: "an earlier ticket is granted after a later one",
    history: of(queue, { ...queue, fence: 2n, holder: "h2", served: 1n }),
  },
  {
    invariant: "first come",
    because: "a release passes the place of another process",
    history: of(
      queue,
      { ...place, by: "p2", holder: "h2" },
      { ...queue, holder: undefined, served: 3n },
    ),
  },
  {
    invariant: "no early removal",
    because: "a process removes a live place of another",
    history: of(
      queue,
      { ...place, by: "p1", holder: "h1" },
      { kind: "place", name: "a", ticket: 3n, by: "p2", holder: undefined },
    ),
  },
  {
    invariant: "uses",
    because: "a use has the fence of an earlier one",
    history: of(record("p1", 20n, "h1"), use, use),
  },
  {
    invariant: "uses in time",
    because: "a grant is used again when it was kept for its length",
    history: of(
      { kind: "process", by: "p1", what: "started" },
      record("p1", 20n, "h1"),
      use,
      { ...p1, kind: "released", fence: 11n },
      { ...use, fence: 12n },
    ),
  },
  {
    invariant: "uses in time",
    because: "a grant is used again after an answer has shown the queue behind it",
    history: of(
      record("p1", 20n, "h1"),
      use,
      { ...queue, fence: 20n, holder: "h1" },
      { ...p1, kind: "kept", fence: 20n, sentMs: 2_500, leaseMs: 5_000 },
      { ...use, fence: 12n },
    ),
  },
  {
    invariant: "heard in time",
    because: "a holder that listens is not told of an interruption",
    history: of(
      { kind: "process", by: "p1", what: "started" },
      { ...record("p1", 1n, "h1"), leaseMs: 60_000 } as Draft,
      { ...p1, kind: "listens", everyMs: 100 },
      { ...p1, kind: "asked", what: "interrupt", isTold: true, isNow: false },
      ...Array.from({ length: 6 }, (): Draft => ({ ...p1, kind: "acted" })),
    ),
  },
  {
    invariant: "longest",
    because: "a holder acts after its longest time",
    history: of(
      { ...p1, kind: "limited", maxHoldMs: 1_500 },
      { ...p1, kind: "granted" },
      { ...p1, kind: "acted" },
      { ...p1, kind: "acted" },
    ),
  },
  {
    invariant: "longest",
    because: "a lease without faults is lost before its longest time",
    history: of(
      { ...p1, kind: "limited", maxHoldMs: 9_000 },
      { ...p1, kind: "granted" },
      { ...p1, kind: "lost", reason: "held-too-long" },
    ),
    terms: { losesNothing: true },
  },
  {
    invariant: "no passed ticket",
    because: "a process keeps taking tickets below the last granted one",
    history: of(
      { ...queue, served: 20n },
      ...Array.from({ length: 11 }, (_, at): Draft => {
        return { ...place, by: "p1", holder: "h1", ticket: BigInt(at) };
      }),
    ),
  },
];

describe("the checkers of a world", () => {
  it.each(BAD)("refuse $invariant: $because", ({ invariant, history, terms }) => {
    const found = check(history, { ...SAFETY, ...terms }).map((violation) => violation.invariant);
    expect(found).toContain(invariant);
  });

  it("refuse a bad history each", () => {
    const silent = Object.entries(worldCheckers).filter(([, checker]) =>
      BAD.every(({ history, terms }) => checker(history, { ...SAFETY, ...terms }).length === 0),
    );
    expect(silent).toEqual([]);
  });

  it("find leases that are in memory after their end", () => {
    const ended = new EndedLeases();
    const kept = Array.from({ length: 8 }, () => new AbortController());
    for (const { signal } of kept) ended.add(signal);
    for (let index = 0; index < 20; index += 1) ended.add(new AbortController().signal);
    expect(ended.whatIsLeft()).toMatch(/ of 28 released leases are still in memory/);
    expect(new EndedLeases().whatIsLeft()).toBeUndefined();
    expect(kept).toHaveLength(8);
  });

  it("accept a wait during many renewals of one holder", () => {
    const held = of(
      { kind: "waits", by: "p1", name: "a" },
      record("p2", 1n, "h1"),
      record("p2", 1n, "h1"),
      record("p2", 1n, "h1"),
    );
    expect(check(held, { ...SAFETY, mostPassed: 1 })).toEqual([]);
  });

  it("accept an import that one call of a process gave up, and another got", () => {
    const got = of(
      record("p1", 1n, "t1"),
      { ...p2, kind: "imports" },
      record("p2", 2n, "h2"),
      { kind: "granted", by: "p2", name: "a", fence: 2n },
      { ...p2, kind: "import given up" },
      { kind: "acted", by: "p2", name: "a", fence: 2n },
    );
    expect(check(got, { ...SAFETY, answeredMs: 500 })).toEqual([]);
    const found = check(
      got.filter(({ kind }) => kind !== "granted"),
      { ...SAFETY, answeredMs: 500 },
    );
    expect(found.map(({ invariant }) => invariant)).toContain("no orphan");
  });

  it("accept a given-up import of a lock that another call of the process keeps", () => {
    const got = of(
      record("p1", 1n, "t1"),
      record("p2", 20n, "h2"),
      { ...use, by: "p2" },
      { kind: "granted", by: "p2", name: "a", fence: 11n },
      { ...p2, kind: "imports" },
      { ...p2, kind: "import given up" },
      { kind: "acted", by: "p2", name: "a", fence: 11n },
    );
    const found = (given: readonly Timed[]): string[] =>
      check(given, { ...SAFETY, answeredMs: 500 }).map(({ invariant }) => invariant);
    expect(found(got)).not.toContain("no orphan");
    expect(found(got.filter(({ kind }) => kind !== "use"))).toContain("no orphan");
  });

  it("accept a wait for a former grant behind a waiter of the process for several locks", () => {
    const entry = { ...place, by: "p1", holder: "h2" } as const;
    const history = of(
      { ...p1, kind: "released", holder: "h1" },
      record("p1", 2n, "h1"),
      { ...entry, name: "b" },
      entry,
      { kind: "waits", by: "p1", name: "a" },
      { ...p1, kind: "acted" },
      { ...p1, kind: "acted" },
    );
    const found = (given: readonly Timed[]): string[] =>
      check(given, { ...SAFETY, answeredMs: 500 }).map(({ invariant }) => invariant);
    expect(found(history)).not.toContain("no orphan");
    expect(found(history.filter((event) => !("name" in event) || event.name !== "b"))).toContain(
      "no orphan",
    );
  });

  it("accept the first use of a grant past a queue that its holder was told of", () => {
    const history = of(
      record("p1", 20n, "h1"),
      { ...queue, fence: 20n, holder: "h1" },
      { ...p1, kind: "kept", fence: 20n, sentMs: 1_500, leaseMs: 5_000 },
      { ...use, fence: 12n },
    );
    const found = check(history, SAFETY).map(({ invariant }) => invariant);
    expect(found).not.toContain("uses in time");
  });

  it("accept a completed occurrence whose end the record shows", () => {
    const rerun = { ...task, isRerun: true, by: "p1" } as const;
    const ended = of(
      { ...rerun, what: "began" },
      { ...rerun, what: "recorded" },
      { ...rerun, what: "completed" },
    );
    expect(check(ended, SAFETY)).toEqual([]);
  });

  it("accept one passed ticket for each of ten workers, and more after a ticket that is not passed", () => {
    const taken = (first: bigint): Draft[] =>
      Array.from({ length: 10 }, (_, at): Draft => {
        return { ...place, by: "p1", holder: "h1", ticket: first + BigInt(at) };
      });
    const history = of(
      { ...queue, served: 30n },
      ...taken(1n),
      { ...place, by: "p1", holder: "h1", ticket: 40n },
      ...taken(11n),
    );
    expect(check(history, SAFETY)).toEqual([]);
  });

  it("accept two holders after a forced release at once", () => {
    const forced = of(
      { ...p2, kind: "forces", isNow: true },
      { ...record("p1", 1n, "h1"), leaseMs: 60_000 } as Draft,
      { ...p1, kind: "granted" },
      { ...p2, kind: "asked", what: "release", isTold: true, isNow: true },
      record("p2", 1n, undefined),
      record("p3", 2n, "h3"),
      { kind: "granted", by: "p3", name: "a", fence: 2n },
      { ...p1, kind: "acted" },
    );
    expect(check(forced, SAFETY)).toEqual([]);
    expect(
      check(
        forced.filter(({ kind }) => kind !== "asked"),
        SAFETY,
      ),
    ).toHaveLength(1);
    expect(
      check(
        forced.filter(({ kind }) => kind !== "forces"),
        SAFETY,
      ),
    ).toHaveLength(1);
  });

  it("accept an import before any watch, past the queue", () => {
    const moved = of(
      { ...queue, holder: "t1" },
      { ...record("p1", 1n, "t1"), leaseMs: 60_000 } as Draft,
      { ...p2, kind: "imports" },
      { ...queue, by: "p2", fence: 2n, holder: "h2" },
      record("p2", 2n, "h2"),
    );
    expect(check(moved, SAFETY)).toEqual([]);
    const found = check(
      moved.filter(({ kind }) => kind !== "imports"),
      SAFETY,
    );
    expect(found.map(({ invariant }) => invariant)).toEqual(["ownership", "no barging"]);
  });
});
