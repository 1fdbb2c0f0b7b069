import { dynamodbLease } from "../../packages/formats/src/dynamodb-lease.js";
import { correctEnd } from "../../packages/holdfast/src/core/acquire/correct-end.js";
import { GrantWrite } from "../../packages/holdfast/src/core/acquire/grant.js";
import { ClientContext } from "../../packages/holdfast/src/core/context.js";
import { LeaseEnd } from "../../packages/holdfast/src/core/hold/lease-end.js";
import { deadAtMs, decide } from "../../packages/holdfast/src/core/record/decide.js";
import { observe } from "../../packages/holdfast/src/core/record/observation.js";
import { TableClock } from "../../packages/holdfast/src/core/table-clock.js";
import { Standby } from "../../packages/holdfast/src/election/standby.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { endIn } from "../../packages/holdfast/src/native/native-values.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/core/first-sight.test.ts";
const WRONG_DATE = "packages/holdfast/test/core/wrong-date.test.ts";

/** Defects in the end of a lease in the table's time, and in how a rival judges by it. */
export const FIRST_SIGHT: readonly Variant[] = [
  {
    name: "granted-after-long-correction",
    what: "A grant counts although its lease passed while the client corrected the end of the lease.",
    rules: ["R2"],
    edits: [
      {
        in: { GrantWrite },
        from: "return hasSent && !this.#repetition.isInTime() ? REFUSED : fenced;",
        to: "return fenced;",
      },
    ],
    caughtBy: { test: TEST, title: "is refused if its lease passes while the end is corrected" },
  },
  {
    name: "end-goes-back",
    what: "An older renewal that takes effect late moves the end back.",
    rules: ["R5"],
    edits: [{ in: { nativeFormat }, from: "noLaterEnd(held, renewal),", to: "" }],
    caughtBy: { test: TEST, title: "never goes back when an older renewal takes effect late" },
  },
  {
    name: "end-without-bound",
    what: "A rival allows for no difference of two servers.",
    rules: [],
    edits: [
      {
        in: { deadAtMs },
        from: "endMs + maxClockErrorMs - dated.dateMs",
        to: "endMs - dated.dateMs",
      },
      {
        in: { deadAtMs },
        from: "endMs + maxClockErrorMs - tableNowMs",
        to: "endMs - tableNowMs",
      },
    ],
    caughtBy: { invariant: "ownership", within: 200 },
  },
  {
    name: "wall-clock-for-date",
    what: "A rival compares the end with its own wall clock.",
    rules: ["R1"],
    edits: [
      {
        in: { ClientContext },
        from: "this.nowMs(), dateMs)",
        to: "this.nowMs(), dateMs && this.wallMs())",
      },
      {
        in: { deadAtMs },
        from: "    byWitnesses: nowMs + watchMs(confirmedLeftMs, maxClockDrift),\n",
        to: "    byWitnesses: nowMs - 0 * confirmedLeftMs,\n",
      },
    ],
    caughtBy: { invariant: "ownership", within: 200 },
  },
  {
    name: "expiry-by-the-wall-clock",
    what: "A holder in the format of dynamodb-lease writes the expiry by its own clock, although it knows the table's time.",
    rules: ["R11"],
    edits: [
      {
        in: { dynamodbLease },
        from: "Math.min(Math.max(byWallMs, endMs - AFTER_EXPIRY_MS), endMs)",
        to: "byWallMs",
      },
    ],
    caughtBy: {
      test: "packages/formats/test/dynamodb-lease.test.ts",
      title: "has its expiry by the table's time when the holder's clock is off by %i ms",
    },
  },
  {
    name: "date-not-rounded-up",
    what: "A holder takes a `Date` for the exact time.",
    rules: [],
    edits: [{ in: { TableClock }, from: "belowMs: dateMs + DATE_STEP_MS", to: "belowMs: dateMs" }],
    caughtBy: {
      test: "packages/holdfast/test/core/table-clock.test.ts",
      title:
        "is at most a second after the `Date`, and the longest time since the request, widened by the drift",
    },
  },
  {
    name: "date-for-ever",
    what: "A holder counts no time since the request that brought the `Date`.",
    rules: ["R2"],
    edits: [
      {
        in: { TableClock },
        from: "(elapsedMsUntil(now, sent) + bootStepMs) * this.#rate",
        to: "bootStepMs * this.#rate",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/table-clock.test.ts",
      title: "passes as long as one clock runs: %s",
    },
  },
  {
    name: "grant-unchecked",
    what: "A first grant counts before its end was compared with the answer's `Date`.",
    rules: [],
    edits: [
      {
        in: { correctEnd },
        from: "if (hasSoundEnd(context, { ...result.record, leaseMs }, deadline, now)) return",
        to: "if (leaseMs > 0) return",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "corrects its end with one more write if the wall clock is wrong by %i ms",
    },
  },
  {
    name: "end-limits-nothing",
    what: "The deadline ignores an end that turned out too early.",
    rules: [],
    edits: [
      { in: { LeaseEnd }, from: "if (span === undefined) return", to: "if (span !== null) return" },
    ],
    caughtBy: {
      test: TEST,
      title: "limits the deadline if the clocks of the machine stood still before the renewal",
    },
  },
  {
    name: "date-ahead-believed",
    what: "A holder believes a single `Date` that is far ahead.",
    rules: [],
    edits: [
      {
        in: { TableClock },
        from: "const isConfirmed = isAhead && before !== undefined;",
        to: "const isConfirmed = isAhead;",
      },
    ],
    caughtBy: { test: WRONG_DATE, title: "ends no lease of %s" },
  },
  {
    name: "date-behind-believed",
    what: "A holder believes a single `Date` that is behind.",
    rules: [],
    edits: [
      {
        in: { TableClock },
        from: "if (first === undefined) return seen;",
        to: "if (first !== undefined || seen) return seen;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/table-clock.test.ts",
      title: "of %i ms moves neither bound away from the true time",
    },
  },
  {
    name: "takeover-by-one-date",
    what: "A client takes over by the `Date` of one answer.",
    rules: ["R3"],
    edits: [
      {
        in: { deadAtMs },
        from: "Math.max(dueMs.byAnswer, dueMs.byWitnesses)",
        to: "dueMs.byAnswer",
      },
    ],
    caughtBy: {
      test: WRONG_DATE,
      title: "lets no newcomer take a live holder's lock, with a %s wall clock",
    },
  },
  {
    name: "eventual-date",
    what: "The `Date` of an eventually consistent read counts. The condition of the takeover still protects.",
    rules: [],
    edits: [
      {
        in: { observe },
        from: 'consistency === "strong" && dateMs !== undefined',
        to: "dateMs !== undefined",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/observation.test.ts",
      title: "never comes from an eventually consistent read",
    },
  },
  {
    name: "session-not-asked",
    what: "A record on a session is judged by its own end.",
    rules: [],
    edits: [
      {
        in: { decide },
        from: "if (session !== undefined) return",
        to: "if (session !== undefined && record.endMs === undefined) return",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/decide.test.ts",
      title: "returns the expected decision when %s",
    },
  },
  {
    name: "end-of-another-grant",
    what: "An end counts whichever grant it belongs to.",
    rules: [],
    edits: [
      {
        in: { endIn },
        from: 'stringIn(end.M, "holder") !== holder',
        to: "holder === undefined",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "does not count if it names another holder, as after a grant by an older version",
    },
  },
  {
    name: "asked-leader-read-too-late",
    what: "A preferred candidate reads after its own poll although the leader that it asked may lead again by then.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "isResigning ? Math.min(pollMs, this.#askedLeaseMs * ASKED_PART) : pollMs",
        to: "isResigning ? pollMs : pollMs",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/election/slow-preferred.test.ts",
      title: "a preferred candidate %o replaces a leader %o that stops within %i ms, for good",
    },
  },
  {
    name: "election-watches-only",
    what: "A candidate never reads strongly, so the end of a dead leader's lease tells it nothing.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "const isDoubtful = found.item === undefined || this.#seemsOver(found);",
        to: "const isDoubtful = found.item === undefined;",
      },
    ],
    caughtBy: {
      test: "test/sim/first-sight.test.ts",
      title:
        "elects a leader in place of a dead one at the first try, and never in place of a live one",
    },
  },
  {
    name: "election-believes-eventual-reads",
    what: "A candidate believes an eventually consistent read that the leader's lease is over.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "const certain = isDoubtful ? await this.#read(true) : found;",
        to: "const certain = isDoubtful && found.item === undefined ? await this.#read(true) : found;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/election/election.test.ts",
      title: "does not believe an eventually consistent read that a leader's lease is over",
    },
  },
];
