import { withAcquisition } from "../../packages/holdfast/src/core/acquire/acquire.js";
import { Cancellation } from "../../packages/holdfast/src/core/acquire/cancellation.js";
import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { renewOrMove } from "../../packages/holdfast/src/core/hold/keep-alive.js";
import { changeLength } from "../../packages/holdfast/src/core/hold/writes.js";
import { decide } from "../../packages/holdfast/src/core/record/decide.js";
import { RemoteSessions } from "../../packages/holdfast/src/core/remote-sessions.js";
import { SessionKeepAlive } from "../../packages/holdfast/src/core/session/keep-alive.js";
import { openSession } from "../../packages/holdfast/src/core/session/open.js";
import { SharedSession } from "../../packages/holdfast/src/core/session/shared.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { SESSIONS as LEASES_ON_SESSIONS } from "../../packages/holdfast/src/native/native-sessions.js";
import type { Variant } from "./variant.js";

const RENEW = `    renew: (ref, held, renewal) => ({
      key: ref.key,
      condition: all(
        heldCondition(held),
        { kind: "at-least", attribute: "version", value: n(renewal.version) },
        NO_SESSION,
        noLaterEnd(held, renewal),
        ...newerData(renewal.data),
      ),
      change: lasting(ref, renewalChange(held, renewal)),
    }),
`;
const MOVE = `  moveTo: (ref, held, renewal, session) => ({
    key: ref.key,
    condition: changeCondition(held, renewal),
`;

/** Defects in sessions, which keep alive locks without renewals of their own. */
export const SESSIONS: readonly Variant[] = [
  {
    name: "record-unread-behind-a-session",
    what: "A waiter that could not end a live session does not read the record, which may be free.",
    rules: [],
    edits: [
      {
        in: { AcquireLoop },
        from: "          await this.#poll(this.#pace.pollMs);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/session-end.test.ts",
      title: "gets a %s after its release",
    },
  },
  {
    name: "record-unread-while-sessions-are-refused",
    what: "A waiter whose requests about a session are not served does not read the record, which may be free.",
    rules: [],
    edits: [
      {
        in: { AcquireLoop },
        from: "if (isServed || !this.#cancellation.waits || this.#cancellation.isStopped) return",
        to: "if (isServed || this.#cancellation.waits || this.#cancellation.isStopped) return",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/unread-session.test.ts",
      title: "gets a %s after its release",
    },
  },
  {
    name: "close-leaves-young-leases",
    what: "A session that ends without releases leaves the records that have not moved to it yet.",
    rules: ["R14"],
    edits: [
      {
        in: { SessionKeepAlive },
        from: 'leases === "release" ? holds : own',
        to: 'leases === "release" ? holds : []',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/session.test.ts",
      title:
        "also releases the locks and places that are not on the session yet, with one write each",
    },
  },
  {
    name: "session-opens-beside-renewals",
    what: "A lease renews itself while its client opens the session, and moves a period later.",
    rules: [],
    edits: [
      {
        in: { renewOrMove },
        from: "    life = await source.opening(lease.leaseMs);\n",
        to: "    await source.opening(lease.leaseMs);\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/shared.test.ts",
      title: "costs the lease that opens it a move, and no renewal",
    },
  },
  {
    name: "session-revived",
    what: "A session's renewal which is applied after the session's end makes the session alive again.",
    rules: ["R2", "R5"],
    edits: [
      {
        in: { nativeFormat },
        from: RENEW,
        to: RENEW.replace(
          "        heldCondition(held),\n",
          '        any(heldCondition(held), all(isAbsent("holder"), equals("fence", n(held.fence)))),\n',
        ).replace(
          "renewalChange(held, renewal)",
          "withSet(renewalChange(held, renewal), { holder: s(held.holder), leaseMs: n(renewal.leaseMs) })",
        ),
      },
    ],
    caughtBy: { invariant: "ended for good", within: 300 },
  },
  {
    name: "session-renewed-by-upsert",
    what: "A session's renewal creates the session's row again after a deletion.",
    rules: ["R5"],
    edits: [
      {
        in: { nativeFormat },
        from: RENEW,
        to: RENEW.replace(
          "condition: all(\n",
          'condition: any(ref.kind === "session" ? isAbsent(pk) : heldCondition(held), all(\n',
        )
          .replace(
            "        noLaterEnd(held, renewal),\n        ...newerData(renewal.data),\n      ),\n",
            "      )),\n",
          )
          .replace(
            "renewalChange(held, renewal)",
            `withSet(renewalChange(held, renewal), {
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
    what: "The client watches a record on a session itself, though the record never changes.",
    rules: ["R3", "R12"],
    edits: [
      {
        in: { decide },
        from: "  if (session !== undefined) return decideBySession(record.leaseMs, session, takeOver, now);\n",
        to: "",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "session-not-ended",
    what: "A takeover of a dead session's lock does not end the session first.",
    rules: ["R4"],
    edits: [
      {
        in: { decide },
        from: '  return { kind: "end-session", session, watched };\n',
        to: "  return takeOver;\n",
      },
    ],
    caughtBy: { invariant: "ownership", within: 100 },
  },
  {
    name: "session-absent-is-ended",
    what: "A session without a row counts as ended, without a watch and without an ended row.",
    rules: ["R3"],
    edits: [
      {
        in: { decide },
        from: '  if (record.state === "free") return takeOver;\n',
        to: '  if (record.state !== "held") return takeOver;\n',
      },
    ],
    caughtBy: { invariant: "ownership", within: 200 },
  },
  {
    name: "session-ended-at-any-version",
    what: "A client ends a session at any version, even if renewed meanwhile.",
    rules: ["R4"],
    edits: [
      {
        in: { nativeFormat },
        from: "[watchedCondition(from.watched)]",
        to: '[equals("holder", s(from.watched.holder))]',
      },
    ],
    caughtBy: { invariant: "ownership", within: 100 },
  },
  {
    name: "session-ended-by-another",
    what: "A client whose end of a session is refused assumes that a rival ended the session.",
    rules: ["R4"],
    edits: [
      {
        in: { RemoteSessions },
        from: '      if (isJudged(answer)) this.#context.seeRecord(ref, answer, "strong");\n      return answer;\n    });\n',
        to: `      if (isJudged(answer)) {
        const { holder, session, ...ended } = answer.item ?? {};
        this.#context.seeRecord(ref, { item: ended }, "strong");
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
    what: "A takeover keeps the session's id in the record, so the next rival sees an ended session.",
    rules: ["R3"],
    edits: [
      {
        in: { nativeFormat },
        from: '    remove: [\n      "session",\n      ...endRemove(grant.endMs),',
        to: "    remove: [\n      ...endRemove(grant.endMs),",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "session-loss-kept-back",
    what: "The loss of a session ends no lease on the session before its deadline.",
    rules: ["R2", "R8"],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "if (hold.living.life === this) hold.end(reason",
        to: 'if (reason === "closed" && hold.living.life === this) hold.end(reason',
      },
    ],
    caughtBy: { invariant: "lost is final", within: 500 },
  },
  {
    name: "granted-on-ended-session",
    what: "A waiting acquisition continues after its session's end, and its lease renews itself.",
    rules: ["R2"],
    edits: [
      {
        in: { Cancellation },
        from: '    settings.keptAliveBy?.over?.addEventListener("abort", this.#cancellation);\n',
        to: "",
      },
      {
        in: { Cancellation },
        from: "    return this.#context.closing.aborted || this.#settings.keptAliveBy?.refusal() !== undefined;\n",
        to: "    return this.#context.closing.aborted;\n",
      },
    ],
    caughtBy: { invariant: "lost is final", within: 100 },
  },
  {
    name: "granted-after-session-ran-out",
    what: "A lease granted after a pause starts on a session which expired during the pause.",
    rules: ["R2"],
    edits: [
      {
        in: { Cancellation },
        from: "    return this.#context.closing.aborted || this.#settings.keptAliveBy?.refusal() !== undefined;\n",
        to: "    return this.#context.closing.aborted;\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/session-end.test.ts",
      title: "lets no lease begin after a pause in which the session expired",
    },
  },
  {
    name: "session-wait-begins-anew",
    what: "Each attempt to open a session has the whole wait.",
    rules: ["R13"],
    edits: [
      {
        in: { openSession },
        from: "if (settings.waitMs === 0) throw cancellation.error();",
        to: "return [{ hold: await openSession(context, settings) }];",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/keep-alive.test.ts",
      title: "rejects after the wait if $what",
    },
  },
  {
    name: "shared-session-undoes-length",
    what: "A lease with a changed length moves to the client's session, which undoes the change.",
    rules: ["R5"],
    edits: [
      {
        in: { SharedSession },
        from: "    if (leaseMs !== this.#settings.leaseMs) return undefined;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/shared.test.ts",
      title: "lets a lease with a changed length renew itself",
    },
  },
  {
    name: "session-undoes-length",
    what: "A lease takes another length than its session before the move to the session, which undoes the length.",
    rules: ["R5"],
    edits: [
      {
        in: { changeLength },
        from: "return life !== undefined && life.leaseMs !== leaseMs;",
        to: "return false;",
      },
    ],
    caughtBy: { invariant: "newer write kept", within: 100 },
  },
  {
    name: "session-keeps-released-leases",
    what: "A session keeps a lease which was released while its move waited for its turn.",
    rules: ["R13"],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "if (!hold.isHeld || hold.living.life === undefined) this.#leases.delete(hold);",
        to: "if (hold.isHeld && hold.living.life === undefined) this.#leases.delete(hold);",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/shared.test.ts",
      title: "forgets leases that are released while their moves wait",
    },
  },
  {
    name: "session-keeps-lease-of-other-length",
    what: "A session keeps a lease that does not move to it, because its length changed while its move waited.",
    rules: ["R13"],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "if (!hold.isHeld || hold.living.life === undefined) this.#leases.delete(hold);",
        to: "if (!hold.isHeld) this.#leases.delete(hold);",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/shared.test.ts",
      title: "forgets a lease whose length changes while the move waits",
    },
  },
  {
    name: "session-never-closed",
    what: "The client renews its session forever, though no lease is on the session.",
    rules: ["R13"],
    edits: [
      {
        in: { SharedSession },
        from: '    this.#session?.close("release").catch(() => undefined);\n',
        to: "",
      },
    ],
    caughtBy: { invariant: "no leak", within: 50 },
  },
  {
    name: "session-opened-for-no-caller",
    what: "A session that opens after its only caller gave up stays open until the client closes.",
    rules: ["R13"],
    edits: [
      {
        in: { SharedSession },
        from: "this.#session = session; this.#closeUnlessUsed();",
        to: "this.#session = session;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/faults.test.ts",
      title: "closes a session that opens after the caller aborts, one lease later",
    },
  },
  {
    name: "move-unconditional",
    what: "A move does not require the holder, so a late move puts a rival's record on this session.",
    rules: ["R5", "R7"],
    edits: [
      {
        in: { SESSIONS: LEASES_ON_SESSIONS },
        from: MOVE,
        to: MOVE.replace(
          "changeCondition(held, renewal)",
          '{ kind: "present", attribute: "holder" }',
        ),
      },
    ],
    caughtBy: { invariant: "ownership", within: 1_000 },
  },
  {
    name: "late-move-left",
    what: "A lease which ends while its move is in flight is not freed, though its record may name the live session.",
    rules: ["R14"],
    edits: [
      {
        in: { Hold },
        from: "    this.living.life?.sweep(this.ref, from, this.settings.keepData, leases * this.leaseMs);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/session.test.ts",
      title: "to a move makes the earlier of the two deadlines count",
    },
  },
  {
    name: "notes-to-ended-holders-stay",
    what: "The notes to holders that have ended stay in the session's row, which each renewal rewrites.",
    rules: [],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "this.#context.inBackground(() => this.#forget([...asked]));",
        to: "asked.clear();",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/stale-notes.test.ts",
      title: "the notes of interrupted holders that have released do not stay in the session's row",
    },
  },
  {
    name: "lease-lost-before-its-session",
    what: "A lease that was lost while its lock moved to the session of a thread is handed out.",
    rules: ["R2"],
    edits: [
      {
        in: { withAcquisition },
        from: "const loss = preparing.length > 0 ? lossIn(granted) : undefined;",
        to: "const loss = undefined;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/threads.test.ts",
      title: "begins no use of a lease that was lost before it moved to the session",
    },
  },
  {
    name: "lease-of-a-caller-that-gave-up",
    what: "A caller that gives up while its lock moves to the session of a thread gets the lease all the same.",
    rules: [],
    edits: [
      {
        in: { Cancellation },
        from: "    if (this.#settings.signal?.aborted === true) return true;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/threads.test.ts",
      title: "has no lease of a caller that gives up before it begins, and the table %s",
    },
  },
  {
    name: "opening-without-users",
    what: "The opening of a session goes on when the last call that wanted it has ended.",
    rules: [],
    edits: [
      { in: { SharedSession }, from: "if (this.#leases.size === 0) this.#giveUp?.();", to: "" },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/waits-of-users.test.ts",
      title: "and not for the wait of the client, %s, after a try has ended",
    },
  },
];
