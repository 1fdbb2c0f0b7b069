import { giveUpLease } from "../../packages/holdfast/src/core/hold/release.js";
import { freeEarly } from "../../packages/holdfast/src/core/hold/writes.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { occurrenceOf } from "../../packages/holdfast/src/once/due.js";
import { Occurrences } from "../../packages/holdfast/src/once/once.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/once/once.test.ts";
const DUE_TEST = "packages/holdfast/test/once/due.test.ts";

/** Defects in how the occurrences of a task are recorded. */
export const OCCURRENCES: readonly Variant[] = [
  {
    name: "occurrence-expires",
    what: "TTL may delete the record of a task, like any other record.",
    rules: ["R10"],
    edits: [
      {
        in: { nativeFormat },
        from: 'if (kind !== "once") return change;',
        to: "if (kind) return change;",
      },
    ],
    caughtBy: { invariant: "begun once", within: 200, of: "aged world" },
  },
  {
    name: "occurrence-end-unmarked",
    what: "The release of a run does not record the end of its occurrence.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "lease.leave({ occurrence, ended: true } satisfies Begun);",
        to: "lease.leave(undefined);",
      },
      { in: { Occurrences }, from: "    lease.leave(ended, true);\n", to: "" },
    ],
    caughtBy: { invariant: "completed stays completed", within: 200, of: "world" },
  },
  {
    name: "occurrence-judged-before-its-grant",
    what: "The client decides by its observation before the grant whether an occurrence was interrupted.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "    let how: GrantEvent[",
        to: '    const wasDead = this.#context.decide(ref, false).kind === "take-over";\n    let how: GrantEvent[',
      },
      {
        in: { Occurrences },
        from: 'const hasEnded = this.#hasEnded(ref, last, how !== "takeover");',
        to: 'const hasEnded = !wasDead || how === "hand-over";',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "does not rerun an occurrence after another caller completed it during the takeover",
    },
  },
  {
    name: "occurrence-end-recorded-with-its-release",
    what: "The release records the end of a run only after `atLeastFor`, though the process may end before.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "if (reruns) await recorded(",
        to: "if (context.isUnlocked) await recorded(",
      },
    ],
    caughtBy: { invariant: "completed stays completed", within: 200, of: "world" },
  },
  {
    name: "occurrence-held-after-refused-end",
    what: "A client whose write of the end is refused within `atLeastFor` keeps the record for as long as it lives.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "if (reruns) await recorded(() => lease.update(ended));",
        to: "if (reruns) await recorded(() => lease.update(ended)).catch((error) => { leftMs = 1e12; throw error; });",
      },
      { in: { Occurrences }, from: "const leftMs = startMs", to: "let leftMs = startMs" },
    ],
    caughtBy: {
      test: TEST,
      title: "releases the record after `atLeastFor` when the record of the end was refused",
    },
  },
  {
    name: "occurrence-end-lost-at-close",
    what: "A client that closes before `atLeastFor` is over frees the record without the end of the run.",
    rules: [],
    edits: [{ in: { Occurrences }, from: "lease.leave(ended, true);", to: "lease.leave(ended);" }],
    caughtBy: {
      test: TEST,
      title:
        "does not rerun a completed occurrence when the client closed within `atLeastFor`: ifInterrupted %s",
    },
  },
  {
    name: "occurrence-of-tomorrow-begins",
    what: "A host whose clock is a day ahead begins the occurrence of tomorrow, and stops the task for all others.",
    rules: [],
    edits: [{ in: { occurrenceOf }, from: "if (aheadMs > 0) throw", to: "if (aheadMs < 0) throw" }],
    caughtBy: {
      test: DUE_TEST,
      title: "is refused by the table's time, and never stops other hosts: %s",
    },
  },
  {
    name: "occurrence-of-tomorrow-stays",
    what: "A record that names an occurrence of tomorrow keeps today's from running.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "return isFromWrongClock(this.#context, last, occurrence) ? 1 : -1;",
        to: "return -1;",
      },
    ],
    caughtBy: {
      test: DUE_TEST,
      title: "repairs itself by the next occurrence, which reports it once",
    },
  },
  {
    name: "occurrence-of-the-nearest-hour",
    what: "A schedule half a period off the multiples names two occurrences at one due instant.",
    rules: [],
    edits: [{ in: { occurrenceOf }, from: "Math.floor(", to: "Math.round(" }],
    caughtBy: { test: DUE_TEST, title: "is the due hour for a schedule at minute %i" },
  },
  {
    name: "occurrence-end-unacknowledged",
    what: "A call resolves although the end of its occurrence was not acknowledged.",
    rules: [],
    edits: [{ in: { Occurrences }, from: "if (reruns) throw error;", to: "" }],
    caughtBy: { invariant: "completed stays completed", within: 200, of: "world" },
  },
  {
    name: "occurrence-end-lost-in-a-refusal",
    what: "A release refused after an unanswered attempt counts as the record of the end.",
    rules: ["R5"],
    edits: [
      {
        in: { giveUpLease },
        from: 'if (this.#state.phase === "data-unknown") throw dataNotAcknowledged(this.#ref);',
        to: "",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "rejects when the release was not acknowledged before another caller reran the occurrence",
    },
  },
  {
    name: "occurrence-end-forgotten",
    what: "A client forgets that an occurrence ended in this process when its record does not show the end.",
    rules: [],
    edits: [{ in: { Occurrences }, from: "this.#unrecorded.add(keyOf(ref, occurrence));", to: "" }],
    caughtBy: {
      test: TEST,
      title:
        "rejects when the end was not acknowledged, and lets only other clients rerun the occurrence: %s",
    },
  },
  {
    name: "occurrence-named-after",
    what: "The work of an occurrence begins before the record is known to name the occurrence.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "await unlessAborted(lease.update({ occurrence, ended: false } satisfies Begun), signal);",
        to: "void lease.update({ occurrence, ended: false } satisfies Begun).catch(() => undefined);",
      },
    ],
    caughtBy: { invariant: "begun once", within: 200, of: "world" },
  },
  {
    name: "occurrence-begun-after-an-abort",
    what: "An abort between the claim of an occurrence and the write that names it is not heard.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "if (signal?.aborted === true || isClosing) {",
        to: "if (isClosing) {",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "gives the claim back after an abort before the record is known to name the occurrence: the write is %s",
    },
  },
  {
    name: "aborted-occurrence-stays-named",
    what: "After an abort before the work, the record goes on naming the occurrence, which then nobody runs.",
    rules: [],
    edits: [
      { in: { Occurrences }, from: "lease.leave({ ...last, ended: hasEnded }, true);", to: "" },
    ],
    caughtBy: {
      test: TEST,
      title:
        "gives the claim back after an abort before the record is known to name the occurrence: the write is %s",
    },
  },
  {
    name: "closed-occurrence-stays-named",
    what: "After a close before the work, the record goes on naming the occurrence, which then nobody runs.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "lease.leave({ ...last, ended: hasEnded }, true);",
        to: "lease.leave({ ...last, ended: hasEnded });",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "leaves the occurrence to others if the client closes before the work begins: %s",
    },
  },
  {
    name: "expired-occurrence-stays-named",
    what: "After the lease expired before the work, the record goes on naming the occurrence, which then nobody runs.",
    rules: [],
    edits: [
      {
        in: { freeEarly },
        from: "const lastData = hold.userData.leftAtClose;",
        to: "const lastData = undefined;",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "leaves the occurrence to others if its lease expires before the work begins: the write that names it is %s",
    },
  },
  {
    name: "drain-waits-for-the-least-length",
    what: "The pause up to `atLeastFor` counts as work of the client, for which `drain()` waits.",
    rules: [],
    edits: [
      {
        in: { Occurrences },
        from: "void sleep(context.timers, leftMs, false, context.closing).then(() => context.inBackground(() => recorded(() => lease.release())), );",
        to: "context.inBackground(async () => { await sleep(context.timers, leftMs, false, context.closing); await recorded(() => lease.release()); });",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "does not delay drain() by `atLeastFor`, which the record keeps all the same: ifInterrupted %s",
    },
  },
];
