import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { HeldLease } from "../../packages/holdfast/src/core/hold/lease.js";
import { Requested } from "../../packages/holdfast/src/core/hold/requested.js";
import { release } from "../../packages/holdfast/src/core/hold/writes.js";
import { Observations } from "../../packages/holdfast/src/core/record/observation.js";
import { SessionKeepAlive } from "../../packages/holdfast/src/core/session/keep-alive.js";
import { interrupt } from "../../packages/holdfast/src/locks/asking.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { queueCondition } from "../../packages/holdfast/src/native/native-conditions.js";
import { listen } from "../../packages/holdfast/src/requests/requests.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/locks/interrupt.test.ts";

/** Defects in what waiters ask of holders. */
export const REQUESTS: readonly Variant[] = [
  {
    name: "interruption-hides-loss",
    what: "run() resolves although its body outlived the lease after an interruption.",
    rules: ["R8"],
    edits: [
      {
        in: { HeldLease },
        from: "return this.#hold.loss ?? this.#hold.signal.reason;",
        to: "return this.#hold.signal.reason;",
      },
    ],
    caughtBy: { test: TEST, title: "rejects with `lost` after an interruption and the end of %s" },
  },
  {
    name: "section-cut-off",
    what: "An interruption reaches a holder in a shielded section.",
    rules: [],
    edits: [{ in: { Requested }, from: "if (this.#shields > 0 || this", to: "if (this" }],
    caughtBy: { invariant: "shielded", within: 200, of: "calm world" },
  },
  {
    name: "interruption-forgotten-in-a-section",
    what: "An interruption that came in a shielded section is never told.",
    rules: [],
    edits: [
      {
        in: { Requested },
        from: "this.#shields -= 1;\n    this.#obey();",
        to: "this.#shields -= 1;",
      },
    ],
    caughtBy: { invariant: "shielded", within: 200, of: "calm world" },
  },
  {
    name: "reads-that-hear-nothing",
    what: "A holder that listens learns of a request by its renewals alone.",
    rules: [],
    edits: [
      {
        in: { listen },
        from: 'if (found.state === "held") this.#hold.latest.hear(found);',
        to: "void found;",
      },
    ],
    caughtBy: { invariant: "heard in time", within: 200, of: "late world" },
  },
  {
    name: "longest-time-without-end",
    what: "A renewal moves the deadline of a lease past its longest time.",
    rules: [],
    edits: [
      {
        in: { Hold },
        from: "return this.#last === undefined ? deadline : deadline.earlier(this.#last);",
        to: "return deadline;",
      },
    ],
    caughtBy: { invariant: "longest", within: 200, of: "calm world" },
  },
  {
    name: "interrupted-process-claims-at-once",
    what: "A process that was interrupted claims the lock again before the caller that interrupted it can.",
    rules: [],
    edits: [
      {
        in: { Observations },
        from: "return isAsked && request.holder === lastHolder ? sinceMs : undefined;",
        to: "return isAsked && isAnnounced ? sinceMs : undefined;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "leaves the lock to the asker: with a mutex, and learns of it",
    },
  },
  {
    name: "interrupted-lease-renewed",
    what: "An interrupted holder goes on renewing its lease.",
    rules: [],
    edits: [
      {
        in: { Hold },
        from: "if (!this.#isRenewing && !isInterrupted && this",
        to: "if (!this.#isRenewing && this",
      },
      {
        in: { Hold },
        from: "return this.#isRenewing || this.requested.isInterrupted\n",
        to: "return this.#isRenewing\n",
      },
      { in: { Hold }, from: "this.#last = this.#last?.earlier(end) ?? end;", to: "void end;" },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/interrupt.test.ts",
      title:
        "does not keep a lock whose move to it shows the interruption, and whose holder does nothing",
    },
  },
  {
    name: "interrupted-lease-without-end-on-a-session",
    what: "An interrupted holder on a session ends only with the session.",
    rules: [],
    edits: [
      { in: { Hold }, from: "this.#last = this.#last?.earlier(end) ?? end;", to: "void end;" },
    ],
    caughtBy: {
      test: TEST,
      title: "keeps the lock until its lease ends without renewals if it ignores the signal",
    },
  },
  {
    name: "interrupted-lease-forgotten-by-its-move",
    what: "A move to a session whose answer shows the interruption leaves the lease without a visit at its end.",
    rules: [],
    edits: [
      {
        in: { Hold },
        from: "if (this.requested.isInterrupted) this.context.scheduler.visit(this, this.#nextVisitMs());\n    else this",
        to: "this",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "does not keep a lock whose move to it shows the interruption, and whose holder does nothing",
    },
  },
  {
    name: "interruption-of-a-later-holder",
    what: "A holder obeys an interruption that names an earlier holder.",
    rules: [],
    edits: [
      {
        in: { Requested },
        from: "const asked = pendingIn(record);",
        to: 'const asked = pendingIn({ ...record, holder: record.request?.holder ?? "" });',
      },
    ],
    caughtBy: { invariant: "obedience", within: 40, of: "calm world" },
  },
  {
    name: "older-asker-granted",
    what: "A waiter with a number claims the lock although a later waiter has asked.",
    rules: [],
    edits: [
      {
        in: { interrupt },
        from: "> this.#asked.number) throw",
        to: "> this.#asked.number && false) throw",
      },
      {
        in: { queueCondition },
        from: "if (passage.number === undefined) return [];",
        to: "if (passage.kind === 'asker') return [];",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "an earlier one gets the lock neither by its release nor by a takeover, however late it looks",
    },
  },
  {
    name: "asker-number-unchecked",
    what: "The claim of a waiter with a number does not require that no later waiter has asked.",
    rules: [],
    edits: [
      {
        in: { queueCondition },
        from: "if (passage.number === undefined) return [];",
        to: "if (passage.kind === 'asker') return [];",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "an earlier one does not take over without a look after a later one has asked",
    },
  },
  {
    name: "free-claim-without-a-number",
    what: "A waiter that interrupts and finds the lock free takes no number, so that earlier waiters interrupt it.",
    rules: [],
    edits: [
      {
        in: { nativeFormat },
        from: 'return passage?.kind === "asker" && passage.number === undefined;',
        to: 'return passage?.kind === "asker" && false;',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "one that waits does not interrupt a caller that came later and found the lock free",
    },
  },
  {
    name: "lost-number-forgotten",
    what: "A waiter whose request was not answered takes a new number above that of a later waiter.",
    rules: [],
    edits: [
      {
        in: { interrupt },
        from: "if (isLater && (this.#asked !== undefined || isLost))",
        to: "if (isLater && this.#asked !== undefined)",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "one whose request was lost does not come before a later one",
    },
  },
  {
    name: "interruption-noted-for-ever",
    what: "A session keeps its notes of holders that were interrupted.",
    rules: [],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "    await context.write(write);\n    if (!hold.isHeld) return;",
        to: "    if (!hold.isHeld) return;",
      },
      {
        in: { SessionKeepAlive },
        from: "this.#context.inBackground(() => this.#forget([...asked]));",
        to: "asked.clear();",
      },
    ],
    caughtBy: { test: TEST, title: "keeps no note of an interrupted holder" },
  },
  {
    name: "note-removed-after-the-read",
    what: "A session reads the record of an asked holder, and then removes the note, also one that came meanwhile.",
    rules: [],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "    await context.write(write);\n    if (!hold.isHeld) return;",
        to: "    await hold.look();\n    await context.write(write);\n    if (hold.isHeld) return;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/interrupt.test.ts",
      title: "is interrupted although the request comes while it removes the note of the waiter",
    },
  },
  {
    name: "interrupted-lease-renewed-at-its-turn",
    what: "A renewal that waited behind the write that showed an interruption is sent.",
    rules: [],
    edits: [
      {
        in: { Hold },
        from: "hold.living.isMoved || hold.requested.isInterrupted",
        to: "hold.living.isMoved",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/interrupt.test.ts",
      title: "sends no renewal that waited for its turn: %s",
    },
  },
  {
    name: "interruption-undone-by-a-late-read",
    what: "A late read, which shows an earlier announcement, takes the place of a known interruption.",
    rules: [],
    edits: [
      {
        in: { Requested },
        from: '(known !== "interrupt" && by.kind !== "queue")',
        to: 'by.kind !== "queue"',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/interrupt.test.ts",
      title: "is interrupted at its end although a late read shows an earlier request: %s",
    },
  },
  {
    name: "shielded-release-for-the-own-waiter",
    what: "A release in a shielded section gives an interrupted lock to a waiter of its process.",
    rules: [],
    edits: [
      {
        in: { release },
        from: 'const isForAsker = hold.requested.wantedByOthers?.kind === "interrupt";',
        to: "const isForAsker = hold.requested.isInterrupted;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/interrupt.test.ts",
      title:
        "leaves the lock to the asker, before the waiters of its process, if it releases the lease itself",
    },
  },
  {
    name: "request-repeated-by-the-sdk-is-sure",
    what: "A caller whose request the SDK repeated supersedes one that came later.",
    rules: [],
    edits: [
      {
        in: { interrupt },
        from: "return { record, isLost: sends > 1 || isRepeated };",
        to: "return { record, isLost: sends > 1 };",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/interrupt.test.ts",
      title: "one whose request was %s does not come before a later one",
    },
  },
];
