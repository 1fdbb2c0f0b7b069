import { withAcquisition } from "../../packages/holdfast/src/core/acquire/acquire.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { LocalQueue } from "../../packages/holdfast/src/core/local-queue.js";
import { keepFor } from "../../packages/holdfast/src/locks/keeping.js";
import { ReentryOfObject } from "../../packages/holdfast/src/locks/reentrancy.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/locks/keep.test.ts";

/** Defects in what keeps a lease between its uses. */
export const KEEPING: readonly Variant[] = [
  {
    name: "kept-lease-used-after-deadline",
    what: "A use begins with a kept lease whose deadline has passed, with a deadline from its own start.",
    rules: ["R2"],
    edits: [
      {
        in: { keepFor },
        from: "|| !fits(idle, settings) || !idle.isHeld)",
        to: "|| !fits(idle, settings))",
      },
      { in: { keepFor }, from: " || idle.check() < LEAST_LEFT * idle.leaseMs", to: "" },
      {
        in: { Hold },
        from: "this.living = former?.living ?? this.#livingFrom(start, record);",
        to: "this.living = this.#livingFrom(instantOf(context.clock), record);",
      },
    ],
    caughtBy: { test: TEST, title: "is not used after its deadline, however late the timers are" },
  },
  {
    name: "block-of-fences-reused",
    what: "Two uses of a grant have the same fence.",
    rules: ["R9"],
    edits: [
      {
        in: { keepFor },
        from: "this.#fence += 1n;\n    return this.#fence;",
        to: "return this.#fence + 1n;",
      },
    ],
    caughtBy: { invariant: "uses", within: 40, of: "calm world" },
  },
  {
    name: "block-of-fences-not-reserved",
    what: "A claim raises the fence by one, and its uses take the fences of a block.",
    rules: ["R9"],
    edits: [
      {
        in: { nativeFormat },
        from: "...(grant.block === undefined ? {} : { by: grant.block.count }),",
        to: "",
      },
    ],
    caughtBy: { invariant: "uses", within: 40, of: "calm world" },
  },
  {
    name: "kept-lease-not-given-back-when-wanted",
    what: "A process keeps a lease although an answer has shown that others want it.",
    rules: [],
    edits: [
      {
        in: { keepFor },
        from: "if (requested.wantedByOthers !== undefined || isSeenWanted(use)) this.#isWanted = true;",
        to: "void requested; void isSeenWanted;",
      },
      { in: { keepFor }, from: "idle.requested.onWanted(() => this.#giveBack());", to: "" },
    ],
    caughtBy: { invariant: "uses in time", within: 40, of: "calm world" },
  },
  {
    name: "kept-lease-deaf-during-its-grant",
    what: "A process keeps a lease although an answer to the grant itself has shown a request to its holder.",
    rules: [],
    edits: [
      {
        in: { keepFor },
        from: 'if (record.state === "held" && pendingIn(record) !== undefined) return true;',
        to: "void pendingIn;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "is given back to a caller that interrupts it before the grant corrects its end",
    },
  },
  {
    name: "kept-lease-without-end",
    what: "A process keeps a lease for as long as it uses it again.",
    rules: [],
    edits: [
      {
        in: { keepFor },
        from: "keepUntil(context.nowMs() + this.#keepMs);",
        to: "keepUntil(Number.POSITIVE_INFINITY);",
      },
      { in: { keepFor }, from: "true, () => this.#giveBack());", to: "true, () => undefined);" },
    ],
    caughtBy: { invariant: "uses in time", within: 40, of: "calm world" },
  },
  {
    name: "kept-place-of-a-waiter",
    what: "A waiter that leaves the queue keeps its place there, as if it were a lease for the next use.",
    rules: [],
    edits: [{ in: { keepFor }, from: "if (ref.isEntry === true) return undefined;", to: "" }],
    caughtBy: {
      test: TEST,
      title: "leaves its place in the queue at once when it gives up: fairLock",
    },
  },
  {
    name: "kept-lease-left-after-force",
    what: "A lease that is released by force while nobody uses it stays in the table until it is over.",
    rules: [],
    edits: [
      {
        in: { keepFor },
        from: "if (hold?.isIdle === true && hold.loss !== undefined) {",
        to: "if (hold?.loss === null) {",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "is freed at once by force, in use or idle, and its process can have it again",
    },
  },
  {
    name: "kept-uses-without-a-turn",
    what: "Uses that follow each other leave the event loop no turn, so that renewals come too late.",
    rules: [],
    edits: [
      {
        in: { keepFor },
        from: "return turn === undefined ? this.#passOn(idle) : turn.then(() => this.#passOn(idle));",
        to: "return this.#passOn(idle);",
      },
    ],
    caughtBy: { test: TEST, title: "let the event loop turn: one after another" },
  },
  {
    name: "kept-lease-not-given-back-on-close",
    what: "The client forgets at its close the leases that nobody uses.",
    rules: ["R13"],
    edits: [
      {
        in: { Hold },
        from: "context.holds.add(this);",
        to: "if (!isIdle) context.holds.add(this);",
      },
    ],
    caughtBy: { test: TEST, title: "ends at close, with a release" },
  },
  {
    name: "renewal-of-a-former-use-lost",
    what: "The answer to a renewal counts for nothing once the use that sent it has ended.",
    rules: ["R6"],
    edits: [{ in: { Hold }, from: "return this.kept?.latest ?? this;", to: "return this;" }],
    caughtBy: {
      test: TEST,
      title: "is renewed while it is idle and across uses, and its loss ends it",
    },
  },
  {
    name: "ending-lease-joined",
    what: "A use of a kept lease ends only when the event loop has turned: a reentrant call joins it, and a loss ends it.",
    rules: ["R2"],
    edits: [
      {
        in: { keepFor },
        from: "const idle = this.#after(use, leavesData);",
        to: "const turned = turnAfterBurst(use.context);\n    if (turned !== undefined) return turned.then(() => this.release(use, leavesData) as true);\n    const idle = this.#after(use, leavesData);",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/keep-reentrant.test.ts",
      title: "has one holder when a call comes while a release waits for the event loop",
    },
  },
  {
    name: "refused-try-forgets-the-hold",
    what: "A refused attempt beside an acquisition makes a reentrant lock forget its lease.",
    rules: [],
    edits: [
      {
        in: { ReentryOfObject },
        from: "if (lease !== undefined) this.#hold = lease.hold;",
        to: "this.#hold = lease?.hold;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/reentrant-barge.test.ts",
      title: "a try beside an acquisition does not make the lock forget its hold",
    },
  },
  {
    name: "kept-lease-with-nothing-left",
    what: "The release of a kept lease gives a waiter of the process the rest of it, however short.",
    rules: [],
    edits: [
      {
        in: { keepFor },
        from: "return hold.check() >= LEAST_LEFT * hold.leaseMs && fits(hold, waiter.settings);",
        to: "return fits(hold, waiter.settings);",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/keep.test.ts",
      title: "has less than a fifth of its time left, for a waiter of the process",
    },
  },
  {
    name: "kept-for-the-time-of-a-lost-one",
    what: "After a loss, the next grant is kept only for what was left of the lost one's time.",
    rules: [],
    edits: [
      {
        in: { LocalQueue },
        from: "    this.#localHandoffs = 0;\n    this.#keptUntilMs = undefined;\n    this.#before = undefined;",
        to: "    this.#before = undefined;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/keep.test.ts",
      title: "is kept for its length again when the process has it anew after a loss",
    },
  },
  {
    name: "kept-from-a-barging-call",
    what: "A call that passes the queue does not get a lock that its own client only keeps.",
    rules: [],
    edits: [
      {
        in: { withAcquisition },
        from: "if (isBarging) await untilGivenBack({ context, cancellation }, [ref]);",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/keep.test.ts",
      title: "is given back to a caller of this process that passes the queue, and asks no holder",
    },
  },
];
