import { describe, expect, it } from "vitest";
import type { Inspection, Survey } from "../../../holdfast/src/admin/index.js";
import { digestOf } from "../../../holdfast/src/assign/share.js";
import { Breaks } from "../../../holdfast/src/internal/breaks.js";
import { systemTimers } from "../../../holdfast/src/platform/timers.js";
import type { ScheduleState } from "../../../holdfast/src/schedule/index.js";
import { detailOf, eventsOf } from "../../src/serve/detail.js";
import { figuresOf, metricsText } from "../../src/serve/metrics.js";
import { rowOf, viewOf } from "../../src/serve/view.js";
import type { Row, TableView } from "../../src/serve/view-types.js";
import { wordsOf, wordsOfSchedule } from "../../src/serve/words.js";

const LOCK = {
  ...{ name: "a", state: "held", holder: "h", owner: "worker-7", fence: 9n, leaseMs: 30_000 },
  ...{ acquiredAt: "2026-01-01T00:00:00.000Z", endsInMs: 26_000, acquirableInMs: 36_000 },
  appearsExpired: false,
} as Inspection;
const NO_BREAKS = new Breaks(systemTimers, () => 0);
const NOW_MS = Date.parse("2026-01-01T00:03:00.000Z");
const row = (change: Partial<Inspection>): Row =>
  rowOf("lock", { ...LOCK, ...change }, { waiters: 0, nowMs: NOW_MS });

describe("a row", () => {
  it("derives the silence from the end of the lease", () => {
    expect(row({})).toMatchObject({ state: "held", silentMs: 4_000, heldForMs: 180_000 });
  });

  it("derives the silence from the library's watch where the record has no end", () => {
    expect(row({ endsInMs: undefined, acquirableInMs: 10_000 })).toMatchObject({
      silentMs: 20_000,
    });
  });

  it("is late beyond the lease, and silent once a client may take over", () => {
    expect(row({ endsInMs: -2_000 })).toMatchObject({ state: "late", silentMs: 32_000 });
    expect(row({ endsInMs: -20_000, appearsExpired: true }).state).toBe("silent");
    expect(row({ state: "free" }).state).toBe("free");
  });
});

describe("the words about a record", () => {
  it("name the holder, the last renewal and the takeover", () => {
    expect(wordsOf(row({}))).toBe(
      "Held by worker-7 for 3 min; last renewed 4 s ago; it can be taken over in 36 s if the holder stays silent.",
    );
  });
});

describe("the row of a schedule", () => {
  const hour = (at: number): string => new Date(Date.UTC(2026, 0, 1, at)).toISOString();
  const memory = {
    ...{ rule: "every 1 h", attempt: 2, by: "w", begun: hour(0), end: hour(0), next: hour(1) },
    success: { due: hour(-1), at: hour(-1) },
    failure: { due: hour(0), at: hour(0), attempt: 2, by: "w", error: "Error: no" },
  };
  const data = { occurrence: hour(0), ended: true, outcome: "failed", schedule: memory };
  const of = (change: object, nowMs: number) =>
    rowOf("once", { ...LOCK, data: { ...data, ...change } } as Inspection, { waiters: 0, nowMs });

  it("has the last run, the next instant and the last failure", () => {
    expect(of({}, Date.parse(hour(0.5))).schedule).toEqual({
      ...{ rule: "every 1 h", due: hour(0), outcome: "failed", attempt: 2, lateMs: 0 },
      ...{ next: hour(1), lastSuccess: hour(-1) },
      lastFailure: { due: hour(0), error: "Error: no" },
    });
  });

  it("tells how late it is, and of a run without an end", () => {
    expect(of({}, Date.parse(hour(3))).schedule).toMatchObject({ lateMs: 2 * 3_600_000 });
    expect(of({ ended: false }, NOW_MS).schedule).toMatchObject({ outcome: "open" });
    // Nobody runs it: the holder is dead.
    const cutOff = rowOf(
      "once",
      { ...LOCK, data: { ...data, ended: false }, appearsExpired: true },
      {
        ...{ waiters: 0, nowMs: Date.parse(hour(3)) },
      },
    );
    expect(cutOff.schedule).toMatchObject({ outcome: "open", lateMs: 2 * 3_600_000 });
  });

  it("exists for no lock with the same data", () => {
    expect(row({ data } as Partial<Inspection>).schedule).toBeUndefined();
  });
});

describe("the words about a schedule", () => {
  const at = (hour: number): Date => new Date(Date.UTC(2026, 0, 1, hour));
  const state: ScheduleState = {
    ...{ rule: "every 1 h", due: at(3), outcome: "failed", isOpen: false, attempt: 2, by: "w" },
    ...{ begun: at(3), ended: at(3), retryAt: undefined, next: at(4) },
    lastSuccess: { due: at(2), at: at(2) },
    lastFailure: { due: at(3), at: at(3), attempt: 2, by: "w", error: "Error: no such host" },
  };

  it("name the last run, the next instant, the last success and the last failure", () => {
    expect(wordsOfSchedule(state, at(3).getTime(), false)).toBe(
      "Due every 1 h. The run for 2026-01-01T03:00:00.000Z, attempt 2: failed. Next due 2026-01-01T04:00:00.000Z. " +
        "Last success: 2026-01-01T02:00:00.000Z. Last failure: 2026-01-01T03:00:00.000Z, Error: no such host.",
    );
  });

  it("say how late it is, and are among those about its record", () => {
    expect(wordsOfSchedule(state, at(5).getTime(), false)).toContain("Late by 60 min.");
    const data = { occurrence: at(3).toISOString(), ended: true, outcome: "completed" };
    const once = rowOf("once", LOCK, { waiters: 0, nowMs: NOW_MS });
    const reading = { permits: [], waiters: [], history: undefined, onSession: undefined };
    const { words } = detailOf({ row: once, data, ...reading, place: [] });
    expect(words).toContain("The run for 2026-01-01T03:00:00.000Z: completed.");
  });
});

it("a request to the holder is in its row and in the words", () => {
  const asked = row({ request: { kind: "interrupt", by: "alice" } });
  expect(asked.request).toBe("interrupted by alice");
  expect(wordsOf(asked)).toContain("for 3 min; interrupted by alice; last renewed");
  expect(row({ request: { kind: "resign", by: undefined } }).request).toBe("asked to resign");
});

describe("the history", () => {
  it("shows gaps between fences, and forced releases before the next grant", () => {
    const grant = { holder: "h1", owner: "o", at: "t", how: "claimed" };
    const forced = { holder: "h1", by: "ops", reason: "r", at: "t", now: false };
    const grants = [
      { ...grant, holder: "h2", fence: 9n },
      { ...grant, fence: 6n },
    ];
    const events = eventsOf({ name: "a", grants, forced: [forced] } as never);
    expect(events.map(({ what }) => what)).toEqual(["grant", "gap", "forced", "grant"]);
    expect(events[1]).toEqual({ what: "gap", missing: "2" });
  });
});

describe("the members of assignments", () => {
  it("have their names told, each in its group, unless their sessions are over", async () => {
    const session = (id: string, change = {}) => ({
      ...{ id, state: "alive", appearsExpired: false, ...change },
    });
    const member = (group: string, id: string, names: readonly string[]) => ({
      ...{ group, session: id, owner: id, weight: 1, names: digestOf(names), isLeaving: false },
    });
    const locks = ["g/x", "g/in/y", "h/x"].map((name) => ({
      kind: "lock",
      lock: { ...LOCK, name },
    }));
    const survey = {
      ...{ locks, permits: [], queued: [], unreadable: [], terms: [] },
      sessions: [session("s1"), session("s2", { appearsExpired: true }), session("s3")],
      members: [
        member("g", "s1", ["x", "in/y"]),
        member("g", "s2", ["x", "in/y"]),
        member("h", "s3", ["x", "new"]),
      ],
    } as unknown as Survey;
    const reading = { earlier: [], isGap: false, nowMs: NOW_MS };
    const { rows, members } = await viewOf(survey, reading, NO_BREAKS);
    expect(rows.map(({ shouldBe }) => shouldBe)).toEqual(["s1", "s1", undefined]);
    expect(members.map(({ isDead }) => isDead)).toEqual([false, true, false]);
  });
});

describe("the sessions", () => {
  it("name their records by kind and namespace, and a record with two permits once", async () => {
    const session = { id: "s1", state: "alive", owner: "one", appearsExpired: false };
    const lock = (kind: string, name: string, change: Partial<Inspection> = {}) => ({
      kind,
      lock: { ...LOCK, name, session: "s1", ...change },
    });
    const permit = { ...LOCK, weight: 1, session: "s1" };
    const survey = {
      ...{ sessions: [session, { ...session, id: "s2" }], queued: [], unreadable: [], terms: [] },
      members: [],
      locks: [
        lock("lock", "a", { namespace: "n" }),
        lock("lock", "b", { session: undefined }),
        lock("leader", "a"),
        lock("lock", "a"),
      ],
      permits: [{ kind: "semaphore", lock: { name: "c", permits: [permit, permit] } }],
    } as unknown as Survey;
    const reading = { earlier: [], isGap: false, nowMs: NOW_MS };
    const [first, second] = (await viewOf(survey, reading, NO_BREAKS)).sessions;
    expect(first?.records).toEqual([
      { kind: "lock", name: "a", namespace: "n" },
      { kind: "leader", name: "a" },
      { kind: "lock", name: "a" },
      { kind: "semaphore", name: "c" },
    ]);
    expect(second).toMatchObject({ id: "s2", records: [] });
  });

  it("list every other record of the session as a neighbour, also one of the same name", () => {
    const ofSession = [
      { kind: "lock", name: "a" },
      { kind: "lock", name: "a", namespace: "n" },
      { kind: "leader", name: "a" },
    ] as const;
    const onSession = { records: ofSession, holds: 5 };
    const reading = { row: row({}), permits: [], waiters: [], history: undefined, onSession };
    const { besides, besidesCount } = detailOf({ ...reading, place: [] });
    expect([besides, besidesCount]).toEqual([ofSession.slice(1), 4]);
  });
});

describe("the metrics", () => {
  it("show for a kind without a queue that it has none, instead of an empty queue", async () => {
    const rows = ["lock", "leader", "once", "semaphore", "read-write"].map((kind) => ({
      ...row({}),
      kind,
    }));
    const view = { rows, unreadable: [] } as unknown as TableView;
    const { text } = await metricsText(await figuresOf(view, NO_BREAKS), {
      isUp: true,
      ageS: 1,
      totalUnits: 1,
    });
    const kindsOf = (metric: string) =>
      [...text.matchAll(new RegExp(`^holdfast_${metric}\\{.*kind="(.*?)"`, "gm"))].map(
        ([, kind]) => kind,
      );
    expect(kindsOf("held")).toHaveLength(5);
    const queued = ["lock", "semaphore", "read-write"];
    expect(kindsOf("waiting")).toEqual(queued);
    expect(kindsOf("longest_wait_seconds")).toEqual(queued);
  });

  it("cut a long prefix before a character that would be halved", async () => {
    const rows = ["\u{1f600}", "\u{1d4b3}"].map((last) =>
      row({ name: `${"a".repeat(63)}${last}/x` }),
    );
    const view = { rows, unreadable: [] } as unknown as TableView;
    expect(await figuresOf(view, NO_BREAKS)).toMatchObject([{ prefix: "a".repeat(63), held: 2 }]);
  });

  it("count each kind under 50 prefixes, and the rest under one more", async () => {
    const rows = Array.from({ length: 500 }, (_, at) => row({ name: `p${at}/x` }));
    const view = { rows, unreadable: [] } as unknown as TableView;
    const figures = await figuresOf(view, NO_BREAKS);
    expect(figures).toHaveLength(51);
    expect(figures.reduce((sum, { held }) => sum + held, 0)).toBe(500);
  });
});
