import type { Variant } from "./variant.js";

const NATIVE = "src/formats/native.ts";
const DECIDE = "src/core/record/decide.ts";
const LIFE = "src/core/session/keep-alive.ts";
const WATCH = "src/core/remote-sessions.ts";
const RENEW = `    renew: (ref, held, renewal) => ({
      key: ref.key,
      condition: all(
        heldCondition(held),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        ...newerData(renewal.data),
      ),
      change: lasting(ref, renewalChange(renewal)),
    }),
`;
const MOVE = `    moveToSession: (ref, held, renewal, session) => ({
      key: ref.key,
      condition: changeCondition(held, renewal),
`;

/** Errors in what locks live by that do not renew themselves: sessions. */
export const SESSIONS: readonly Variant[] = [
  {
    name: "session-revived",
    what: "a session's renewal that lands after its end makes it live again",
    rules: ["R2", "R5"],
    edits: [
      {
        file: NATIVE,
        from: RENEW,
        to: RENEW.replace(
          "        heldCondition(held),\n",
          '        any(heldCondition(held), all(isAbsent("holder"), equals("fence", n(held.fence)))),\n',
        ).replace(
          "renewalChange(renewal)",
          "withSet(renewalChange(renewal), { holder: s(held.holder), leaseMs: n(renewal.leaseMs) })",
        ),
      },
    ],
    caughtBy: { invariant: "ended for good", within: 300 },
  },
  {
    name: "session-renewed-by-upsert",
    what: "a session's renewal makes its row anew where that was deleted",
    rules: ["R5"],
    edits: [
      {
        file: NATIVE,
        from: RENEW,
        to: RENEW.replace(
          "condition: all(\n",
          'condition: any(ref.kind === "session" ? isAbsent(keys.pk) : heldCondition(held), all(\n',
        )
          .replace("        ...newerData(renewal.data),\n      ),\n", "      )),\n")
          .replace(
            "renewalChange(renewal)",
            `withSet(renewalChange(renewal), {
        version: n(renewal.version + 1n),
        v: { N: LAYOUT },
        holder: s(held.holder),
        fence: n(held.fence),
        leaseMs: n(renewal.leaseMs),
      })`,
          ),
      },
    ],
    caughtBy: { invariant: "ended for good", within: 200 },
  },
  {
    name: "session-watched-by-record",
    what: "a record that lives by a session is watched itself, though it never changes",
    rules: ["R3", "R12"],
    edits: [
      {
        file: DECIDE,
        from: "  if (session !== undefined) return decideBySession(record, session, takeOver, now);\n",
        to: "",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "session-not-ended",
    what: "what a dead session holds is taken without ending the session first",
    rules: ["R4"],
    edits: [
      {
        file: DECIDE,
        from: '  return { kind: "end session", session, watched };\n',
        to: "  return takeOver;\n",
      },
    ],
    caughtBy: { invariant: "ownership", within: 100 },
  },
  {
    name: "session-absent-is-ended",
    what: "a session whose row is gone counts as ended, without a watch and a tombstone",
    rules: ["R3"],
    edits: [
      {
        file: DECIDE,
        from: '  if (record.state === "free") return takeOver;\n',
        to: '  if (record.state !== "held") return takeOver;\n',
      },
    ],
    caughtBy: { invariant: "ownership", within: 200 },
  },
  {
    name: "session-ended-at-any-version",
    what: "a session is ended whatever its version, also one that was renewed meanwhile",
    rules: ["R4"],
    edits: [
      {
        file: NATIVE,
        from: "[watchedCondition(from.watched)]",
        to: '[equals("holder", s(from.watched.holder))]',
      },
    ],
    caughtBy: { invariant: "ownership", within: 100 },
  },
  {
    name: "session-ended-by-another",
    what: "of two rivals that want two records of one session, the one whose ending is refused takes the other to have ended it",
    rules: ["R4"],
    edits: [
      {
        file: WATCH,
        from: '        this.#context.seeRecord(ref, answer.item, "strong");\n      }\n      return answer;\n    });\n',
        to: `        const { holder, session, ...ended } = answer.item ?? {};
        this.#context.seeRecord(ref, ended, "strong");
      }
      return answer;
    });
`,
      },
    ],
    caughtBy: { invariant: "ownership", within: 100 },
  },
  {
    name: "session-left-by-takeover",
    what: "a takeover leaves the session's name, so that the next rival sees it ended",
    rules: ["R3"],
    edits: [
      {
        file: NATIVE,
        from: '    remove: ["session", ...(grant.existingData',
        to: "    remove: [...(grant.existingData",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "session-loss-kept-back",
    what: "the loss of a session ends no lease on it before its deadline",
    rules: ["R2", "R8"],
    edits: [
      {
        file: LIFE,
        from: "      if (hold.living.life === this) hold.end(isClosed",
        to: "      if (isClosed && hold.living.life === this) hold.end(isClosed",
      },
    ],
    caughtBy: { invariant: "lost is final", within: 500, shortRange: 8 },
  },
  {
    name: "granted-on-ended-session",
    what: "an acquisition that waits goes on when its session ends, and its lease lives by itself",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/acquire/cancellation.ts",
        from: '    settings.keptAliveBy?.over?.addEventListener("abort", this.#cancellation);\n',
        to: "",
      },
      {
        file: "src/core/acquire/cancellation.ts",
        from: "    return this.#context.closing.aborted || this.#settings.keptAliveBy?.refusal() !== undefined;\n",
        to: "    return this.#context.closing.aborted;\n",
      },
    ],
    caughtBy: { invariant: "lost is final", within: 100 },
  },
  {
    name: "granted-after-session-ran-out",
    what: "a lease that is granted after a pause begins on a session that ran out in it",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/acquire/cancellation.ts",
        from: "    return this.#context.closing.aborted || this.#settings.keptAliveBy?.refusal() !== undefined;\n",
        to: "    return this.#context.closing.aborted;\n",
      },
    ],
    caughtBy: {
      test: "test/core/session/session-end.test.ts",
      title: "lets no lease begin that is granted after a pause in which it ran out",
    },
  },
  {
    name: "session-wait-begins-anew",
    what: "each try to open a session is given the whole wait",
    rules: ["R13"],
    edits: [
      {
        file: LIFE,
        from: "      // Without a wait there is one try, as at an acquisition.\n",
        to: "      return await open(context, settings);\n",
      },
    ],
    caughtBy: {
      test: "test/core/session/keep-alive.test.ts",
      title: "rejects once the wait is over where $what",
    },
  },
  {
    name: "shared-session-undoes-length",
    what: "a lease that was given another length is moved to the client's session, which undoes it",
    rules: ["R5"],
    edits: [
      {
        file: "src/core/session/shared.ts",
        from: "    if (leaseMs !== this.#settings.leaseMs) return undefined;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/session/shared.test.ts",
      title: "leaves a lease the length that it was given by hand, which renews itself",
    },
  },
  {
    name: "session-keeps-released-leases",
    what: "a session keeps a lease that was released while its move waited for its turn",
    rules: ["R13"],
    edits: [
      {
        file: LIFE,
        from: "    if (!hold.isHeld) this.#leases.delete(hold);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/session/shared.test.ts",
      title: "forgets leases that are released while their moves wait for their turn",
    },
  },
  {
    name: "session-never-closed",
    what: "the session of a client is renewed for ever, though nothing lives by it",
    rules: ["R13"],
    edits: [
      {
        file: "src/core/session/shared.ts",
        from: '    this.#session?.close("release").catch(() => undefined);\n',
        to: "",
      },
    ],
    caughtBy: { invariant: "no leak", within: 50 },
  },
  {
    name: "move-unconditional",
    what: "a move does not ask who holds, so a late one puts another's record on this session",
    rules: ["R5", "R7"],
    edits: [
      {
        file: NATIVE,
        from: MOVE,
        to: MOVE.replace("changeCondition(held, renewal)", 'all(isPresent("holder"), NO_SESSION)'),
      },
    ],
    caughtBy: { invariant: "ownership", within: 1_000, shortRange: 6 },
  },
  {
    name: "late-move-left",
    what: "a lease that ends while its move is on its way is not freed, though its record may name what lives on",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/hold/hold.ts",
        from: "    this.living.life?.sweep(this.ref, from, this.settings.keepData, leases * this.leaseMs);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/session/session.test.ts",
      title: "to a move: until it is answered the earlier of the two deadlines counts",
    },
  },
];
