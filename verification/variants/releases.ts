import type { Variant } from "./variant.js";

const NATIVE = "src/formats/native.ts";
const PASS_ON = "src/core/hold/release.ts";
const LEASE = "src/core/hold/lease.ts";
const HOLD = "src/core/hold/hold.ts";

/** Errors in how a lease ends: release, hand-over, and what is left of what was given up. */
export const RELEASES: readonly Variant[] = [
  {
    name: "release-unconditional",
    what: "a release frees the record whoever holds it",
    rules: ["R7"],
    edits: [
      {
        file: NATIVE,
        from: "      condition: holdersCondition(from),\n      change: lasting(ref, {\n",
        to: '      condition: isPresent("holder"),\n      change: lasting(ref, {\n',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 50 },
  },
  {
    name: "release-by-owner",
    what: "a release asks for the owner, so a late one frees a later lease of the same process",
    rules: ["R7"],
    edits: [
      {
        file: PASS_ON,
        from: "    context.freeing(ref, from, {",
        to: "    freeOfOwner(context, ref, from, {",
      },
      {
        file: PASS_ON,
        from: "function holdersOf(chain: HandoffChain): Holders {\n",
        to: `function freeOfOwner(context, ref, from, options) {
  const condition = { kind: "equals", attribute: "owner", value: { S: context.lastOwner } };
  return { ...context.freeing(ref, from, options), condition };
}

function holdersOf(chain: HandoffChain): Holders {
`,
      },
      {
        file: "src/core/context.ts",
        from: "    const id = this.random.id();\n",
        to: "    this.lastOwner = options.owner;\n    const id = this.random.id();\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 200 },
  },
  {
    name: "handover-unconditional",
    what: "a hand-over makes the next waiter the holder whoever holds",
    rules: ["R7"],
    edits: [
      {
        file: NATIVE,
        from: "      condition: holdersCondition(from),\n      change: lasting(ref, grantChange(grant)),\n",
        to: '      condition: isPresent("version"),\n      change: lasting(ref, grantChange(grant)),\n',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "handover-from-answer",
    what: "the deadline of a lease that was handed over counts from the answer",
    rules: ["R2"],
    edits: [
      {
        file: PASS_ON,
        from: "waiter.offer({ record: found, start, settings });",
        to: "waiter.offer({ record: found, start: instantOf(context.clock), settings });",
      },
    ],
    caughtBy: { test: "test/core/safety.test.ts", title: "of a hand-over" },
  },
  {
    name: "held-until-released",
    what: "the lease counts as held until its release is answered",
    rules: ["R7"],
    edits: [
      {
        file: LEASE,
        from: "return this.#release === undefined && this.#hold.isHeld;",
        to: "return this.#hold.isHeld;",
      },
      {
        file: LEASE,
        from: "    if (!hold.beginRelease()) return freeEarly(hold, keepData);\n",
        to: "    if (!hold.isHeld) return freeEarly(hold, keepData);\n",
      },
      {
        file: "src/core/hold/lease-release.ts",
        from: "  if (loss !== undefined) hold.lostBeforeRelease(loss);\n",
        to: "  hold.beginRelease();\n  if (loss !== undefined) hold.lostBeforeRelease(loss);\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 50 },
  },
  {
    name: "release-beside-renewal",
    what: "a release does not wait for a renewal that is on its way",
    rules: ["R7"],
    edits: [
      {
        file: LEASE,
        from: "hold.requests.run(() => release(hold, keepData, this.#lastData)),",
        to: "release(hold, keepData, this.#lastData),",
      },
    ],
    caughtBy: {
      test: "test/locks/mutex.test.ts",
      title: "waits for a renewal that is on its way: their requests do not overlap",
    },
  },
  {
    name: "renewal-after-release",
    what: "a renewal that arrives after the release of its own lease holds the record again",
    rules: ["R7"],
    edits: [
      {
        file: NATIVE,
        from: `        heldCondition(held),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        ...newerData(renewal.data),
      ),
      change: lasting(ref, renewalChange(renewal)),
`,
        to: `        any(heldCondition(held), all(isAbsent("holder"), equals("lastHolder", s(held.holder)))),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        ...newerData(renewal.data),
      ),
      change: lasting(ref, withSet(renewalChange(renewal), { holder: s(held.holder) })),
`,
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a renewal that lands after the release leaves the lock free",
    },
  },
  {
    name: "fence-reset-by-release",
    what: "a release takes the fence back to 1",
    rules: ["R9"],
    edits: [
      {
        file: NATIVE,
        from: "          lastHolder: s(options.lastHolder),\n",
        to: "          lastHolder: s(options.lastHolder),\n          fence: n(1),\n",
      },
    ],
    caughtBy: { invariant: "fence order", within: 5 },
  },
  {
    name: "fence-kept-by-takeover",
    what: "a takeover does not raise the fence",
    rules: ["R9"],
    edits: [
      {
        file: NATIVE,
        from: "      condition: all(watchedCondition(watched), ...queueCondition(grant)),\n      change: lasting(ref, grantChange(grant)),\n",
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
    what: "where there is no record the fence starts at 1, and not from the clock",
    rules: ["R9"],
    edits: [
      {
        file: "src/core/context.ts",
        from: "return now > seen ? now : seen;",
        to: "return seen;",
      },
    ],
    caughtBy: { invariant: "fence order", within: 300 },
  },
  {
    name: "nothing-neutralised",
    what: "a grant that was given up without an answer is left to itself",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "        if (this.#repetition.unanswered > 0) this.#giveUp();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "free a lock that was claimed and given up as soon as the network is back",
    },
  },
  {
    name: "neutralised-once",
    what: "a blind claim that was given up is looked for once, and may arrive later",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/hold/rollback.ts",
        from: "while (context.nowMs() < untilMs && !context.closing.aborted);",
        to: "while (false);",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "free a lock whose claim was given up after two sends that are both applied late",
    },
  },
  {
    name: "takeover-neutralised-by-attempt",
    what: "a takeover that was given up is freed only where it landed, and may land later",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/hold/rollback.ts",
        from: "const from = { ...given.replaced, ",
        to: "const from = { ",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a takeover given up at once leaves the lock to others",
    },
  },
  {
    name: "every-claim-blind",
    what: "a claim of a record that was seen free does not name its fence",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/record/decide.ts",
        from: '{ kind: "claim", onto: freeOf(record) }',
        to: '{ kind: "claim", onto: { kind: "blind" } }',
      },
    ],
    caughtBy: { test: "test/core/record/decide.test.ts", title: "when %s" },
  },
  {
    name: "nothing-remembered",
    what: "a process does not know what it gave up, and waits for itself",
    rules: ["R14"],
    edits: [{ file: "src/core/context.ts", from: "    this.#abandoned.add(holder);\n", to: "" }],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "leave a process that gave up a claim no watch to sit through when it tries again",
    },
  },
  {
    name: "handover-without-chain",
    what: "a release after an unanswered hand-over does not accept its waiter as the holder",
    rules: ["R14"],
    edits: [
      {
        file: PASS_ON,
        from: "return { known: chain.known, maybe: chain.maybe };",
        to: "return { known: chain.known, maybe: [] };",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a hand-over to a waiter that was cancelled frees the lock",
    },
  },
  {
    name: "close-releases-nothing",
    what: "closing the client ends its leases, and leaves the records held",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/hold/close.ts",
        from: "  const left = holds.values();\n",
        to: "  const left = [].values();\n",
      },
    ],
    caughtBy: {
      test: "test/locks/mutex.test.ts",
      title: "releases everything at the same time, and ends every lease with `closed`",
    },
  },
  {
    name: "loss-at-release-untold",
    what: "a loss that only the release finds out is not told",
    rules: ["R8"],
    edits: [
      {
        file: "src/core/hold/lease-release.ts",
        from: "  if (loss !== undefined) hold.lostBeforeRelease(loss);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/safety.test.ts",
      title: "%s: found out by the release alone, it is told all the same",
    },
  },
  {
    name: "loss-without-reason",
    what: "every loss is told as a theft",
    rules: ["R8"],
    edits: [
      {
        file: HOLD,
        from: "    this.#loss = lossError(this.ref, reason, this.#lastTrouble, forced);\n",
        to: '    this.#loss = lossError(this.ref, "stolen", this.#lastTrouble);\n',
      },
    ],
    caughtBy: {
      test: "test/core/safety.test.ts",
      title: "end the lease when the wall clock steps past its deadline",
    },
  },
  {
    name: "export-goes-on",
    what: "an exported lease is not ended in its own process",
    rules: ["R2"],
    edits: [{ file: "src/core/hold/export.ts", from: '  hold.end("exported");\n', to: "" }],
    caughtBy: {
      test: "test/core/hold/transfer.test.ts",
      title:
        "is over for its exporter before anything is sent, with a reason, and is never renewed again",
    },
  },
  {
    name: "export-by-released-handle",
    what: "a handle that was released exports the hold that another handle shares",
    rules: ["R7"],
    edits: [
      {
        file: LEASE,
        from: "    this.assertHeld();\n    return exportLease(",
        to: "    return exportLease(",
      },
    ],
    caughtBy: {
      test: "test/core/hold/stale-handle.test.ts",
      title: "does nothing to the hold: %s",
    },
  },
  {
    name: "export-for-its-own-waiters",
    what: "a lock that is being exported is taken by a waiter of the same process",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/hold/loss.ts",
        from: '  "exported",\n  "lost-with-another",\n',
        to: '  "lost-with-another",\n',
      },
    ],
    caughtBy: {
      test: "test/core/hold/transfer.test.ts",
      title:
        "is nobody's, not even its exporter's waiters', until its reservation has run out; then anybody's",
    },
  },
  {
    name: "import-of-anything-free",
    what: "an import asks for a free record, and not for the grant that was exported",
    rules: ["R4"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "format.handOver(this.#ref, this.#grant, { known: decision.from })",
        to: 'format.claim(this.#ref, this.#grant, { kind: "blind" })',
      },
    ],
    caughtBy: {
      test: "test/core/hold/transfer.test.ts",
      title: "is imported once: the second finds who has it, also after that one's release",
    },
  },
];
