import { TaskLease } from "../../packages/holdfast/src/core/hold/task-lease.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { begunOf, decideStep, endedOf } from "../../packages/holdfast/src/schedule/decide.js";
import { ScheduledJob } from "../../packages/holdfast/src/schedule/job.js";
import { memoryIn } from "../../packages/holdfast/src/schedule/memory.js";
import { look } from "../../packages/holdfast/src/schedule/record.js";
import { TableTime } from "../../packages/holdfast/src/schedule/table-time.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/schedule/schedule.test.ts";
const DECIDE = "packages/holdfast/test/schedule/decide.test.ts";
const SIMULATION = {
  test: "test/sim/schedule.test.ts",
  title: "run each instant as `catchUp` and `retries` say, and never two at once",
};

/** Defects in schedules. */
export const SCHEDULES: readonly Variant[] = [
  {
    name: "schedule-begins-on-any-free-record",
    what: "The claim of a run does not require that nothing was granted since the look.",
    rules: [],
    edits: [
      {
        in: { look },
        from: 'const onto = { kind: "claim", onto: { kind: "free", fence, version } } as const;\n    const state',
        to: 'const onto = { kind: "claim", onto: fence + version > 0n ? ({ kind: "existing" } as const) : ({ kind: "absent" } as const) } as const;\n    const state',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "does not begin on a record that has changed since the look",
    },
  },
  {
    name: "schedule-trusts-a-wrong-clock-again",
    what: "A wrong clock counts as right once the bounds of the table's time are far enough apart.",
    rules: [],
    edits: [
      {
        in: { TableTime },
        from: "else if (!this.isUnsure) this.#isWallWrong = false;",
        to: "else this.#isWallWrong = false;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "runs on time at instants that are days apart, with every `catchUp`",
    },
  },
  {
    name: "schedule-completes-what-it-cuts-off",
    what: "A run that its schedule cut off counts as completed if its work ended without an error.",
    rules: [],
    edits: [
      { in: { ScheduledJob }, from: "if (!either.aborted) return result;", to: "return result;" },
    ],
    caughtBy: {
      test: TEST,
      title: "a run that ends quietly has failed, and its period is not lost: by %s",
    },
  },
  {
    name: "schedule-works-after-its-stop",
    what: "A stop while a claim is on its way does not keep the work from beginning.",
    rules: [],
    edits: [
      {
        in: { ScheduledJob },
        from: "await lease[Symbol.asyncDispose]();\n      return NEVER;",
        to: "",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "leaves the instant to others if the schedule is stopped while its claim is on its way",
    },
  },
  {
    name: "schedule-not-awaited-by-close",
    what: "A client that closes frees the record of a run that is still stopping.",
    rules: [],
    edits: [{ in: { ScheduledJob }, from: "running.add(handle);", to: "" }],
    caughtBy: { test: TEST, title: "a client that closes waits until the run has ended" },
  },
  {
    name: "task-lease-freed-by-its-work",
    what: "The work of a run frees the record of the run by a release of its lease.",
    rules: [],
    edits: [{ in: { TaskLease }, from: "hold.handles.add();", to: "" }],
    caughtBy: {
      test: TEST,
      title: "keeps its lease and its memory, whatever a run does with its lease",
    },
  },
  {
    name: "schedule-takes-a-freed-run-for-none",
    what: "A record that another process's undone takeover has freed counts as if its run had never begun.",
    rules: [],
    edits: [
      {
        in: { look },
        from: "return mark !== undefined && mark === lastHolder;",
        to: "return mark !== lastHolder || mark !== undefined;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "counts the attempt of a dead run that another process's undone takeover has freed",
    },
  },
  {
    name: "schedule-takes-its-own-claim-for-a-run",
    what: "A claim that its client gave up for want of an answer counts as a run, whose attempt is spent.",
    rules: [],
    edits: [
      {
        in: { look },
        from: 'wasNeverBegun(place, record.holder, memory) ? "free" : "interrupted"',
        to: 'wasNeverBegun(place, "", memory) ? "free" : "interrupted"',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "repeats the same attempt after a claim whose answer and whose release were lost",
    },
  },
  {
    name: "schedule-takes-its-own-run-for-a-claim",
    what: "A run that lost its lease in this client counts as a claim without work, and is repeated as the same attempt.",
    rules: [],
    edits: [
      {
        in: { look },
        from: "givenUp !== undefined && isSame && context.abandoned.has(holder);",
        to: "isSame || context.abandoned.has(holder);",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "does not repeat a run of its own that lost its lease, and whose end was lost",
    },
  },
  {
    name: "schedule-tells-of-a-dead-run-by-its-claim",
    what: "A process tells of a dead run only once the claim that replaces its record is answered.",
    rules: [],
    edits: [
      {
        in: { ScheduledJob },
        from: "this.#tellOfInterrupted(sight.seen, who.nowMs);\n      throw error;",
        to: "throw error;",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "tells of a dead run, also if the claim that replaces its record stays unanswered: retries %s",
    },
  },
  {
    name: "schedule-continues-a-stale-memory",
    what: "A takeover continues the memory of a stale read, which was that of an earlier grant.",
    rules: [],
    edits: [
      {
        in: { look },
        from: 'isHeld && (kind === "take-over" || (kind === "wait" && first.seemsOver));',
        to: 'isHeld && kind === "wait" && first.seemsOver;',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "continues the memory of the grant that it takes over, after a stale read",
    },
  },
  {
    name: "schedule-trusts-its-clock",
    what: "What is due comes from this machine's clock alone.",
    rules: [],
    edits: [
      {
        in: { TableTime },
        from: "if (!this.#isWallWrong) return Math.floor(wallMs);",
        to: "if (wallMs > 0) return Math.floor(wallMs);",
      },
    ],
    caughtBy: SIMULATION,
  },
  {
    name: "schedule-believes-one-date-after-long",
    what: "After a long sleep, one answer shows the table's time, although its bound has drifted.",
    rules: [],
    edits: [
      {
        in: { TableTime },
        from: "return boundMs - this.#context.tableClock.earliestMs() > this.errorMs;",
        to: "return !this.#context.tableClock.isConfirmed;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "runs on time at instants that are days apart, with every `catchUp`",
    },
  },
  {
    name: "schedule-forgets-its-first-start",
    what: "The first start of a schedule writes nothing, so that all processes may end before the first instant unnoticed.",
    rules: [],
    edits: [
      {
        in: { ScheduledJob },
        from: "if (isNew) return this.#remember(shown, nowMs);",
        to: "if (isNew && nowMs < 0) return this.#remember(shown, nowMs);",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "remembers its first start, although all processes ended before the first instant",
    },
  },
  {
    name: "schedule-retries-for-ever",
    what: "An interrupted run is repeated without a bound.",
    rules: [],
    edits: [
      {
        in: { decideStep },
        from: "return attempt <= retries ? { dueMs, attempt: attempt + 1, atMs: now.nowMs } : undefined;",
        to: "return retries >= 0 ? { dueMs, attempt: attempt + 1, atMs: now.nowMs } : undefined;",
      },
    ],
    caughtBy: { test: TEST, title: "does not run it again without `retries`, and runs the next" },
  },
  {
    name: "schedule-catches-up-only-the-newest",
    what: "With `all`, only the newest missed instant runs.",
    rules: [],
    edits: [
      {
        in: { decideStep },
        from: "return hasRetry ? undefined : firstMissed(rule, baseMs, newestMs);",
        to: "return hasRetry ? undefined : Math.max(firstMissed(rule, baseMs, newestMs), newestMs);",
      },
    ],
    caughtBy: { test: TEST, title: "runs each in order with `all`" },
  },
  {
    name: "schedule-overtakes-a-retry",
    what: "With `all`, the next instant runs while the one before is to be retried.",
    rules: [],
    edits: [
      {
        in: { decideStep },
        from: "return hasRetry ? undefined : firstMissed(rule, baseMs, newestMs);",
        to: "return firstMissed(rule, baseMs, newestMs);",
      },
    ],
    caughtBy: { test: TEST, title: "holds up later instants with `all`" },
  },
  {
    name: "schedule-loses-an-interruption",
    what: "The next run does not record that the one before was cut off.",
    rules: [],
    edits: [
      {
        in: { begunOf },
        from: "failure: interruptedIn(before, who.nowMs) ?? memory?.failure,",
        to: "failure: memory?.failure,",
      },
    ],
    caughtBy: { test: DECIDE, title: "tells of an interrupted run in that of the next" },
  },
  {
    name: "schedule-believes-a-wrong-instant",
    what: "An instant in the record that is not due yet stops the schedule until then.",
    rules: [],
    edits: [
      {
        in: { decideStep },
        from: "seen.memory !== undefined && seen.memory.dueMs > limitMs;",
        to: "seen.memory !== undefined && seen.memory.dueMs > limitMs * 2;",
      },
    ],
    caughtBy: { test: TEST, title: "repairs a record that names a later instant" },
  },
  {
    name: "schedule-passes-over-what-waited",
    what: "With `wait`, too, the end of a run passes over the instants during it.",
    rules: [],
    edits: [
      {
        in: { endedOf },
        from: 'overlap === "skip" ? rule.last(nowMs) : undefined;',
        to: 'overlap !== "interrupt" ? rule.last(nowMs) : undefined;',
      },
    ],
    caughtBy: { test: TEST, title: "runs it afterwards with `wait`" },
  },
  {
    name: "schedule-repeats-once",
    what: "A schedule repeats an interrupted occurrence of `once()`, which must not run again.",
    rules: [],
    edits: [
      {
        in: { memoryIn },
        from: "isEnded: ended !== false || schedule === undefined,",
        to: "isEnded: ended !== false,",
      },
    ],
    caughtBy: { test: DECIDE, title: "takes the data of once() for a run that is over" },
  },
  {
    name: "grant-of-once-is-a-claim-undone",
    what: "A grant of `once()` that keeps the data of a dead run looks, when it is given back, like that run's claim undone.",
    rules: ["R5"],
    edits: [
      {
        in: { nativeFormat },
        from: 'if (ref.kind !== "once" || grant.data !== undefined) return change;',
        to: 'if (ref.name !== "") return change;',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/schedule/schedule.test.ts",
      title: "counts the attempt of a dead run after the takeover of once(), if %s",
    },
  },
  {
    name: "schedule-reads-in-a-loop",
    what: "A process watches a dead run without a pause, until a `Date` shows the end of its lease.",
    rules: [],
    edits: [
      {
        in: { ScheduledJob },
        from: "return Math.max(overInMs, context.jittered(FIRST_PAUSE_MS));",
        to: "return overInMs;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/schedule/schedule.test.ts",
      title:
        "is not read in a loop when the lease of a dead run is over by less than a `Date` shows",
    },
  },
];
