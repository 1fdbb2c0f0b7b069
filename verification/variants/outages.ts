import { Cancellation } from "../../packages/holdfast/src/core/acquire/cancellation.js";
import { correctEnd } from "../../packages/holdfast/src/core/acquire/correct-end.js";
import { giveUpLease } from "../../packages/holdfast/src/core/hold/release.js";
import { changeLength } from "../../packages/holdfast/src/core/hold/writes.js";
import { resolveAcquire } from "../../packages/holdfast/src/core/options.js";
import { OutageWatch } from "../../packages/holdfast/src/core/outage-watch.js";
import { Outages } from "../../packages/holdfast/src/core/outages.js";
import { openedOrLater } from "../../packages/holdfast/src/core/permits/acquire.js";
import { pollSessions } from "../../packages/holdfast/src/core/queue/predecessors.js";
import { SharedSession } from "../../packages/holdfast/src/core/session/shared.js";
import { TableAccess } from "../../packages/holdfast/src/core/table-access.js";
import { Trouble } from "../../packages/holdfast/src/election/candidate.js";
import { Standby } from "../../packages/holdfast/src/election/standby.js";
import { Occurrences } from "../../packages/holdfast/src/once/once.js";
import type { Variant } from "./variant.js";

const ACQUIRABLE = "packages/holdfast/test/locks/acquirable.test.ts";
const DENIED = "packages/holdfast/test/core/acquire/denied.test.ts";
const SILENCE = "packages/holdfast/test/core/acquire/silence.test.ts";

/** Defects that show only if the table refuses credentials, or does not answer, while a call waits. */
export const OUTAGES: readonly Variant[] = [
  {
    name: "waiter-ended-by-refused-credentials",
    what: "One refusal of the credentials ends a waiter, whatever its wait.",
    rules: [],
    edits: [
      { in: { Cancellation }, from: "return this.#settings.waitMs > 0;", to: "return false;" },
    ],
    caughtBy: {
      test: ACQUIRABLE,
      title: "outlives refused credentials during its wait, and tells at once and once",
    },
  },
  {
    name: "refused-sessions-told-at-each-poll",
    what: "An answer about the lock ends the outage in which requests about its session are refused.",
    rules: [],
    edits: [
      { in: { TableAccess }, from: "{ operation, about }, answer", to: "{ operation }, answer" },
    ],
    caughtBy: {
      test: DENIED,
      title: "are told once, although the table answers about the lock meanwhile",
    },
  },
  {
    name: "retry-as-late-as-a-poll",
    what: "A request that DynamoDB did not serve is sent again after the shortest poll, which may be longer than the lease.",
    rules: [],
    edits: [
      {
        in: { resolveAcquire },
        from: "Math.min(minPollMs, LONGEST_FIRST_RETRY_MS)",
        to: "minPollMs",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/slow-polls.test.ts",
      title: "does not lose a lease that is exported, nor one that is adopted",
    },
  },
  {
    name: "standby-ended-by-refused-credentials",
    what: "One refusal of a write ends a candidate.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "if (!isHoldfastError(error) || !this.#candidate.context.mayHeal(error)) throw error;",
        to: "if (isHoldfastError(error)) throw error;",
      },
    ],
    caughtBy: { test: DENIED, title: "outlives refused credentials of each %s" },
  },
  {
    name: "permit-waiter-ended-with-its-session",
    what: "A waiter for a permit ends with the wait of the opening of its client's session.",
    rules: [],
    edits: [
      {
        in: { openedOrLater },
        from: "if (cancellation.waits && !cancellation.isStopped && (isExpired || isPassing(context, error))) {",
        to: "if (cancellation.waits && !cancellation.isStopped && isExpired) {",
      },
      {
        in: { SharedSession },
        from: "const wait = onNoResponse === undefined ? undefined : Number.POSITIVE_INFINITY;",
        to: "const wait = undefined;",
      },
    ],
    caughtBy: {
      test: ACQUIRABLE,
      title: "outlives refused credentials at its start, and is told within a second",
    },
  },
  {
    name: "waiter-behind-release-told-nothing",
    what: "A waiter behind a release in its own process does not know that the release goes unanswered.",
    rules: [],
    edits: [{ in: { giveUpLease }, from: "waiter?.tell(answer);", to: "waiter?.follows;" }],
    caughtBy: {
      test: SILENCE,
      title: "is reported in time to a waiter of the process behind a release of %s",
    },
  },
  {
    name: "hand-off-of-an-ended-lease",
    what: "A hand-off is accepted although the `Date` of its answer shows that its end is past.",
    rules: [],
    edits: [
      {
        in: { giveUpLease },
        from: "new LeaseEnd(context, found).limit(deadline, found).remainingMs() > settings.leaseMs * LEAST_PART_LEFT",
        to: "new LeaseEnd(context, found).limit(deadline, found).remainingMs() > -settings.leaseMs * 1e6",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/wrong-date.test.ts",
      title: "gives a waiter of the process no lease that is over by the answer to its hand-off",
    },
  },
  {
    name: "once-ended-by-refused-credentials",
    what: "One refusal ends a call of once that waits for the end of a run.",
    rules: [],
    edits: [{ in: { Occurrences }, from: "watch !== undefined,", to: "false," }],
    caughtBy: { test: DENIED, title: "outlives %s" },
  },
  {
    name: "outage-told-before-answers-only",
    what: "An outage that begins after an answer is not told.",
    rules: [],
    edits: [
      {
        in: { Cancellation },
        from: "if (!isHeard && !this.isStopped && this.waits) this.#watch.onNoResponse(unavailable);",
        to: "if (!isHeard && !this.isStopped && this.waits && !this.#wasAnswered) this.#watch.onNoResponse(unavailable);",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported once for each outage that begins while %s waits",
    },
  },
  {
    name: "outage-told-once-for-ever",
    what: "The client tells of its first outage only.",
    rules: [],
    edits: [
      {
        in: { Outages },
        from: "if (this.#unservedSinceMs.delete(operation))",
        to: "if (this.#unservedSinceMs.delete(operation) && this.#toldMs < 0)",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported once for each outage that begins while %s waits",
    },
  },
  {
    name: "lost-request-told-as-outage",
    what: "The client tells of an outage at the first lost request.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: "else if (this.#isDue) this.#tell();",
        to: "else if (this.#failures > 0) this.#tell();",
      },
    ],
    caughtBy: { test: SILENCE, title: "is not one lost request" },
  },
  {
    name: "outage-not-told",
    what: "A call that waits tells of no table that does not answer.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: "if (this.#isUnserved(unavailable)) this.#tell();",
        to: 'if (kind === "unknown") return;',
      },
    ],
    caughtBy: { invariant: "no silence", within: 20, of: "world" },
  },
  {
    name: "throttling-not-told",
    what: "A call that waits tells of no table that refuses its requests.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: "if (this.#isUnserved(unavailable)) this.#tell();",
        to: 'if (kind === "throttled") return;',
      },
    ],
    caughtBy: { invariant: "no silence", within: 300, of: "world" },
  },
  {
    name: "refused-credentials-not-told",
    what: "A call that waits tells of no refused credentials.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: "this.#onDenied(unavailable);",
        to: "this.#denied.size;",
      },
    ],
    caughtBy: { invariant: "no silence", within: 20, of: "world" },
  },
  {
    name: "second-outage-not-told",
    what: "A call that told of an outage tells of no further one until it is answered itself.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: 'unavailable.kind !== "unknown" || unservedMs <= this.#toldAtMs;',
        to: "unservedMs > 0;",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported again if other calls of the client were answered meanwhile",
    },
  },
  {
    name: "outage-ended-by-another-operation",
    what: "A served read ends the outage in which the table serves no write.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: "if (this.#failed.size === 0) this.#last = undefined;",
        to: "this.#last = undefined;",
      },
    ],
    caughtBy: { test: SILENCE, title: "is reported once while %s waits: %s" },
  },
  {
    name: "outage-of-writes-told-at-each-write",
    what: "An answer to a read makes an outage of the writes that was told of news again.",
    rules: [],
    edits: [
      {
        in: { Outages },
        from: "if (this.#unservedSinceMs.delete(operation))",
        to: "this.#told.clear(); if (this.#unservedSinceMs.delete(operation))",
      },
    ],
    caughtBy: { test: SILENCE, title: "is reported once while %s waits: %s" },
  },
  {
    name: "outage-begins-with-the-queue",
    what: "For a waiter in a queue, an outage begins with the next read of the queue, not with one of a session.",
    rules: [],
    edits: [
      {
        in: { pollSessions },
        from: "if (isNoAnswer(seen)) cancellation.onNoResponse(seen);",
        to: "void seen;",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported in time if it begins with a read of a predecessor's session",
    },
  },
  {
    name: "outage-at-election-told-late",
    what: "A standby does not count the failures of a grant, so it tells of an outage that begins with one too late.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: "const asked = { ...settings.grant, data, onRenewal, signal, onNoResponse };",
        to: "const asked = { ...settings.grant, data, onRenewal, signal };",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported in time if it begins with a grant while %s",
    },
  },
  {
    name: "outage-at-request-told-late",
    what: "A preferred candidate does not count the failures of its requests to the leader.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: 'if (asked !== undefined && isNoAnswer(asked)) this.#onNoResponse(asked, "write");',
        to: "void (asked !== undefined && isNoAnswer(asked));",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported in time if it begins when a preferred candidate asks the leader",
    },
  },
  {
    name: "outage-at-rerun-told-late",
    what: "A call that waits for a run does not count the failures of a grant.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "{ ...call.grant, onNoResponse }, onGrant",
        to: "call.grant, onGrant",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported in time if it begins with a grant while %s",
    },
  },
  {
    name: "outage-at-beginning-not-told",
    what: "A call of `once` tells of no outage that begins when it names its occurrence.",
    rules: [],
    edits: [
      {
        in: { changeLength },
        from: "settings.onNoResponse?.(answer)",
        to: "undefined",
      },
      {
        in: { changeLength },
        from: 'if (healed.kind !== "misconfigured") watch?.onNoResponse(healed);',
        to: "void healed;",
      },
    ],
    caughtBy: {
      test: SILENCE,
      title: "is reported in time if it begins when a call of `once` names its occurrence (%s)",
    },
  },
  {
    name: "one-refused-action-told",
    what: "A call tells of the first refused action only.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: "if (this.#denied.has(key)) return;",
        to: "if (this.#denied.size > 0) return;",
      },
    ],
    caughtBy: { test: DENIED, title: "tells of each refused action while a waiter waits" },
  },
  {
    name: "outage-not-over-while-the-end-is-corrected",
    what: "A served write that corrects the end of a grant does not end the outage that the call has told of.",
    rules: [],
    edits: [{ in: { correctEnd }, from: "cancellation.onResponse();", to: "" }],
    caughtBy: {
      test: DENIED,
      title: "tells of each outage while the end of a waiter's grant is corrected",
    },
  },
  {
    name: "trouble-stays",
    what: "The health of a standby shows an error after its end.",
    rules: [],
    edits: [
      {
        in: { Trouble },
        from: 'if (this.#request !== "write" || isLed) this.note(undefined);',
        to: "if (isLed && this.#error === undefined) this.note(undefined);",
      },
    ],
    caughtBy: { test: DENIED, title: "shows its trouble as long as it lasts" },
  },
  {
    name: "silent-record-told-at-each-turn",
    what: "A waiting call tells of its silent record again each time that the table serves another one.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: 'if (kind !== "denied" && nowMs - this.#toldAtMs < this.#pauseMs) return;',
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/silent-table.test.ts",
      title: "a waiting mutex tells rarely of its record, while another lease is renewed: %s",
    },
  },
  {
    name: "unanswered-grant-ends-the-trouble",
    what: "A candidate takes another one's grant without an answer for a leader, and tells of the same trouble again.",
    rules: [],
    edits: [
      {
        in: { Standby },
        from: 'if (before?.state === "held" && isRenewed(before, record)) this.#failing.onSuccess();',
        to: "if (!context.abandoned.has(record.holder)) this.#failing.onSuccess();",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/election/refused-grants.test.ts",
      title:
        "candidates tell once of grants without answers, although each sees those of the others: lease %s, poll %s",
    },
  },
  {
    name: "old-silence-hides-a-new-one",
    what: "An operation that has been silent for long counts as told, also at the begin of a silence of the whole table.",
    rules: [],
    edits: [
      {
        in: { OutageWatch },
        from: 'if (!isNews && !isWhole && kind === "unknown") return;',
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/silence.test.ts",
      title:
        "is reported in time after words that became rare, although reads are silent for longer",
    },
  },
];
