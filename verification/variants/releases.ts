import { freeOfHolder } from "../../packages/holdfast/src/admin/release-holder.js";
import { AbandonedIds } from "../../packages/holdfast/src/core/abandoned-ids.js";
import { GrantWrite, writeOf } from "../../packages/holdfast/src/core/acquire/grant.js";
import { untilAnswered } from "../../packages/holdfast/src/core/acquire/until-answered.js";
import { ClientContext } from "../../packages/holdfast/src/core/context.js";
import { closeAll, freeAll } from "../../packages/holdfast/src/core/hold/close.js";
import { exportLease } from "../../packages/holdfast/src/core/hold/export.js";
import { handOffAnswered, notAccepted } from "../../packages/holdfast/src/core/hold/hand-off.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { HeldLease } from "../../packages/holdfast/src/core/hold/lease.js";
import { lossIn } from "../../packages/holdfast/src/core/hold/loss.js";
import { freeOnce, giveUpLease } from "../../packages/holdfast/src/core/hold/release.js";
import { rollBack } from "../../packages/holdfast/src/core/hold/roll-back.js";
import { release } from "../../packages/holdfast/src/core/hold/writes.js";
import { decide } from "../../packages/holdfast/src/core/record/decide.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import type { Variant } from "./variant.js";

/** Defects in how a lease ends: release, hand-off and rollback. */
export const RELEASES: readonly Variant[] = [
  {
    name: "release-unconditional",
    what: "The release frees the record without a condition.",
    rules: ["R7"],
    edits: [
      {
        in: { nativeFormat },
        from: "      condition: holdersCondition(from),\n      change: lasting(ref, {\n",
        to: '      condition: isPresent("holder"),\n      change: lasting(ref, {\n',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 50 },
  },
  {
    name: "release-by-owner",
    what: "A release requires the owner, so a late release frees a later lease of the same process.",
    rules: ["R7"],
    edits: [
      {
        in: { freeOnce },
        from: "    context.freeing(ref, from, {",
        to: "    freeOfOwner(context, ref, from, {",
      },
      {
        in: { giveUpLease },
        from: "function isNotAcknowledged(error: unknown): boolean {\n",
        to: `function freeOfOwner(context, ref, from, options) {
  const condition = { kind: "equals", attribute: "owner", value: { S: context.lastOwner } };
  return { ...context.freeing(ref, from, options), condition };
}

function isNotAcknowledged(error: unknown): boolean {
`,
      },
      {
        in: { ClientContext },
        from: "    const id = this.random.id();\n",
        to: "    this.lastOwner = options.owner;\n    const id = this.random.id();\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 200 },
  },
  {
    name: "handover-unconditional",
    what: "A hand-off grants the lock to the next waiter without requiring the former holder.",
    rules: ["R7"],
    edits: [
      {
        in: { nativeFormat },
        from: "    condition: all(holdersCondition(from), ...queueCondition(grant)),\n",
        to: '    condition: all(isPresent("version"), ...queueCondition(grant)),\n',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "handover-from-answer",
    what: "The deadline of a lease from a hand-off counts from the answer.",
    rules: ["R2"],
    edits: [
      {
        in: { giveUpLease },
        from: "waiter.offer({ record: found, start, settings, block: grant.block });",
        to: "waiter.offer({ record: found, start: instantOf(context.clock), settings, block: grant.block });",
      },
    ],
    caughtBy: { test: "packages/holdfast/test/core/safety.test.ts", title: "of a local handoff" },
  },
  {
    name: "held-until-released",
    what: "The lease counts as held until its release is answered.",
    rules: ["R7"],
    edits: [
      {
        in: { HeldLease },
        from: "return this.#release === undefined && this.#hold.isHeld;",
        to: "return this.#hold.isHeld;",
      },
      {
        in: { HeldLease },
        from: "    if (!hold.beginRelease()) return freeEarly(hold, keepData);\n",
        to: "    if (!hold.isHeld) return freeEarly(hold, keepData);\n",
      },
      {
        in: { release },
        from: "  if (loss !== undefined) hold.lostBeforeRelease(loss);\n",
        to: "  hold.beginRelease();\n  if (loss !== undefined) hold.lostBeforeRelease(loss);\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 50 },
  },
  {
    name: "release-beside-renewal",
    what: "A release does not wait for a renewal in flight.",
    rules: ["R7"],
    edits: [
      {
        in: { HeldLease },
        from: "hold.requests.run(() => release(hold,",
        to: "((now) => now())(() => release(hold,",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/mutex.test.ts",
      title: "waits for a renewal in flight, so that the requests do not overlap",
    },
  },
  {
    name: "renewal-after-release",
    what: "A renewal which arrives after the release of its lease holds the record again.",
    rules: ["R7"],
    edits: [
      {
        in: { nativeFormat },
        from: `        heldCondition(held),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        noLaterEnd(held, renewal),
        ...newerData(renewal.data),
      ),
      change: lasting(ref, renewalChange(held, renewal)),
`,
        to: `        any(heldCondition(held), all(isAbsent("holder"), equals("lastHolder", s(held.holder)))),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        noLaterEnd(held, renewal),
        ...newerData(renewal.data),
      ),
      change: lasting(ref, withSet(renewalChange(held, renewal), { holder: s(held.holder) })),
`,
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "leaves the lock free as a renewal after the release",
    },
  },
  {
    name: "fence-reset-by-release",
    what: "A release resets the fence to 1.",
    rules: ["R9"],
    edits: [
      {
        in: { nativeFormat },
        from: "          lastHolder: s(options.lastHolder),\n",
        to: "          lastHolder: s(options.lastHolder),\n          fence: n(1),\n",
      },
    ],
    caughtBy: { invariant: "fence order", within: 5 },
  },
  {
    name: "fence-kept-by-takeover",
    what: "A takeover does not raise the fence.",
    rules: ["R9"],
    edits: [
      {
        in: { nativeFormat },
        from: "      condition: all(watchedCondition(watched), ...queueCondition(grant)),\n      change: granting(ref, grant),\n",
        to: `      condition: all(watchedCondition(watched), ...queueCondition(grant)),
      change: {
        ...grantChange(grant),
        set: Object.fromEntries(
          Object.entries(grantChange(grant).set).filter(([attribute]) => attribute !== "fence"),
        ),
      },
`,
      },
    ],
    caughtBy: { invariant: "fence order", within: 50 },
  },
  {
    name: "fence-from-one",
    what: "The fence of an absent record starts at 1, not at the clock.",
    rules: ["R9"],
    edits: [
      {
        in: { ClientContext },
        from: "return now > seen ? now : seen;",
        to: "return seen;",
      },
    ],
    caughtBy: { invariant: "fence order", within: 300 },
  },
  {
    name: "nothing-neutralised",
    what: "A grant abandoned without an answer is not rolled back.",
    rules: ["R14"],
    edits: [
      {
        in: { GrantWrite },
        from: "        if (repetition.unanswered > 0) this.#giveUp(isSilent);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "rolls back an abandoned claim after the outage",
    },
  },
  {
    name: "neutralised-once",
    what: "The rollback of an abandoned blind claim reads once, though the claim may arrive later.",
    rules: ["R14"],
    edits: [
      {
        in: { rollBack },
        from: "isOver: () => context.nowMs() >= Math.min(untilMs, context.closesByMs),",
        to: "isOver: () => true,",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "rolls back an abandoned claim after two sends, both applied late",
    },
  },
  {
    name: "rollback-ends-at-grant",
    what: "The rollback of an abandoned claim ends when the client gets the lock, though the claim may arrive later.",
    rules: ["R14"],
    edits: [
      {
        in: { rollBack },
        from: "const answer = mustPause ? AGAIN : await free();",
        to: "if (context.holds.ofRecord(ref.id) !== undefined) return ROLLED_BACK; const answer = mustPause ? AGAIN : await free();",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/rollback.test.ts",
      title: "the rollback frees a claim applied after the release",
    },
  },
  {
    name: "abandoned-grant-left-in-queue",
    what: "An answer that shows an abandoned grant before a queue does not end the pause of its rollback.",
    rules: ["R14"],
    edits: [{ in: { AbandonedIds }, from: "this.#onSeen.get(found.holder)?.();", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/locks/lost-answers.test.ts",
      title: "a %s is not idle for a whole lease",
    },
  },
  {
    name: "release-waits-for-a-lease",
    what: "A release waits for the answer to one request for as long as the lease lasts.",
    rules: [],
    edits: [
      {
        in: { giveUpLease },
        from: "const timeoutMs = context.timeoutWithin(this.#former.leaseMs);",
        to: "const timeoutMs = context.settings.requestTimeoutMs;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/lost-answers.test.ts",
      title: "a %s is not idle for a whole lease",
    },
  },
  {
    name: "return-at-once",
    what: "After half of a lease without an answer, a waiter's pauses start at the shortest again.",
    rules: [],
    edits: [
      {
        in: { untilAnswered },
        from: "doubling(asking.afterSilence === true ? longestMs : pauseMs, longestMs)",
        to: "doubling(pauseMs, longestMs)",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/rollback.test.ts",
      title: "the waiter and the rollback pause for half of a lease",
    },
  },
  {
    name: "takeover-neutralised-by-attempt",
    what: "The rollback of a takeover frees the record only after the takeover, which may be applied later.",
    rules: ["R14"],
    edits: [
      {
        in: { rollBack },
        from: "const from = { ...replaced, ",
        to: "const from = { ",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "leaves the lock free for other clients after an abandoned takeover",
    },
  },
  {
    name: "every-claim-blind",
    what: "A claim of a record seen free does not require its fence.",
    rules: ["R14"],
    edits: [
      {
        in: { decide },
        from: '{ kind: "claim", onto: freeOf(record) }',
        to: '{ kind: "claim", onto: { kind: "blind" } }',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/decide.test.ts",
      title: "returns the expected decision when %s",
    },
  },
  {
    name: "nothing-remembered",
    what: "A process forgets its abandoned grants, and waits for its own leases to expire.",
    rules: ["R14"],
    edits: [{ in: { ClientContext }, from: "    this.abandoned.add(holder);\n", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "lets a process reclaim after an abandoned claim, without a watch",
    },
  },
  {
    name: "handover-without-chain",
    what: "A release after an unanswered hand-off does not accept the hand-off's waiter as the holder.",
    rules: ["R14"],
    edits: [
      {
        in: { handOffAnswered },
        from: "return { known: state.known, maybe: state.maybe };",
        to: "return { known: state.known, maybe: [] };",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "frees the lock after a hand-off to a cancelled waiter",
    },
  },
  {
    name: "hand-offs-without-bound",
    what: "A release names each hand-off that a waiter gave up in an outage, until DynamoDB refuses its condition.",
    rules: [],
    edits: [{ in: { notAccepted }, from: " || maybe.length >= MOST_MAYBE", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/release.test.ts",
      title: "frees the lock within a second after the outage",
    },
  },
  {
    name: "close-releases-nothing",
    what: "Closing the client ends its leases, but leaves the records held.",
    rules: ["R14"],
    edits: [
      {
        in: { freeAll },
        from: "Promise.all(holds.map(free))",
        to: "Promise.all([].map(free))",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/mutex.test.ts",
      title: "releases all locks at the same time, and ends every lease with `closed`",
    },
  },
  {
    name: "loss-at-release-untold",
    what: "A loss found only by the release is not reported.",
    rules: ["R8"],
    edits: [
      {
        in: { release },
        from: "  if (loss !== undefined) hold.lostBeforeRelease(loss);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/safety.test.ts",
      title: "%s: reports the loss even if only the release finds it",
    },
  },
  {
    name: "loss-without-reason",
    what: "Every loss is reported as a theft.",
    rules: ["R8"],
    edits: [
      {
        in: { Hold },
        from: "    this.#loss = lossError(this.ref, reason, this.#lastTrouble, { forced, timing });\n",
        to: '    this.#loss = lossError(this.ref, "stolen", this.#lastTrouble);\n',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/safety.test.ts",
      title: "end the lease when the wall clock steps past its deadline",
    },
  },
  {
    name: "export-goes-on",
    what: "An exported lease does not end in its own process.",
    rules: ["R2"],
    edits: [{ in: { exportLease }, from: '  hold.end("exported");\n', to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/transfer.test.ts",
      title:
        "ends for the exporter before the first send, with a reason and without further renewals",
    },
  },
  {
    name: "export-by-released-handle",
    what: "A released handle exports the hold of a handle which is still in use.",
    rules: ["R7"],
    edits: [
      {
        in: { exportLease },
        from: "  lease.assertHeld();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/stale-handle.test.ts",
      title: "does not affect the hold: %s",
    },
  },
  {
    name: "export-for-its-own-waiters",
    what: "A waiter of the same process takes a lock during its export.",
    rules: ["R14"],
    edits: [
      {
        in: { lossIn },
        from: '  "exported",\n  "lost-with-another",\n',
        to: '  "lost-with-another",\n',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/transfer.test.ts",
      title: "is closed to all waiters until the reservation expires, and then free",
    },
  },
  {
    name: "import-of-anything-free",
    what: "An import requires a free record instead of the exported grant.",
    rules: ["R4"],
    edits: [
      {
        in: { writeOf },
        from: "format.lease.handOver(ref, barging, { known: decision.from })",
        to: 'format.lease.claim(ref, barging, { kind: "blind" })',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/transfer.test.ts",
      title: "accepts one import: a second import fails, even after a release by the importer",
    },
  },
  {
    name: "rollback-ended-by-refused-credentials",
    what: "One refusal ends a rollback, so that the abandoned grant blocks the lock for its whole lease.",
    rules: ["R14"],
    edits: [
      {
        in: { rollBack },
        from: "context.healing(await freeOnce(context, ref, from, options, timeoutMs))",
        to: "await freeOnce(context, ref, from, options, timeoutMs)",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/export-in-outage.test.ts",
      title: "an abandoned claim is undone when the permission is denied for two seconds",
    },
  },
  {
    name: "hand-off-of-the-rest",
    what: "A hand-off gives the waiter what is left of a lease, after a pause next to nothing.",
    rules: [],
    edits: [{ in: { giveUpLease }, from: "settings.leaseMs * LEAST_PART_LEFT", to: "0" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/release.test.ts",
      title: "gives no waiter a lease of which less than a fifth is left after a pause",
    },
  },
  {
    name: "own-repeated-release-denied",
    what: "`releaseByHolder()` denies a release that its own first send, repeated by the SDK, has done.",
    rules: [],
    edits: [
      {
        in: { freeOfHolder },
        from: "const mayBeOwn = sent > 1 || answer.isRepeated === true;",
        to: "const mayBeOwn = sent > 1;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/release.test.ts",
      title: "says that it freed the record if its request was %s",
    },
  },
  {
    name: "close-silent-of-releases",
    what: "`close()` says nothing of a release that had begun before, and is not acknowledged.",
    rules: [],
    edits: [
      {
        in: { closeAll },
        from: "const left = [...context.releasing].filter(",
        to: "const left = [...context.releasing].slice(0, 0).filter(",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/close-beside-release.test.ts",
      title: "close() tells of a release that has begun and is not acknowledged: %s",
    },
  },
];
