import { GrantWrite } from "../../packages/holdfast/src/core/acquire/grant.js";
import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { mostPassedAt, outcomeOf } from "../../packages/holdfast/src/core/acquire/outcome.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { giveUpLease } from "../../packages/holdfast/src/core/hold/release.js";
import { LocalQueue } from "../../packages/holdfast/src/core/local-queue.js";
import { Pacer } from "../../packages/holdfast/src/core/pacer.js";
import { Entry } from "../../packages/holdfast/src/core/queue/entry.js";
import { queueing } from "../../packages/holdfast/src/core/queue/fifo.js";
import { permissionForPlaces } from "../../packages/holdfast/src/core/queue/permission.js";
import { readQueue } from "../../packages/holdfast/src/core/queue/predecessors.js";
import { leftByRecord } from "../../packages/holdfast/src/core/queue/progress.js";
import { takeTickets } from "../../packages/holdfast/src/core/queue/ticket.js";
import { Waiting } from "../../packages/holdfast/src/core/queue/wait-turn.js";
import { decide } from "../../packages/holdfast/src/core/record/decide.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { queueCondition } from "../../packages/holdfast/src/native/native-conditions.js";
import type { Edit, Variant } from "./variant.js";

const STARVATION = "packages/holdfast/test/locks/starvation.test.ts";
const CROWD = "packages/holdfast/test/locks/crowd.test.ts";
const TROUBLE = "packages/holdfast/test/locks/fair-lock/trouble.test.ts";

const LEFT_FREE = "packages/holdfast/test/locks/fair-lock/left-free.test.ts";

const COUNTER_BEHIND_UNSEEN: Edit = {
  in: { takeTickets },
  from: "return served !== undefined && tickets !== undefined && tickets.first <= served;",
  to: "return served !== undefined && tickets === undefined;",
};

// A transaction takes a ticket above `served`, whatever the counter.
const NEVER_AT_ONCE: Edit = {
  in: { queueing },
  from: 'isPassedOver = outcome.kind === "passed-over";',
  to: "isPassedOver = false;",
};

/** Defects in the queue before a record. */
export const QUEUES: readonly Variant[] = [
  {
    name: "positions-told-to-none",
    what: "Each change of a local queue visits all its waiters, also if none wants to know its position.",
    rules: [],
    edits: [
      { in: { LocalQueue }, from: "if (this.#followers === 0) return;\n    for (", to: "for (" },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/local-queue.test.ts",
      title: "visits no other waiter at a hand-off",
    },
  },
  {
    name: "hand-off-by-expired-place",
    what: "A release hands the lock off by a ticket of a place that has expired.",
    rules: [],
    edits: [
      {
        in: { giveUpLease },
        from: "if (localQueue.place !== undefined) return localQueue.place.isHeld;",
        to: "if (localQueue.place !== undefined) return true;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/shared-place.test.ts",
      title:
        "do not get the lock by tickets of a place that expired while the process held the lock",
    },
  },
  {
    name: "ticket-out-of-order",
    what: "A grant with a ticket does not require a ticket above `served`.",
    rules: ["R1"],
    edits: [
      {
        in: { queueCondition },
        from: 'return [any(isAbsent("served"), below)];',
        to: "return [];",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/native/native.test.ts",
      title: "is granted only to tickets above the last granted ticket",
    },
  },
  {
    name: "fast-path-barges",
    what: "A client which finds the lock free passes the waiters in the queue.",
    rules: ["R1"],
    edits: [
      {
        in: { queueCondition },
        from: "if (passage === undefined) return [EMPTY_QUEUE];",
        to: "if (passage === undefined) return [];",
      },
    ],
    caughtBy: { invariant: "no barging", within: 30, of: "world" },
  },
  {
    name: "hand-off-passes-queue",
    what: "A hand-off without a ticket passes the waiters of other processes.",
    rules: ["R1"],
    edits: [
      {
        in: { nativeFormat },
        from: "    condition: all(holdersCondition(from), ...queueCondition(grant)),\n",
        to: '    condition: all(holdersCondition(from), ...(grant.passage?.kind === "ticket" ? queueCondition(grant) : [])),\n',
      },
      {
        in: { giveUpLease },
        from: "return !isQueued && localQueue.localHandoffs",
        to: "return isQueued !== undefined && localQueue.localHandoffs",
      },
    ],
    caughtBy: { invariant: "no barging", within: 20, of: "calm world" },
  },
  {
    name: "tickets-overlap",
    what: "A process counts one ticket more than it took for its place.",
    rules: ["R1"],
    edits: [
      {
        in: { takeTickets },
        from: "first: tail - BigInt(count) + 1n, last: tail",
        to: "first: tail - BigInt(count), last: tail",
      },
    ],
    caughtBy: { invariant: "progress", within: 60, of: "crashing world" },
  },
  {
    name: "used-up-place-left",
    what: "A process keeps the entry of a place without tickets.",
    rules: [],
    edits: [
      {
        in: { LocalQueue },
        from: "if (this.#place?.next === undefined) this.leavePlace();",
        to: "if (this.#place?.next === undefined) this.#place = undefined;",
      },
    ],
    // Not by the simulation: other waiters remove such an entry now, by the record that they read.
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/shared-place.test.ts",
      title:
        "share a place with a ticket for each, and get the lock one after the other at their turn",
    },
  },
  {
    name: "place-left-early",
    what: "A process deletes the entry of its place after the first grant, while it has tickets left.",
    rules: [],
    edits: [
      {
        in: { LocalQueue },
        from: "if (this.#place?.next === undefined) this.leavePlace();",
        to: "this.#place?.leave();\n    if (this.#place?.next === undefined) this.leavePlace();",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/shared-place.test.ts",
      title:
        "share a place with a ticket for each, and get the lock one after the other at their turn",
    },
  },
  {
    name: "served-past-others",
    what: "A release marks one ticket more than its own place as granted.",
    rules: ["R1"],
    edits: [
      {
        in: { giveUpLease },
        from: "return place.last;",
        to: "return place.last + 1n;",
      },
    ],
    caughtBy: { invariant: "first come", within: 60, of: "aged world" },
  },
  {
    name: "waiter-removed-unwatched",
    what: "A client judges a waiter dead at its first observation.",
    rules: ["R3"],
    edits: [
      {
        in: { readQueue },
        from: "isRubbish(entry) ? record : await deadIn(context, place, owner, cancellation);",
        to: "record;",
      },
    ],
    caughtBy: { invariant: "no early removal", within: 20, of: "calm world" },
  },
  {
    name: "waiter-removed-as-read",
    what: "A client that has watched an entry removes the state that its last read shows, which may be older.",
    rules: ["R4"],
    edits: [
      {
        in: { readQueue },
        from: "!(await isRemoved(context, place, known))",
        to: "!(await isRemoved(context, place, record))",
      },
    ],
    caughtBy: {
      test: TROUBLE,
      title: "lose the entry that was watched, and not the one that a late read shows",
    },
  },
  {
    name: "place-regained",
    what: "A waiter whose entry expired continues at its old place.",
    rules: ["R2"],
    edits: [
      {
        in: { Entry },
        from: "return this.#cancellation.isStopped || this.#isBlind || !this.#place.isHeld;",
        to: "return this.#cancellation.isStopped;",
      },
      {
        in: { Entry },
        from: '    place.lossSignal.addEventListener("abort", this.#end);\n',
        to: "",
      },
    ],
    caughtBy: { invariant: "trace R2", within: 60, of: "aged world" },
  },
  {
    name: "entry-left",
    what: "A waiter which gives up leaves its entry to the waiters behind it.",
    rules: ["R14"],
    edits: [
      {
        in: { LocalQueue },
        from: "    this.leavePlace();\n    this.#isBusy = false;",
        to: "    this.#isBusy = false;",
      },
    ],
    caughtBy: { invariant: "no orphan", within: 60, of: "tampered world" },
  },
  {
    name: "late-entry-unseen",
    what: "The first waiter of the queue does not read again before its claim.",
    rules: [],
    edits: [
      {
        in: { queueing },
        from: "await contend({ ...settled, settings: own, place: waiting });",
        to: "await contend({ ...settled, settings: own, place: { isFirst: async () => waiting !== undefined || waiting.isFirst() } });",
      },
    ],
    caughtBy: {
      test: TROUBLE,
      title: "is not passed by the next waiter if its entry is written late",
    },
  },
  {
    name: "first-in-queue-holds",
    what: "The queue's first waiter is the holder, even while its predecessor lives, as in the published recipe.",
    rules: ["R1", "R3"],
    edits: [
      {
        in: { decide },
        from: "  if (now.isAbandoned(holder)) return takeOver;\n",
        to: '  if (now.isAbandoned(holder) || now.passage?.kind === "ticket") return takeOver;\n',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20, of: "calm world" },
  },
  {
    name: "enqueued-twice",
    what: "A waiter without an answer for its entry takes another ticket, and leaves the first entry behind.",
    rules: ["R14"],
    edits: [
      {
        in: { GrantWrite },
        from: "this.#context.claim(this.#current(), repetition.start, timeoutMs, signal),\n",
        to: `this.#context
          .claim(this.#current(), repetition.start, timeoutMs, signal)
          .then((sent) =>
            sent.kind === "unknown" && this.#ref.isEntry === true ? { kind: "refused", isLost: true } : sent,
          ),
`,
      },
      {
        in: { GrantWrite },
        from: "        const verdict = this.#verdictOn(sent);\n",
        to: "        if (sent.isLost) return REFUSED;\n        const verdict = this.#verdictOn(sent);\n",
      },
      {
        in: { GrantWrite },
        from: "        if (!this.#isIdOfAnother) this.#context.abandon",
        to: "        if (this.#ref.isEntry !== true) this.#context.abandon",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/trouble.test.ts",
      title: "(%j) to write %i of an acquisition costs no order and leaves nothing behind",
    },
  },
  {
    name: "released-id-reclaimed",
    what: "Another acquisition of the process takes the record before its release is answered.",
    rules: ["R8"],
    edits: [
      {
        in: { giveUpLease },
        from: "    try {\n      while (this.#state.phase === ",
        to: "    this.#context.abandon(this.#former.held.holder);\n    try {\n      while (this.#state.phase === ",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/one-process.test.ts",
      title: "is not overtaken by another acquisition of its process (%s), and not told as a loss",
    },
  },
  {
    name: "orphan-on-session",
    what: "A waiter abandons its entry on a live session when the deletion is unanswered for a lease.",
    rules: ["R14"],
    edits: [
      {
        in: { giveUpLease },
        from: "      this.#former.life?.sweep(",
        to: "      if (ref.isEntry !== true) this.#former.life?.sweep(",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/place.test.ts",
      title: "that lives by a session is deleted although that went unanswered for a lease: %s",
    },
  },
  {
    name: "tickets-one-by-one",
    what: "The client takes tickets below `served` one by one when the counter was lost with its record.",
    rules: [],
    edits: [COUNTER_BEHIND_UNSEEN, NEVER_AT_ONCE],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/lost-counter.test.ts",
      title: "is acquired next by a %s in a few requests",
    },
  },
  {
    name: "loop-without-pause",
    what: "A loop retries without a pause after every refusal.",
    rules: [],
    edits: [
      COUNTER_BEHIND_UNSEEN,
      NEVER_AT_ONCE,
      {
        in: { Pacer },
        from: "if (this.#rounds <= ROUNDS_AT_ONCE) return;",
        to: "if (this.#rounds > 0) return;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/lost-counter.test.ts",
      title: "is acquired next by a %s in a few requests",
    },
  },
  {
    name: "refused-renewal-not-put-off",
    what: "A renewal refused by its own record is retried without a pause.",
    rules: [],
    edits: [
      {
        in: { Hold },
        from: "      hold.times.putOff(hold.context.nowMs()",
        to: '      if (answer.kind !== "mine") hold.times.putOff(hold.context.nowMs()',
      },
    ],
    caughtBy: { invariant: "paced", within: 200, of: "tampered world" },
  },
  {
    name: "passed-over-for-ever",
    what: "A waiter with a slow way to the table takes ticket and entry in two requests each time it was passed over.",
    rules: [],
    edits: [NEVER_AT_ONCE],
    caughtBy: {
      test: STARVATION,
      title:
        "serves a process whose requests take 100 ms each way in 20 of them, beside three fast ones",
    },
  },
  {
    name: "mutex-never-queues",
    what: "A waiter of a mutex takes no place, however often others get the lock.",
    rules: [],
    edits: [
      {
        in: { outcomeOf },
        from: "hasQueue || passedBy >= most",
        to: "hasQueue",
      },
    ],
    caughtBy: {
      test: STARVATION,
      title:
        "serves 2 processes, which acquire it again at once, within the default wait, with holds of 20 ms",
    },
  },
  {
    name: "mutex-queues-late",
    what: "A waiter of a mutex takes a place after many grants to others only, even if its wait ends before.",
    rules: [],
    edits: [
      {
        in: { outcomeOf },
        from: "const most = waitedMs >= waitMs / 4 ? Math.min(mostPassed, MOST_PASSED_IN_A_QUARTER) : mostPassed;",
        to: "const most = waitedMs < 0 ? waitMs : mostPassed;",
      },
    ],
    caughtBy: {
      test: STARVATION,
      title:
        "serves 4 processes, which acquire it again at once, within the default wait, with holds of 5900 ms",
    },
  },
  {
    name: "crowd-never-queues",
    what: "Each waiter of a mutex waits for 16 grants to others before it takes a place, however many wait.",
    rules: [],
    edits: [
      {
        in: { mostPassedAt },
        from: "return Math.min(MOST_PASSED, Math.max(1, passed));",
        to: "return Math.max(MOST_PASSED, Math.min(1, passed));",
      },
    ],
    caughtBy: { test: CROWD, title: "queue before a mutex after the first grants" },
  },
  {
    name: "progress-unseen",
    what: "A waiter far back does not subtract the grants that the lock's record shows.",
    rules: [],
    edits: [
      {
        in: { leftByRecord },
        from: "counted.before - Number(record.fence - counted.fence)",
        to: "counted.before",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/progress.test.ts",
      title: "subtracts the grants since the last count: at fence 8n, 79 are left",
    },
  },
  {
    name: "next-waits-for-a-count",
    what: "The next waiter does not read the queue when the lock is free, so a waiter before it that gave up stops it.",
    rules: [],
    edits: [
      {
        in: { leftByRecord },
        from: "return isHeld ? 1 : undefined;",
        to: "return isHeld ? 1 : 1;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/progress.test.ts",
      title: "lets the next waiter read the queue only when the lock is not held",
    },
  },
  {
    name: "leftovers-kept",
    what: "A waiter whose turn the lock's record showed leaves the entries of granted waiters in the queue.",
    rules: ["R14"],
    edits: [
      {
        in: { Waiting },
        from: "if (!this.#isTurnUnread) return;",
        to: "if (!this.#isTurnUnread || this.#isTurnUnread) return;",
      },
    ],
    caughtBy: {
      test: TROUBLE,
      title: "to the deletion of an entry leaves the entry to the next waiter",
    },
  },
  {
    name: "left-lock-waited-for",
    what: "A waiter never passes those before it, so that a queue of waiters that are killed blocks a free lock for ever.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "return leftMs >= mostMs && seenMs - sinceMs >= watchMs;",
        to: "return leftMs >= mostMs && watchMs < 0;",
      },
    ],
    caughtBy: { test: LEFT_FREE, title: "do not block for ever a %s whose holder is %s (%j)" },
  },
  {
    name: "turn-taken-at-once",
    what: "A waiter passes those before it as soon as it finds the lock free.",
    rules: ["R1"],
    edits: [
      {
        in: { Waiting },
        from: "return leftMs >= mostMs && seenMs - sinceMs >= watchMs;",
        to: "return leftMs >= mostMs || seenMs - sinceMs < watchMs;",
      },
    ],
    caughtBy: { invariant: "first come", within: 30, of: "calm world" },
  },
  {
    name: "waiter-for-several-passed",
    what: "A waiter passes one that leaves this lock free because it waits for another one, too.",
    rules: [],
    edits: [
      {
        in: { readQueue },
        from: "return record.data === 0 ? Number.POSITIVE_INFINITY : record.leaseMs;",
        to: "return record.leaseMs;",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "is left to a waiter for several locks that waits for another one",
    },
  },
  {
    name: "left-lock-unseen-further-back",
    what: "Only the next waiter, and those far back, look at the lock's record.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "return this.#left !== undefined || context.nowMs() >= dueMs;",
        to: "return dueMs < 0;",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "%i of them: is taken after two leases, and nothing is left",
    },
  },
  {
    name: "passed-entries-kept",
    what: "A waiter that passed others leaves the entries of the dead ones in the queue.",
    rules: ["R14"],
    edits: [
      {
        in: { Waiting },
        from: "this.#isTurnUnread = this.#isLeft();\n    return this.#isTurnUnread;",
        to: "return this.#isLeft();",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "%i of them: is taken after two leases, and nothing is left",
    },
  },
  {
    name: "left-for-ten-seconds",
    what: "A waiter passes those before it as soon as it has watched the free lock for ten seconds.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "return leftMs >= mostMs && seenMs - sinceMs >= watchMs;",
        to: "return mostMs > 0 && seenMs - sinceMs >= watchMs;",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "is granted in order behind %i dead waiters to %i living ones",
    },
  },
  {
    name: "left-since-before-it-could-be-had",
    what: "A waiter counts the time in which nobody could claim the lock, as behind a waiter for several locks.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "Math.min(context.wallMs() - overWallMs, nowMs - this.#takenMs)",
        to: "Math.min(context.wallMs() - overWallMs, nowMs - Math.min(this.#takenMs, 0))",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "is granted in order after a waiter for several locks gave up (%i)",
    },
  },
  {
    name: "left-since-a-grant-on-a-session",
    what: "A waiter takes `expiresAt` of a holder on a session, which is not renewed, for the end of its lease.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "[observations.of(ref.id)?.record, ...rows].map(overWallMsIn)",
        to: "[observations.of(ref.id)?.record, ...rows].slice(0, 1).map(overWallMsIn)",
      },
    ],
    caughtBy: { test: LEFT_FREE, title: "is granted in order after a dead holder on a session" },
  },
  {
    name: "left-from-the-end-of-the-session",
    what: "A waiter that ends a dead holder's session takes that for the moment at which the holder left.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "        ? this.#left\n        : { sinceMs: nowMs, overWallMs: this.#overWallMs };",
        to: "        ? { ...this.#left, overWallMs: this.#overWallMs }\n        : { sinceMs: nowMs, overWallMs: this.#overWallMs };",
      },
    ],
    caughtBy: { test: LEFT_FREE, title: "do not block for ever a %s whose holder is %s (%j)" },
  },
  {
    name: "left-session-unread",
    what: "Only the first waiter reads the session of a holder.",
    rules: [],
    edits: [{ in: { Waiting }, from: "this.#pollHolders();", to: "void this.#pollHolders;" }],
    caughtBy: { test: LEFT_FREE, title: "do not block for ever a %s whose holder is %s (%j)" },
  },
  {
    name: "left-since-its-session-was-read",
    what: "A waiter takes a session that it has not read yet for a live one.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "return !isUnknown && !isOver(kind);",
        to: "return !isOver(kind);",
      },
    ],
    caughtBy: { test: LEFT_FREE, title: "do not block for ever a %s whose holder is %s (%j)" },
  },
  {
    name: "left-session-not-read-lately",
    what: "A waiter whose reads of a holder's session fail counts the holder as dead after a lease.",
    rules: ["R3"],
    edits: [
      {
        in: { Waiting },
        from: "{ ...context.circumstances(), nowMs }).kind",
        to: "{ nowMs, ...context.circumstances() }).kind",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "is left to those before a waiter that cannot read the holder's session (%s)",
    },
  },
  {
    name: "dead-holders-watched-in-turn",
    what: "A waiter watches the second of several dead holders of permits only once the first counts as dead.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "of areAllAlive ? [first] : mayLive)",
        to: "of areAllAlive || isStill ? [first] : [first])",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "are taken after several dead holders, without the table's `Date`",
    },
  },
  {
    name: "permits-passed-beside-a-holder",
    what: "A waiter for a permit passes one that waits for more permits than are free.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "if (this.#onSessions.some((holder) => isTaken(this.#kindOf(holder)))) return",
        to: "if (this.#onSessions.length < 0) return",
      },
      {
        in: { Waiting },
        from: "[observations.of(ref.id)?.record, ...rows].map(overWallMsIn)",
        to: "[observations.of(ref.id)?.record, ...rows].slice(0, 1).map(overWallMsIn)",
      },
    ],
    caughtBy: {
      test: LEFT_FREE,
      title: "are not taken while one is held: a waiter before may need all of them",
    },
  },
  {
    name: "turn-passed-after-own-lease",
    what: "A waiter counts its own lease, and not those of the waiters that it passes.",
    rules: [],
    edits: [
      {
        in: { Waiting },
        from: "known.reduce((one, other) => Math.max(one, other), settings.leaseMs);",
        to: "known.length < 0 ? 0 : settings.leaseMs;",
      },
    ],
    caughtBy: { test: LEFT_FREE, title: "is left to a first waiter with a longer lease" },
  },
  {
    name: "claim-after-long-read",
    what: "A waiter whose place expired while it read the queue claims with its ticket.",
    rules: ["R2"],
    edits: [
      {
        in: { Waiting },
        from: 'if (retried.kind !== "answered" || this.#entry.isStopped) throw this.#entry.error();',
        to: 'if (retried.kind !== "answered") throw this.#entry.error();',
      },
    ],
    caughtBy: { test: TROUBLE, title: "does not claim if its place ends during its last read" },
  },
  {
    name: "ticket-before-permission",
    what: "A mutex takes a ticket before a free lock with a queue, although its client may take no place.",
    rules: [],
    edits: [{ in: { outcomeOf }, from: ' : "needs-place";', to: ' : "queued";' }],
    caughtBy: {
      test: "packages/holdfast/test/locks/denied-places.test.ts",
      title: "is granted after the queue of others, which its wait for a free lock does not block",
    },
  },
  {
    name: "mutex-waits-before-a-queue",
    what: "A waiter of a mutex takes its place only once it finds the lock free, and then watches dead waiters.",
    rules: [],
    edits: [{ in: { outcomeOf }, from: "hasQueue || passedBy", to: "passedBy" }],
    caughtBy: {
      test: "packages/holdfast/test/locks/lock.test.ts",
      title: "reports the position of a mutex that queues behind others",
    },
  },
  {
    name: "ticket-without-permission",
    what: "A waiter of a mutex takes a ticket without asking whether it may write its entry.",
    rules: [],
    edits: [
      {
        in: { AcquireLoop },
        from: "if (await this.#mayJoin(queueing, decision)) return",
        to: "if (queueing !== undefined || (await this.#mayJoin(queueing, decision))) return",
      },
    ],
    caughtBy: {
      test: STARVATION,
      title: "stays without a queue, and asks for the permission once",
    },
  },
  {
    name: "ticket-used-up-by-waiter-count",
    what: "A release after an unanswered hand-off uses up the tickets of the waiters of its process.",
    rules: [],
    edits: [
      {
        in: { giveUpLease },
        from: "if (hasWaiters || place === undefined) return undefined;",
        to: "if (place === undefined) return void hasWaiters;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/shared-place.test.ts",
      title: "lose one ticket, and not all, when a hand-off to one of them is not answered",
    },
  },
  {
    name: "one-waiter-too-many-fails",
    what: "A lost place ends one waiter more than it had tickets.",
    rules: [],
    edits: [
      {
        in: { LocalQueue },
        from: "Number(place.last - place.next);",
        to: "Number(place.last - place.next) + 1;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/local-queue.test.ts",
      title: "ends, with its place, as many waiters as had a ticket, besides the one that contends",
    },
  },
  {
    name: "blind-waiter-keeps-its-place",
    what: "A waiter whose reads are not served keeps its place for as long as it can renew it.",
    rules: [],
    edits: [{ in: { Entry }, from: "this.#isBlind = true;", to: "this.#isBlind = false;" }],
    caughtBy: {
      test: "packages/holdfast/test/locks/blind-waiter.test.ts",
      title: "does not keep several locks from those behind it",
    },
  },
  {
    name: "refused-place-remembered-for-ever",
    what: "A client that was refused a place in a queue never asks for one again.",
    rules: [],
    edits: [
      {
        in: { permissionForPlaces },
        from: "if (remembered !== undefined && context.nowMs() < remembered.untilMs)",
        to: "if (remembered !== undefined)",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/denied-places.test.ts",
      title: "a mutex that was refused a place once takes one later, behind a dead waiter",
    },
  },
  {
    name: "waits-that-end-together-blame-the-table",
    what: "A waiter of a process that is next in the moment of its end takes the table for silent.",
    rules: [],
    edits: [{ in: { LocalQueue }, from: "if (this.#isAnswered) waiter.tell();", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/locks/waits-that-end-together.test.ts",
      title: "that end %i ms apart blame the holder, and not the table",
    },
  },
];
